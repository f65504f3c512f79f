"""Questions about requests: what the real client puts into frames, and what the real server makes of frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fixturegen.inputs import Question
from fixturegen.inputs.mp.damage import damaged_operations, damaged_payloads, damaged_records, other_kinds
from fixturegen.inputs.mp.samples import Operation, Schema, Value
from wire.mp.types import Named

INTEGERS: Final[Mapping[str, int]] = {
    "zero": 0,
    "fixint": 127,
    "uint8": 128,
    "uint16": 256,
    "uint32": 2**32 - 1,
    "int64": 2**63 - 1,
    "uint64": 2**64 - 1,
    "minus-one": -1,
    "int8": -33,
    "int64-lowest": -(2**63),
    "too-large": 2**64,
}
ENCODED_ONLY: Final = (
    "tensors-every-class",
    "key-tokens-300",
    "data-300",
    "blocks-one-group",
    "blocks-empty-group",
    "key-later-chunks",
)
"""Large frames that say nothing new when they are read."""

CONFIGS: Final = {
    "lmcache.tag.user": "alice",
    "priority": 1,
    "share": 0.5,
    "on": True,
    "none": None,
    "list": [1, "a"],
    "map": {"x": 1},
}


def encoding(schema: Schema) -> Iterator[Question]:
    """Usual payloads of every operation, and edge values where a type occurs first."""
    for operation in schema.operations:
        yield _encode(operation, "plain", schema.payloads(operation))
    yield from _keys(schema)
    yield from _numbers(schema)
    yield from _blocks(schema)
    yield from _bytes(schema)
    yield from _registrations(schema)
    for name in ("NOOP", "LOOKUP"):
        operation = _required(schema, name)
        usual = schema.payloads(operation)
        yield _encode(operation, "one-payload-more", [*usual, 1])
        if usual:
            yield _encode(operation, "one-payload-less", usual[:-1])


def decoding(schema: Schema, outcomes: Mapping[str, Mapping[str, Any]]) -> Iterator[Question]:
    """Every frame that was encoded, and damaged ones."""
    for operation in schema.everyday:
        for name, outcome in outcomes.items():
            variant = name.removeprefix(f"mp.request.encode.{slug(operation)}.")
            if variant != name and variant not in ENCODED_ONLY and "ok" in outcome:
                yield Question(f"mp.request.decode.{slug(operation)}.{variant}", "mp_decode_request", outcome["ok"])
    for operation in schema.everyday:
        plain = outcomes[f"mp.request.encode.{slug(operation)}.plain"]
        if "ok" not in plain:
            continue
        frames = [bytes.fromhex(frame["hex"]) for frame in plain["ok"]["frames"]]
        found: dict[str, list[bytes]] = {}
        if operation.name == "NOOP":
            found |= damaged_operations(frames)
        if operation.name == "LOOKUP":
            found |= damaged_payloads(frames)
        if operation.name in ("UNREGISTER_KV_CACHE", "REGISTER_KV_CACHE", "PING", "WAIT_PREFETCH_STATUS", "END_SESSION"):
            found |= other_kinds(operation, frames)
        if operation.name in _RECORD_CARRIERS:
            found |= damaged_records(schema, operation, frames)
        for name, damaged in found.items():
            args = {"frames": [{"hex": frame.hex()} for frame in damaged]}
            yield Question(f"mp.request.decode.{slug(operation)}.{name}", "mp_decode_request", args)


_RECORD_CARRIERS: Final = (
    "LOOKUP",
    "REGISTER_KV_CACHE_NON_GPU_CONTEXT",
    "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT",
    "REPORT_BLOCK_ALLOCATION",
)
"""Operations whose records are damaged: one for each record of the everyday protocol."""


def slug(operation: Operation) -> str:
    """An operation as part of an id."""
    return operation.name.lower().replace("_", "-")


def _encode(operation: Operation, name: str, payloads: list[Value]) -> Question:
    args = {"operation": operation.name, "payloads": payloads}
    return Question(f"mp.request.encode.{slug(operation)}.{name}", "mp_encode_request", args)


def _required(schema: Schema, name: str) -> Operation:
    operation = schema.operation(name)
    if operation is None:
        raise LookupError(f"the captured table has no {name}")
    return operation


def _with(schema: Schema, operation: Operation, place: int, value: Value) -> list[Value]:
    made = schema.payloads(operation)
    made[place] = value
    return made


def key_variants(schema: Schema) -> dict[str, dict[str, Value]]:
    """Other values of key fields by a name; of fields that the release has."""
    found: dict[str, dict[str, Value]] = {
        "worker-none": {"worker_id": None},
        "worker-7-of-8": {"world_size": 8, "worker_id": 7},
        "model-unicode": {"model_name": "模型/é"},
        "model-empty": {"model_name": ""},
    }
    if schema.has_key_field("token_ids"):
        found |= {
            "tokens-none": {"token_ids": [], "end": 0},
            "tokens-300": {"token_ids": {"range": [0, 300]}, "end": 288},
            "tokens-edges": {"token_ids": [0, 127, 128, 255, 256, 65535, 65536, 2**32 - 1], "end": 8},
            "tokens-beyond-32-bit": {"token_ids": [2**32, 2**63 - 1, -1], "end": 3},
            "request-empty": {"request_id": ""},
            "later-chunks": {"token_ids": {"range": [0, 48]}, "start": 16, "end": 48},
        }
    if schema.has_key_field("chunk_hash"):
        found |= {
            "hash-empty": {"chunk_hash": {"hex": ""}},
            "hash-4-bytes": {"chunk_hash": {"hex": "0000002a"}},
            "hash-32-bytes": {"chunk_hash": {"hex": "ab" * 32}},
        }
    if schema.has_key_field("cache_salt"):
        found |= {
            "salt": {"cache_salt": "tenant-a"},
            "salt-unicode": {"cache_salt": "é"},
            "salt-longest": {"cache_salt": "s" * 128},
            "salt-too-long": {"cache_salt": "s" * 129},
            **{
                f"salt-with-{word}": {"cache_salt": f"a{character}b"}
                for word, character in {"at": "@", "slash": "/", "backslash": "\\", "nul": "\0"}.items()
            },
        }
    if schema.has_key_field("request_configs"):
        found |= {"configs": {"request_configs": CONFIGS}, "configs-empty": {"request_configs": {}}}
    if schema.has_key_field("num_kv_readers"):
        found |= {"readers-0": {"num_kv_readers": 0}, "readers-8": {"num_kv_readers": 8}}
    return found


def _keys(schema: Schema) -> Iterator[Question]:
    lookup = _required(schema, "LOOKUP")
    in_list = not isinstance(lookup.payloads[0], Named)
    for name, changes in key_variants(schema).items():
        key = schema.key(**changes)
        yield _encode(lookup, f"key-{name}", _with(schema, lookup, 0, [key] if in_list else key))
    if in_list:
        yield _encode(lookup, "keys-none", _with(schema, lookup, 0, []))
        yield _encode(lookup, "keys-two", _with(schema, lookup, 0, [schema.key(), schema.key(worker_id=0)]))


def _numbers(schema: Schema) -> Iterator[Question]:
    unregister = _required(schema, "UNREGISTER_KV_CACHE")
    for name, number in INTEGERS.items():
        yield _encode(unregister, f"instance-{name}", [number])
    yield _encode(unregister, "instance-true", [True])
    lookup = _required(schema, "LOOKUP")
    if len(lookup.payloads) > 1:
        for name, value in {"true": True, "false": False, "none": None}.items():
            yield _encode(lookup, f"second-{name}", _with(schema, lookup, 1, value))
    ping = schema.operation("PING")
    if ping is not None and ping.payloads:
        yield _encode(ping, "no-instance", [None])
    wait = schema.operation("WAIT_PREFETCH_STATUS")
    if wait is not None:
        for name, seconds in {"zero": 0.0, "whole": 1, "fraction": 0.1}.items():
            yield _encode(wait, f"timeout-{name}", _with(schema, wait, 1, seconds))
    clear = schema.operation("CLEAR")
    if clear is not None and clear.payloads:
        yield _encode(clear, "not-forced", [False])


def _blocks(schema: Schema) -> Iterator[Question]:
    store = _required(schema, "STORE")
    shapes: dict[str, Value] = {
        "none": [],
        "flat": [0, 1, 300],
        "one-group": [[0, 1, 300]],
        "two-groups": [[1, 2], [3]],
        "empty-group": [[]],
    }
    for name, value in shapes.items():
        yield _encode(store, f"blocks-{name}", _with(schema, store, 2, value))


def _bytes(schema: Schema) -> Iterator[Question]:
    commit = schema.operation("COMMIT_STORE")
    if commit is not None:
        for name, value in {"none": "", "300": "5a" * 300}.items():
            yield _encode(commit, f"data-{name}", _with(schema, commit, 2, {"hex": value}))
    query = schema.operation("QUERY_PREFETCH_STATUS")
    if query is not None:
        for name, text in {"empty": "", "unicode": "запрос", "long": "r" * 40}.items():
            yield _encode(query, f"request-{name}", [text])


def _registrations(schema: Schema) -> Iterator[Question]:
    register = _required(schema, "REGISTER_KV_CACHE")
    place = next(index for index, kind in enumerate(register.payloads) if str(kind) == "[ext]")
    yield _encode(register, "tensors-none", _with(schema, register, place, []))
    yield _encode(register, "tensors-every-class", _with(schema, register, place, list(schema.blobs)))
    bare = _with(schema, register, place, [])
    for index, kind in enumerate(register.payloads):
        name, before, after = str(kind), bare[:index], bare[index + 1 :]
        if name in schema.enumerations:
            for value in schema.enumerations[name][1:]:
                yield _encode(register, f"engine-{value}", [*before, value, *after])
        if name in schema.maps:
            members = {field["field"]: schema.sample_of(field) for field in schema.maps[name]}
            yield _encode(register, "hints-all", [*before, members, *after])
