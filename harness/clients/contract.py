"""Checks of what crosses the line between harness and client, against ``harness/schemas/client-v1``."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from harness.clients.schema_files import Side, bytes_list_members, bytes_members, line_schema, member_schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of the longest line."""

_QUOTE: Final = 300
_PLACEHOLDER: Final = {"hex": ""}
_ABSENT: Final = object()


class ContractViolation(ValueError):
    """Something does not fit the contract: the member, what was expected, and what came."""

    def __init__(self, member: str, expected: str, got: object = _ABSENT) -> None:
        self.member = member
        self.expected = expected
        self.got = got
        came = "" if got is _ABSENT else f", got {shorten(got)}"
        super().__init__(f"{member}: expected {expected}{came}")

    def inside(self, member: str) -> ContractViolation:
        """The same violation, seen from the member that holds this one."""
        return ContractViolation(f"{member}.{self.member}", self.expected, self.got)


def shorten(value: object, limit: int = _QUOTE) -> str:
    """A value as a line of JSON would show it, cut in the middle when it is long."""
    if isinstance(value, bytes):
        text = value[: 4 * limit].decode("utf-8", "backslashreplace").rstrip("\r\n")
        size = f"{len(value)} bytes"
    else:
        text = _as_text(value)
        size = f"{len(text)} characters"
    if len(text) <= limit:
        return text
    return f"{text[: limit * 3 // 4]} ... ({size})"


def check_line(name: Literal["request", "answer"], line: Mapping[str, Any]) -> None:
    """Raise :class:`ContractViolation` unless the line has the envelope of a request or an answer."""
    _line_checks(name).require(line, "the line")


def check_member(op: str, side: Side, value: Any) -> None:
    """Raise :class:`ContractViolation` unless ``args`` or ``ok`` of an operation fits; JSON form, bytes encoded.

    An operation that the contract lacks has no schema: anything fits.
    """
    checks = _member_checks(op, side)
    if checks is not None:
        checks.require(value, side)


def check_python(op: str, side: Side, value: object) -> dict[str, Any]:
    """The same for the Python form, where bytes are ``bytes``; answers the value with tuples turned into lists.

    Raises:
        ContractViolation: it does not fit.
    """
    if type(value) is not dict and not isinstance(value, Mapping):
        raise ContractViolation(side, "a mapping with the members of the contract", value)
    try:
        plain = _plain_members(value)
    except RecursionError:
        raise ContractViolation(side, "values that are not nested so deep, nor in themselves") from None
    single, several = bytes_members(op, side), bytes_list_members(op, side)
    stand_in = dict(plain) if single or several else plain
    for name in single & stand_in.keys() if single else ():
        if not isinstance(plain[name], bytes):
            raise ContractViolation(f"{side}.{name}", "bytes", plain[name])
        stand_in[name] = _PLACEHOLDER
    for name in several & stand_in.keys() if several else ():
        if not isinstance(plain[name], list) or not all(isinstance(item, bytes) for item in plain[name]):
            raise ContractViolation(f"{side}.{name}", "an array of bytes", plain[name])
        stand_in[name] = []
    check_member(op, side, stand_in)
    return plain


@functools.cache
def _line_checks(name: Literal["request", "answer"]) -> _Checks:
    return _Checks(line_schema(name))


@functools.cache
def _member_checks(op: str, side: Side) -> _Checks | None:
    schema = member_schema(op, side)
    return None if schema is None else _Checks(schema)


class _Checks:
    """One schema, in a validator that is fast, and in one that has the last word and says what is wrong."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema_rs import Draft202012Validator

        self._fast = Draft202012Validator(dict(schema))
        self._explain = functools.cache(lambda: _validator_class()(schema))

    def require(self, value: Any, root: str) -> None:
        """Raise :class:`ContractViolation` unless a value fits; ``root`` is what it is called."""
        try:
            if self._fast.is_valid(value):
                return
        except (TypeError, ValueError):
            pass  # holds what JSON cannot: bytes, objects, half of a surrogate pair
        for error in self._explain().iter_errors(value):
            raise _violation(error, root)


@functools.cache
def _validator_class() -> type[Validator]:
    """Draft 2020-12 with short cuts for long arrays of integers and long strings."""
    from jsonschema import Draft202012Validator, validators

    slow_items = Draft202012Validator.VALIDATORS["items"]
    slow_pattern = Draft202012Validator.VALIDATORS["pattern"]

    def items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterable[Any]:
        if wanted == {"type": "integer"} and type(instance) is list and set(map(type, instance)) <= {int}:
            return ()
        found: Iterable[Any] = slow_items(validator, wanted, instance, schema)
        return found

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not _matcher(wanted)(instance):
            yield from slow_pattern(validator, r"(?!)", instance, schema)

    extend: Callable[..., type[Validator]] = validators.extend
    return extend(Draft202012Validator, {"items": items, "pattern": pattern})


@functools.cache
def _matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text fits a pattern of JSON Schema, where ``$`` is the very end and no line feed passes before it."""
    pairs = re.fullmatch(r"\^\((\[[^]]+\])\{2\}\)\*\$", pattern)
    if pairs:
        # Matching pair by pair takes ten times as long, and bytes are by far the longest values.
        single = re.compile(f"{pairs[1]}*")
        return lambda text: len(text) % 2 == 0 and single.fullmatch(text) is not None
    whole = re.compile(re.sub(r"\$$", r"\\Z", pattern))
    return lambda text: whole.search(text) is not None


def _violation(error: ValidationError, root: str) -> ContractViolation:
    member = root + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    wanted: Any = error.validator_value
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if error.validator == "required":
        present: Any = error.instance
        missing = [name for name in wanted if name not in present]
        return ContractViolation(f"{member}.{missing[0]}", "this member, which is missing", present)
    if error.validator == "type":
        return ContractViolation(member, _type_text(wanted, schema), error.instance)
    if error.validator == "enum":
        return ContractViolation(member, f"one of {', '.join(map(_as_text, wanted))}", error.instance)
    if error.validator == "const":
        return ContractViolation(member, _as_text(wanted), error.instance)
    if "description" in schema:
        return ContractViolation(member, str(schema["description"]), error.instance)
    return ContractViolation(member, f"{error.validator} {_as_text(wanted)}", error.instance)


def _type_text(wanted: str | list[str], schema: Mapping[str, Any]) -> str:
    names = [wanted] if isinstance(wanted, str) else wanted
    types = " or ".join(name if name == "null" else f"an {name}" if name[0] in "aio" else f"a {name}" for name in names)
    described = str(schema.get("description", types))
    # Such a description says what the value is for, which is of no use to someone who got the type wrong.
    return types if described.startswith(f"{types}, ") else described


_SCALARS: Final = frozenset({str, int, float, bool, type(None), bytes})
"""Values of exactly these types stay as they are."""


def _is_bytes(value: object) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        return _plain_members(value)
    if _is_bytes(value):
        return bytes(value)
    if isinstance(value, Mapping):
        return _plain_members(value)
    if isinstance(value, list | tuple):
        return list(value) if not value or set(map(type, value)) <= {int, str} else [_plain(item) for item in value]
    return value


def _plain_members(value: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: item if type(item) in _SCALARS else _plain(item) for name, item in value.items()}


def _foreign(value: object) -> object:
    if isinstance(value, bytes):
        return {"hex": value.hex()} if len(value) <= _QUOTE else {"hex": f"{value[:16].hex()}...", "length": len(value)}
    return repr(value)


def _as_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_foreign)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
