"""Damaged messages: frames that lack, add or mistake something, each by a name that says what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fixturegen.inputs.mp.samples import Operation, Schema
from wire.mp.types import Array, Named, Type, parse_type

KINDS: Final[Mapping[str, Any]] = {
    "nil": None,
    "true": True,
    "integer": 1,
    "float": 1.5,
    "text": "1",
    "bytes": b"1",
    "array": [],
    "map": {},
}
"""A value of every kind of msgpack but extensions."""

EXTENSIONS: Final[Mapping[str, Any]] = {
    "extension-pickled-none": msgspec.msgpack.Ext(1, b"\x80\x04N."),
    "extension-empty": msgspec.msgpack.Ext(1, b""),
    "extension-empty-map": msgspec.msgpack.Ext(1, b"\x80"),
    "extension-2": msgspec.msgpack.Ext(2, b""),
}

WRONG: Final[Mapping[str, Any]] = {"int": "1", "bool": 1, "str": 7, "bytes": "text", "float": "1", "map": []}
"""For a scalar a value of another kind."""


def encoded(value: Any) -> bytes:
    """One msgpack value."""
    return msgspec.msgpack.encode(value)


def damaged_operations(frames: list[bytes]) -> dict[str, list[bytes]]:
    """Other operation frames in a request without payloads."""
    (operation,) = frames
    number = msgspec.msgpack.decode(operation)
    return {
        "no-frames": [],
        "empty-operation": [b""],
        "operation-in-three-bytes": [b"\xcd" + number.to_bytes(2, "big")],
        "operation-and-more": [operation + b"\xc0"],
        "operation-zero": [encoded(0)],
        "operation-unknown": [encoded(999)],
        "operation-negative": [encoded(-1)],
        "operation-nil": [encoded(None)],
        "operation-float": [encoded(float(number))],
        "operation-name": [encoded("noop")],
        "operation-capitals": [encoded("NOOP")],
        "operation-no-msgpack": [b"\xc1"],
        "empty-delimiter": [b"", operation],
        "one-frame-more": [operation, b"\xc0"],
        "empty-frame-more": [operation, b""],
    }


def damaged_payloads(frames: list[bytes]) -> dict[str, list[bytes]]:
    """Payload frames that are too few, too many, or no msgpack value."""
    operation, first, *others = frames
    return {
        "one-frame-more": [*frames, b"\xc0"],
        "one-frame-less": frames[:-1],
        "operation-alone": [operation],
        "payload-empty": [operation, b"", *others],
        "payload-cut": [operation, first[:-1], *others],
        "payload-and-more": [operation, first + b"\xc0", *others],
        "payloads-in-one-frame": [operation, b"".join(frames[1:])],
        "payloads-in-an-array": [operation, encoded([msgspec.msgpack.decode(payload) for payload in frames[1:]])],
    }


def other_kinds(operation: Operation, frames: list[bytes]) -> dict[str, list[bytes]]:
    """A value of every kind in place of the last payload, and for wrappers in place of one in its list."""
    for place, kind in enumerate(operation.payloads):
        if str(kind) == "[ext]":
            values = {**KINDS, **EXTENSIONS}
            return {f"tensor-{name}": _replaced(frames, place, encoded([value])) for name, value in values.items()}
    last = len(operation.payloads) - 1
    if last < 0:
        return {}
    values = {**KINDS, "word": "one", "extension": EXTENSIONS["extension-pickled-none"]}
    return {f"last-{name}": _replaced(frames, last, encoded(value)) for name, value in values.items()}


def damaged_records(schema: Schema, operation: Operation, frames: list[bytes]) -> dict[str, list[bytes]]:
    """The record of a payload with members that lack, are unknown, or hold another kind of value."""
    names = [_record_in(kind) for kind in operation.payloads]
    place = next((index for index, name in enumerate(names) if name in schema.records), None)
    if place is None:
        return {}
    fields = schema.records[names[place]]
    value = msgspec.msgpack.decode(frames[1 + place])
    listed = isinstance(value, list)
    record = value[0] if listed else value

    def again(other: Any) -> list[bytes]:
        return _replaced(frames, place, encoded([other] if listed else other))

    found = {
        "record-unknown-field": again({**record, "added_later": 1}),
        "record-unknown-first": again({"added_later": {"a": [1]}, **record}),
        "record-reversed": again(dict(reversed(record.items()))),
        "record-array": again(list(record.values())),
        "record-empty": again({}),
        "record-nil": again(None),
    }
    for field in fields:
        missing = {name: member for name, member in record.items() if name != field["field"]}
        word = field["field"].replace("_", "-")
        found[f"record-without-{word}"] = again(missing)
        found[f"record-wrong-{word}"] = again({**record, field["field"]: _wrong(parse_type(field["type"]))})
    if "token_ids" in record:
        found["record-token-text"] = again({**record, "token_ids": ["1"]})
        found["record-token-float"] = again({**record, "token_ids": [1.0]})
        found["record-token-bytes"] = again({**record, "token_ids": b"\0\0\0\1"})
    return found


def _wrong(kind: Type) -> Any:
    text = str(kind).removesuffix("?")
    return WRONG.get(text, "text")


def _record_in(kind: Type) -> str:
    match kind:
        case Named(name):
            return name
        case Array(Named(name)):
            return name
    return ""


def _replaced(frames: list[bytes], place: int, payload: bytes) -> list[bytes]:
    return [*frames[: 1 + place], payload, *frames[2 + place :]]
