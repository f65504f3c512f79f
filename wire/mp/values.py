"""msgpack values: to and from bytes, to and from the JSON of the contract, and whether a value has a type.

In Python a record is a dictionary by field name, extension values are :class:`msgspec.msgpack.Ext`, arrays are lists. In JSON
bytes are ``{"hex": "00ff"}``, extension values ``{"ext": 1, "data": {"hex": "00ff"}}``; ``{"range": [3, 6]}`` is ``[3, 4, 5]``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from wire.errors import WireError
from wire.mp.records import ENUMERATIONS, MAPS, RECORDS, Field
from wire.mp.types import Array, Map, Named, Optional, Scalar, Tuple, Type
from wire.release import Release

Value = Any
"""None, bool, int, float, str, bytes, Ext, a list or a dictionary of such."""

WRAPPER_EXTENSION: Final = 1
"""The msgpack extension type of KV tensor wrappers."""

_TIMESTAMP: Final = re.compile(rb"[\xd6\xd7]\xff|\xc7.\xff|\xc8..\xff|\xc9....\xff", re.DOTALL)
"""What may be the head of an extension value of type -1."""

_NUMBER: Final = re.compile("[0-9]{1,20}")
SALT_FORBIDDEN: Final = "@/\\\0"
SALT_LIMIT: Final = 128
"""A ``cache_salt`` has none of these characters, and at most so many. Source: the key record's own check, from 0.4.4 on."""


DEEPEST: Final = 64
"""Arrays and maps in each other that are told as JSON or searched; no message of any release has more than a handful.

Decoders of lmcache read some hundreds, as :func:`unpack` does; what becomes of a value then must not depend on the stack.
"""

LONGEST_RANGE: Final = 1 << 24
"""Numbers that one ``range`` of the contract may stand for: twenty bytes must not announce more than any machine holds."""


class ValueRefused(WireError):
    """A value that a decoder of lmcache refuses for this type; the message begins with its place."""


def pack(value: Value) -> bytes:
    """One msgpack value, in the shortest form of each number and length.

    Raises:
        ValueRefused: msgpack cannot hold it (an integer beyond 64 bits), or it is nested too deep.
    """
    try:
        return msgspec.msgpack.encode(value)
    except (OverflowError, RecursionError, TypeError, ValueError) as error:
        raise ValueRefused(f"msgpack cannot hold it: {error}") from None


def unpack(data: bytes) -> Value:
    """Read exactly one msgpack value; nothing is executed, whatever it holds.

    A timestamp (extension type -1) is an extension value like any other, in its shortest form and to the microsecond.

    Raises:
        ValueRefused: the bytes are no msgpack value, or more than one.
    """
    try:
        value = msgspec.msgpack.decode(data)
        return _without_timestamps(value) if _TIMESTAMP.search(data) else value
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError) as error:
        raise ValueRefused(f"no msgpack value: {error}") from None


def _without_timestamps(value: Value) -> Value:
    if isinstance(value, dt.datetime):
        packed = msgspec.msgpack.encode(value)
        return msgspec.msgpack.Ext(-1, packed[3:] if packed[0] == 0xC7 else packed[2:])
    if isinstance(value, list | tuple):
        return type(value)(_without_timestamps(member) for member in value)
    if isinstance(value, dict):
        if any(isinstance(name, dt.datetime) for name in value):
            raise ValueRefused("a timestamp is a key of a map, as no extension value can be")
        return {name: _without_timestamps(member) for name, member in value.items()}
    return value


def from_json(value: Any) -> Value:
    """The value behind the JSON of the contract.

    Raises:
        ValueRefused: an object that stands for bytes, an extension or a range is malformed or too long, or it is nested too deep.
    """
    try:
        return _from_json(value)
    except RecursionError:
        raise ValueRefused("no value of the contract: it is nested too deep") from None


def _from_json(value: Any) -> Value:
    if isinstance(value, Mapping):
        try:
            match sorted(value):
                case ["hex"]:
                    return bytes.fromhex(value["hex"])
                case ["data", "ext"]:
                    return msgspec.msgpack.Ext(value["ext"], bytes.fromhex(value["data"]["hex"]))
                case ["range"]:
                    first, end = value["range"]
                    if end - first > LONGEST_RANGE:
                        raise ValueRefused(f"a range of {end - first} numbers is too long; at most {LONGEST_RANGE} are made")
                    return list(range(first, end))
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise ValueRefused(f"{value!r:.200} is no value of the contract: {error}") from None
        return {name: _from_json(member) for name, member in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_from_json(element) for element in value]
    return value


def to_json(value: Value) -> Any:
    """The JSON of the contract for a value; long runs of integers stay lists.

    Raises:
        ValueRefused: arrays and maps are nested more than :data:`DEEPEST` deep.
    """
    return _to_json(value, DEEPEST)


def _to_json(value: Value, left: int) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"hex": bytes(value).hex()}
    if isinstance(value, msgspec.msgpack.Ext):
        return {"ext": value.code, "data": {"hex": bytes(value.data).hex()}}
    if isinstance(value, Mapping):
        _require_left(left)
        return {_text(name): _to_json(member, left - 1) for name, member in value.items()}
    if isinstance(value, list | tuple):
        _require_left(left)
        return [_to_json(element, left - 1) for element in value]
    return value


def _require_left(left: int) -> None:
    if left <= 0:
        raise ValueRefused(f"arrays and maps are nested more than {DEEPEST} deep")


def _text(name: object) -> str:
    return name if isinstance(name, str) else shown(name, None)


def shown(value: Value, longest: int | None = 60) -> str:
    """A value as a message quotes it, cut behind so many characters; one that is nested too deep for that is not quoted."""
    try:
        return repr(value)[:longest]
    except RecursionError:
        return "a value that is nested too deep to be shown"


_INT: Final = Scalar("int")


def typed(release: Release, type_: Type, value: Value, place: str = "value") -> Value:
    """The value as lmcache's decoder gives it: defaults filled in, unknown members dropped.

    Raises:
        ValueRefused: it is not of the type; the message names the place and both.
    """
    match type_:
        case Optional(inner):
            return None if value is None else typed(release, inner, value, place)
        case Array(element):
            if not isinstance(value, list):
                raise _refused(place, type_, value)
            if element == _INT and all(type(member) is int for member in value):
                return list(value)  # the tokens of a prompt
            return [typed(release, element, member, f"{place}[{index}]") for index, member in enumerate(value)]
        case Tuple(elements):
            if not isinstance(value, list) or len(value) != len(elements):
                raise _refused(place, type_, value)
            pairs = zip(elements, value, strict=True)
            return [typed(release, element, member, f"{place}[{index}]") for index, (element, member) in enumerate(pairs)]
        case Map(key, member_type):
            if not isinstance(value, dict):
                raise _refused(place, type_, value)
            return {
                typed(release, key, name, f"a key of {place}"): typed(release, member_type, member, f"{place}[{shown(name)}]")
                for name, member in value.items()
            }
        case Named(name):
            return _named(release, name, value, place)
        case Scalar(name):
            if not _is_scalar(name, value):
                raise _refused(place, type_, value)
            return float(value) if name == "float" else value


def _named(release: Release, name: str, value: Value, place: str) -> Value:
    if name in ENUMERATIONS:
        if value not in ENUMERATIONS[name][release]:
            raise ValueRefused(f"{place} is {shown(value)}, and a {name} is one of {', '.join(ENUMERATIONS[name][release])}")
        return value
    if not isinstance(value, dict):
        raise ValueRefused(f"{place} is {_kind(value)}, and a {name} is a map by field name")
    if name in MAPS:
        return value
    found = {}
    for field in RECORDS[name][release]:
        if field.name in value:
            found[field.name] = typed(release, field.type, value[field.name], f"{place}.{field.name}")
        elif field.required:
            raise ValueRefused(f"{place} lacks {field.name}, which a {name} must have")
        else:
            found[field.name] = default_of(field)
    _check_salt(found, place)
    return found


def default_of(field: Field) -> Value:
    """What stands for a missing member; lists and maps are made anew."""
    return type(field.default)() if isinstance(field.default, list | dict) else field.default


def complete(release: Release, type_: Type, value: Value) -> Value:
    """The value as lmcache's encoder writes it: every field of each record, in the order of the record; nothing is checked.

    Members that are no field of the record in this release are left out; a required field that is missing is left out, too.
    """
    match type_:
        case Optional(inner):
            return None if value is None else complete(release, inner, value)
        case Array(element) if isinstance(value, list):
            # Scalars are written as they are, and the tokens of a prompt are many.
            return list(value) if isinstance(element, Scalar) else [complete(release, element, member) for member in value]
        case Tuple(elements) if isinstance(value, list) and len(value) == len(elements):
            return [complete(release, element, member) for element, member in zip(elements, value, strict=True)]
        case Map(key, member_type) if isinstance(value, dict):
            return {_key(key, name): complete(release, member_type, member) for name, member in value.items()}
        case Named(name) if name in RECORDS and isinstance(value, dict):
            return {
                field.name: complete(release, field.type, value[field.name]) if field.name in value else default_of(field)
                for field in RECORDS[name][release]
                if field.name in value or not field.required
            }
    return value


def check_salts(value: Value, place: str = "value") -> None:
    """Refuse a record, at any depth, whose ``cache_salt`` lacks what lmcache's own records ask of it.

    Raises:
        ValueRefused: it does, or arrays and maps are nested more than :data:`DEEPEST` deep.
    """
    _check_salts(value, place, DEEPEST)


def _check_salts(value: Value, place: str, left: int) -> None:
    if isinstance(value, dict):
        _require_left(left)
        if isinstance(value.get("cache_salt"), str):
            _check_salt(value, place)
        for name, member in value.items():
            _check_salts(member, f"{place}.{_text(name)}", left - 1)
    elif isinstance(value, list) and value and not isinstance(value[0], int):
        _require_left(left)
        for index, member in enumerate(value):
            _check_salts(member, f"{place}[{index}]", left - 1)


def _key(type_: Type, name: Any) -> Any:
    """A key of a map; in JSON all of them are texts."""
    return int(name) if type_ == Scalar("int") and isinstance(name, str) and _NUMBER.fullmatch(name) else name


def _check_salt(record: Mapping[str, Value], place: str) -> None:
    salt = record.get("cache_salt", "")
    if set(salt) & set(SALT_FORBIDDEN):
        raise ValueRefused(f"{place}.cache_salt has one of the characters @ / \\ NUL: {salt!r:.60}")
    if len(salt) > SALT_LIMIT:
        raise ValueRefused(f"{place}.cache_salt has {len(salt)} characters, at most {SALT_LIMIT} are accepted")


def _is_scalar(name: str, value: Value) -> bool:
    match name:
        case "any":
            return True
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "ext":
            return isinstance(value, msgspec.msgpack.Ext) and value.code == WRAPPER_EXTENSION
    kinds: dict[str, type] = {"bool": bool, "str": str, "bytes": bytes, "map": dict}
    return isinstance(value, kinds[name])


def _refused(place: str, type_: Type, value: Value) -> ValueRefused:
    return ValueRefused(f"{place} is {_kind(value)}, and {type_} was expected")


def _kind(value: Value) -> str:
    if value is None:
        return "nil"
    if isinstance(value, msgspec.msgpack.Ext):
        return f"an extension value of type {value.code}"
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a float",
        str: "a text",
        bytes: "bytes",
        list: "an array",
        dict: "a map",
    }
    return names.get(type(value), type(value).__name__)
