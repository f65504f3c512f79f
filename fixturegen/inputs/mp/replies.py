"""Questions about replies: what the real server sends for a result, and what the real client makes of a reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from fixturegen.inputs import Question
from fixturegen.inputs.mp.damage import KINDS, encoded
from fixturegen.inputs.mp.requests import slug
from fixturegen.inputs.mp.samples import Operation, Schema, Value
from wire.mp.types import Array, Named, Optional, Tuple, Type

MANY_KINDS: Final = ("NOOP", "GET_CHUNK_SIZE", "QUERY_PREFETCH_STATUS")
FEW_KINDS: Final = ("nil", "true", "integer", "text")


def encoding(schema: Schema) -> Iterator[Question]:
    """The usual result of every operation, and edges of its type."""
    for operation in schema.operations:
        for name, result in _results(schema, operation).items():
            args = {"operation": operation.name, "result": result}
            yield Question(f"mp.reply.encode.{slug(operation)}.{name}", "mp_encode_reply", args)


def _results(schema: Schema, operation: Operation) -> dict[str, Value]:
    if operation.response is None:
        return {"none": None}
    return {"plain": schema.sample(operation.response), **_edges(schema, operation.response)}


def _edges(schema: Schema, kind: Type) -> dict[str, Value]:
    match kind:
        case Optional():
            return {"none": None, **({"zero": 0} if str(kind) == "int?" else {})}
        case Array():
            return {"empty": []}
        case Tuple(elements) if str(kind).startswith("(bytes"):
            second = elements[1]
            return {"failed": [{"hex": ""}, [False] if isinstance(second, Array) else False]}
        case Named(name) if name in schema.records:
            return {"defaults": _smallest(schema, name)}
    found: dict[str, dict[str, Value]] = {
        "bool": {"false": False},
        "int": {"zero": 0, "large": 2**32},
        "str": {"empty": ""},
    }
    return found.get(str(kind), {})


def _smallest(schema: Schema, name: str) -> Value:
    """A record whose fields with a default hold it."""
    usual = schema.sample(Named(name))
    return {field["field"]: field.get("default", usual[field["field"]]) for field in schema.records[name]}


def decoding(schema: Schema, outcomes: Mapping[str, Mapping[str, Any]]) -> Iterator[Question]:
    """Every reply that was encoded, and damaged ones."""
    for operation in schema.everyday:
        for name, outcome in outcomes.items():
            variant = name.removeprefix(f"mp.reply.encode.{slug(operation)}.")
            if variant != name and "ok" in outcome:
                yield _decode(operation, variant, [bytes.fromhex(frame["hex"]) for frame in outcome["ok"]["frames"]])
    for name in ("NOOP", "LOOKUP", "GET_CHUNK_SIZE", "STORE", "QUERY_PREFETCH_STATUS", "COMMIT_STORE", "PREPARE_RETRIEVE"):
        operation_or_none = schema.operation(name)
        if operation_or_none is not None:
            yield from _damaged(schema, operation_or_none, outcomes)


def _damaged(schema: Schema, operation: Operation, outcomes: Mapping[str, Mapping[str, Any]]) -> Iterator[Question]:
    which = "none" if operation.response is None else "plain"
    outcome = outcomes[f"mp.reply.encode.{slug(operation)}.{which}"]
    if "ok" not in outcome:
        return
    frames = [bytes.fromhex(frame["hex"]) for frame in outcome["ok"]["frames"]]
    name = frames[0]
    found = {
        "no-result": [name],
        "one-frame-more": [*frames, b"\xc0"],
        "empty-result": [name, b""],
        "result-and-more": [name, (frames[1] if len(frames) > 1 else b"\xc0") + b"\xc0"],
        **{f"result-{kind}": [name, encoded(KINDS[kind])] for kind in (KINDS if operation.name in MANY_KINDS else FEW_KINDS)},
    }
    if operation.name == "NOOP":
        other = schema.operation("GET_CHUNK_SIZE") or schema.operation("LOOKUP")
        found |= {
            "nothing": [],
            "unknown-operation": [encoded(999), *frames[1:]],
            "operation-name": [encoded("noop"), *frames[1:]],
            **({"other-operation": [encoded(other.wire), *frames[1:]]} if other is not None else {}),
        }
    result = msgspec.msgpack.decode(frames[1]) if len(frames) > 1 else None
    if isinstance(result, dict):
        found |= {
            "record-unknown-field": [name, encoded({**result, "added_later": 1})],
            "record-array": [name, encoded(list(result.values()))],
            "record-empty": [name, encoded({})],
            **{
                f"record-without-{field.replace('_', '-')}": [name, encoded({n: m for n, m in result.items() if n != field})]
                for field in result
            },
        }
    for kind, damaged in found.items():
        yield _decode(operation, kind, damaged)


def _decode(operation: Operation, name: str, frames: list[bytes]) -> Question:
    args = {"operation": operation.name, "frames": [{"hex": frame.hex()} for frame in frames]}
    return Question(f"mp.reply.decode.{slug(operation)}.{name}", "mp_decode_reply", args)
