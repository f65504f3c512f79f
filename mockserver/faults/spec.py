"""Faults on the command line: ``NAME[:key=value,...]``, for example ``close-after:bytes=10,reset=true,command=GET``.

Keys are the parameters of the fault, and those of the match: ``command``, ``nth``, ``connection`` and ``key``. A key string
may hold commas, so ``key`` stands last and takes the rest of the text.
"""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from mockserver.faults.plan import FaultPlan, FaultRule, Match
from mockserver.faults.table import FAULTS


class FaultSpecError(ValueError):
    """The text of a fault is not understood."""


def parse(text: str) -> FaultRule:
    """Read one fault.

    Sizes are joined with ``+`` (``segments:sizes=10+26``); integers may be hexadecimal (``0x7fffffff``).

    Raises:
        FaultSpecError: an unknown name or key, a value that does not fit, or one that is missing.
    """
    name, _, rest = text.strip().partition(":")
    try:
        kind = FAULTS[name]
    except KeyError:
        raise FaultSpecError(f"no fault is called {name!r}{_guess(name, FAULTS)}; there are {', '.join(FAULTS)}") from None
    hints = typing.get_type_hints(kind)
    parameters = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # actions are dataclasses
    values: dict[str, Any] = {}
    criteria: dict[str, Any] = {}
    for key, value in _pairs(text, rest):
        if key in values or key in criteria:
            raise FaultSpecError(f"{text!r}: {key} is given twice")
        if key in parameters:
            values[key] = _convert(text, key, value, hints[key].__name__)
        elif key in _MATCH_KEYS:
            criteria[key] = _convert(text, key, value, _MATCH_KEYS[key])
        else:
            known = (*parameters, *_MATCH_KEYS)
            raise FaultSpecError(f"{text!r}: {name} takes no {key!r}{_guess(key, known)}; it takes {', '.join(known)}")
    missing = [key for key, field in parameters.items() if field.default is dataclasses.MISSING and key not in values]
    if missing:
        raise FaultSpecError(f"{text!r}: {name} needs {' and '.join(missing)}, for example {_example(name)}")
    try:
        return FaultRule(match=Match(**criteria), action=kind(**values))
    except ValueError as error:
        raise FaultSpecError(f"{text!r}: {error}") from None


def parse_plan(texts: Iterable[str]) -> FaultPlan:
    """Read several faults, in order of precedence.

    Raises:
        FaultSpecError: as :func:`parse` does.
    """
    return FaultPlan(parse(text) for text in texts)


def format_rule(rule: FaultRule) -> str:
    """A rule with one action as :func:`parse` reads it.

    Raises:
        ValueError: the rule has several actions; give each its own rule.
    """
    if len(rule.actions) != 1:
        raise ValueError("a rule with several actions has no text of its own; write one rule for each")
    spec = rule.actions[0].spec()
    criteria = [f"{key}={value}" for key in _MATCH_KEYS if (value := getattr(rule.match, key)) is not None]
    if not criteria:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}{','.join(criteria)}"


_MATCH_KEYS: Final[Mapping[str, str]] = MappingProxyType({"command": "str", "nth": "int", "connection": "int", "key": "str"})


def _pairs(text: str, rest: str) -> list[tuple[str, str]]:
    pairs = []
    while rest:
        key, equals, after = rest.partition("=")
        key = key.strip()
        if not equals or "," in key:
            raise FaultSpecError(f"{text!r}: {key.split(',')[0]!r} is no key=value")
        value, _, rest = (after, "", "") if key == "key" else after.partition(",")
        pairs.append((key, value.strip()))
    return pairs


def _convert(text: str, key: str, value: str, kind: str) -> Any:
    expected, convert = _CONVERTERS[kind]
    try:
        return convert(value)
    except ValueError:
        raise FaultSpecError(f"{text!r}: {key} is {expected}, not {value!r}") from None


def _bool(text: str) -> bool:
    try:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part, 0) for part in text.split("+"))


_CONVERTERS: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = MappingProxyType(
    {
        "int": ("an integer", lambda text: int(text, 0)),
        "float": ("a number", float),
        "bool": ("true or false", _bool),
        "str": ("a text", str),
        "tuple": ("sizes in bytes joined with +, such as 10+26", _sizes),
    }
)


def _guess(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _example(name: str) -> str:
    return _EXAMPLES.get(name, name)


_EXAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "segments": "segments:sizes=10+26",
        "delay": "delay:seconds=0.5",
        "close-after": "close-after:bytes=10,reset=true",
        "truncate-body": "truncate-body:bytes=100",
        "replace-field": "replace-field:name=length,value=-1",
    }
)
