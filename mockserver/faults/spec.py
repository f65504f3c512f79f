"""Faults as text: ``NAME[:key=value,...]``, for example ``close-after:bytes=10,reset=true,command=GET,nth=2``.

Keys are the parameters of the fault, and those of the match: ``command``, ``nth``, ``connection``, ``probability``, ``seed``
and ``key``. A key string may hold commas, so ``key`` stands last and takes the rest of the text.
"""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from mockserver.faults.action import Action
from mockserver.faults.match import Match, Ordinals, read_ordinals
from mockserver.faults.number import Number, read_number
from mockserver.faults.place import Place, read_place
from mockserver.faults.plan import FaultPlan, FaultRule
from mockserver.faults.table import FAULTS, MATCH_KEYS, picks
from wire.numerals import NoNumber, read_decimal, read_integer, shown


class FaultSpecError(ValueError):
    """The text of a fault is not understood."""


M = TypeVar("M")
A = TypeVar("A", bound=Action)


@dataclass(frozen=True)
class Grammar(Generic[M, A]):
    """The faults that texts may name, and the keys that pick what meets them."""

    faults: Mapping[str, type[A]]
    match: type[M]
    hints: Mapping[str, Any]
    """The type of each key that picks."""
    picks: Callable[[str], tuple[str, ...]]
    """The keys that pick for one fault."""

    def parse(self, text: str) -> tuple[M, A]:
        """Read one fault.

        Raises:
            FaultSpecError: an unknown name or key, a value that does not fit, or one that is missing.
        """
        name, _, rest = text.strip().partition(":")
        try:
            kind = self.faults[name]
        except KeyError:
            known = ", ".join(self.faults)
            raise FaultSpecError(f"no fault is called {name!r}{_guess(name, self.faults)}; there are {known}") from None
        parameters = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # actions are dataclasses
        hints = {**typing.get_type_hints(kind), **self.hints}
        values: dict[str, Any] = {}
        criteria: dict[str, Any] = {}
        for key, value in _pairs(text, rest):
            if key in values or key in criteria:
                raise FaultSpecError(f"{text!r}: {key} is given twice")
            if key not in parameters and key not in self.hints:
                words = (*parameters, *self.picks(name))
                raise FaultSpecError(f"{text!r}: {name} takes no {key!r}{_guess(key, words)}; it takes {', '.join(words)}")
            (values if key in parameters else criteria)[key] = _convert(text, key, value, hints[key])
        missing = [key for key, field in parameters.items() if field.default is dataclasses.MISSING and key not in values]
        if missing:
            raise FaultSpecError(f"{text!r}: {name} needs {' and '.join(missing)}, for example {kind.example}")
        try:
            return self.match(**criteria), kind(**values)
        except ValueError as error:
            raise FaultSpecError(f"{text!r}: {error}") from None


def parse(text: str) -> FaultRule:
    """Read one fault.

    Raises:
        FaultSpecError: an unknown name or key, a value that does not fit, or one that is missing.
    """
    try:
        match, action = _GRAMMAR.parse(text)
        return FaultRule(match=match, action=action)
    except FaultSpecError:
        raise
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
    criteria = [f"{key}={value}" for key in MATCH_KEYS if (value := getattr(rule.match, key)) is not None]
    if not criteria:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}{','.join(criteria)}"


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


def _convert(text: str, key: str, value: str, hint: Any) -> Any:
    expected, convert = _READERS[hint]
    try:
        return convert(value)
    except ValueError as error:
        reason = f"; {error}" if hint in _EXPLAINING and not isinstance(error, NoNumber) else ""
        raise FaultSpecError(f"{text!r}: {key} is {expected}, not {shown(value)!r}{reason}") from None


def _bool(text: str) -> bool:
    try:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
    except KeyError:
        raise ValueError(text) from None


def _sizes(text: str) -> tuple[Place, ...]:
    return tuple(read_place(part) for part in text.split("+"))


def _integer(text: str) -> int:
    return read_integer(text, hexadecimal=True)


_MATCH_HINTS: Final[Mapping[str, Any]] = MappingProxyType(
    {"command": str, "nth": Ordinals, "connection": Ordinals, "probability": float, "seed": int, "key": str}
)
_PLACES: Final = "a number of bytes or a place such as body, end-1 or field:length+2"
_READERS: Final[Mapping[Any, tuple[str, Callable[[str], object]]]] = MappingProxyType(
    {
        int: ("an integer", _integer),
        float: ("a number", read_decimal),
        bool: ("true or false", _bool),
        str: ("a text", str),
        Place: (_PLACES, read_place),
        tuple[Place, ...]: ("sizes in bytes or places joined with +, such as 10+26 or body+100", _sizes),
        Number: ("an integer, a name, or such as stored+1", read_number),
        Ordinals: ("a number from 1 or a span such as 2..5 or 3..", read_ordinals),
    }
)
"""How a value of each type is read, and what to say of one that cannot be."""
_EXPLAINING: Final = (Place, tuple[Place, ...], Ordinals)
"""Types whose errors say more than that."""


_GRAMMAR: Final[Grammar[Match, Action]] = Grammar(FAULTS, Match, _MATCH_HINTS, picks)


def _guess(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
