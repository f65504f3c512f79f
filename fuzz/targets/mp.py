"""The multiprocess wire: values, records, messages, keys, registrations and pickles of every release."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from fixturegen.vector import Vector, raw
from fuzz.target import Bytes, Target, in_pieces, require, texts
from fuzz.targets.captured import MP_RELEASES, hex_of, mp_messages, of_mp
from mockserver.mp.requests import Dropped, MessageThreadDies, Request, read_operation, read_payloads
from wire.errors import WireError
from wire.mp.cpu_tensors import TensorRefused, read_cpu_tensor
from wire.mp.frames import decode_reply, decode_request, decode_value, encode_value
from wire.mp.inert_pickle import PickleRefused, walk
from wire.mp.objects import KeyRefused, object_key_text, server_object_keys
from wire.mp.operations import operation_table
from wire.mp.pickled_chunks import Chunk, read_chunks, write_chunks
from wire.mp.registration import WrapperRefused, encode_registration
from wire.mp.types import Named, parse_type
from wire.mp.values import ValueRefused, from_json, pack, to_json, unpack

TABLES: Final = tuple(operation_table(release) for release in MP_RELEASES)
_PERMITTED: Final = frozenset({("torch", "Size"), ("collections", "OrderedDict"), ("builtins", "getattr"), ("os", "system")})
_KEY: Final = "IPCCacheEngineKey"
_MOST_TOKENS: Final = 4096


def value(data: bytes) -> None:
    """A msgpack value; what is read can be written, and the JSON of the contract holds it."""
    found = unpack(data)
    require(holds=unpack(pack(found)) is not None or found is None, what="a value is lost once it was written")
    json.dumps(to_json(found))


def json_value(data: bytes) -> None:
    """A value as the JSON of the contract has it."""
    pack(from_json(_json(data)))


def request(data: bytes) -> None:
    """The frames of a request."""
    given = Bytes(data)
    decode_request(given.choice(TABLES), given.pieces())


def reply(data: bytes) -> None:
    """The frames of a reply to an operation."""
    given = Bytes(data)
    table = given.choice(TABLES)
    decode_reply(table, given.choice(table.operations).name, given.pieces())


def typed_value(data: bytes) -> None:
    """A payload of any operation; what is read can be written."""
    given = Bytes(data)
    table = given.choice(TABLES)
    operation = given.choice(table.operations)
    types = (*operation.payloads, *([operation.result] if operation.result is not None else []))
    if types:
        type_ = given.choice(types)
        encode_value(table.release, type_, decode_value(table.release, type_, given.rest(), "it"))


def type_text(data: bytes) -> None:
    """A type in words."""
    parse_type(data.decode("utf-8", "surrogateescape"))


def inert(data: bytes) -> None:
    """A pickle that nobody executes."""
    walk(data, _PERMITTED)


def chunks(data: bytes) -> None:
    """Chunks in a pickle; what is read can be written, and reads the same."""
    found = read_chunks(data)
    require(holds=read_chunks(write_chunks(found)) == found, what="chunks read otherwise once they were written")


def cpu_tensor(data: bytes) -> None:
    """A tensor in shared memory, as a registration describes it."""
    given = Bytes(data)
    read_cpu_tensor(given.choice(MP_RELEASES), given.rest())


def object_keys(data: bytes) -> None:
    """The objects that a server takes a key record for."""
    given = Bytes(data)
    release, lookup, size = given.choice(MP_RELEASES), bool(given.number() & 1), given.number() + 1
    found: Any = decode_value(release, Named(_KEY), given.rest(), "the key")
    if not isinstance(found, dict) or abs(found.get("world_size") or 0) > _MOST_TOKENS:
        return
    if max(len(found.get("token_ids") or ()), abs(found.get("end") or 0), abs(found.get("start") or 0)) > _MOST_TOKENS:
        return
    for key in server_object_keys(release, found, size, lookup=lookup):
        object_key_text(release, key)


def registration(data: bytes) -> None:
    """A registration written from fields as a contract has them."""
    given = Bytes(data)
    release = given.choice(MP_RELEASES)
    members = _json(given.rest())
    if isinstance(members, dict) and isinstance(members.get("fields"), dict):
        size = members.get("size")
        encode_registration(
            release, str(members.get("wrapper")), from_json(members["fields"]), size=size if isinstance(size, str) else None
        )


def mock_request(data: bytes) -> None:
    """The frames of a message as the mock server takes them."""
    given = Bytes(data)
    table = given.choice(TABLES)
    found = read_operation(table, given.pieces())
    if isinstance(found, Request):
        read_payloads(table, found.operation, found.payloads)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _frames(vector: Vector) -> bytes:
    return in_pieces([raw(frame) for frame in vector.args["frames"]])


def _pickles() -> Sequence[bytes]:
    plain = Chunk("float16", (2, 3), bytes(12))
    return [
        write_chunks([plain]),
        write_chunks([plain, Chunk("uint8", (4,), b"abcd")]),
        b"\x80\x04]q\x00.",
        b"cos\nsystem\n(S'x'\ntR.",
    ]


def _payloads() -> Sequence[bytes]:
    return [
        bytes([index * 7 % 256, frames[1][0] if frames[1] else 0, index]) + frame
        for index, said in enumerate(mp_messages())
        for _, side, frames in said
        if side == "client" and len(frames) > 2
        for frame in frames[2:4]
    ][:20]


def _tensors() -> Sequence[bytes]:
    return [bytes([len(MP_RELEASES) - 1]) + seed[1:] for seed in of_mp("mp_decode_registration", hex_of("bytes"))()]


def _keys() -> Sequence[bytes]:
    def record(vector: Vector) -> bytes:
        key = vector.args["key"]
        return bytes([int(bool(vector.args["lookup"])), 15]) + pack(from_json(key))

    return of_mp("mp_object_keys", record)()


TARGETS: Final = (
    Target(
        "mp.value",
        value,
        (ValueRefused,),
        lambda: [frame for said in mp_messages() for *_, frames in said for frame in frames][:20],
    ),
    Target(
        "mp.json-value", json_value, (ValueRefused,), texts('{"hex":"00ff"}', '{"ext":1,"data":{"hex":"00"}}', '{"range":[0,32]}')
    ),
    Target("mp.request", request, (WireError,), of_mp("mp_decode_request", _frames)),
    Target("mp.reply", reply, (WireError,), of_mp("mp_decode_reply", lambda one: b"\0" + _frames(one))),
    Target("mp.typed-value", typed_value, (ValueRefused,), _payloads),
    Target(
        "mp.type",
        type_text,
        (ValueError,),
        texts("int", "str | None", "list[tuple[int, str]]", "dict[str, list[bytes]]", "{"),
        6000,
    ),
    Target("mp.pickle", inert, (PickleRefused,), _pickles),
    Target("mp.chunks", chunks, (PickleRefused,), _pickles),
    Target("mp.cpu-tensor", cpu_tensor, (TensorRefused,), _tensors),
    Target("mp.object-keys", object_keys, (ValueRefused, KeyRefused), _keys),
    Target(
        "mp.registration",
        registration,
        (WrapperRefused, ValueRefused),
        of_mp("mp_encode_registration", lambda one: json.dumps(dict(one.args))),
    ),
    Target(
        "mp.mock-request",
        mock_request,
        (Dropped, MessageThreadDies),
        of_mp("mp_decode_request", lambda one: b"\1\0\1" + _frames(one)),
    ),
)
