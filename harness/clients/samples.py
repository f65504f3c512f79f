"""Arguments that make sense, for a first call of each pure operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wire.keys import KEY_GRAMMARS
from wire.mp.frames import encode_reply, encode_request
from wire.mp.objects import TOKEN_MODE
from wire.mp.operations import operation_table
from wire.mp.records import key_record
from wire.release import Release

HEADER: Final[Mapping[str, Any]] = {
    "length": 65536,
    "format": "KV_2LTD",
    "dtype": "float16",
    "shape": [2, 1, 256, 64],
    "location": None,
}
"""What a header says of a payload."""


def sample_key(release: str) -> dict[str, Any]:
    """A key that a release can write."""
    grammar = KEY_GRAMMARS[Release.parse(release)]
    return {
        "model": "m",
        "world_size": 1,
        "worker_id": 0,
        "chunk_hash": {"text": "7"} if grammar.hash_style == "text" else {"int": "7"},
        "dtype": "float16" if grammar.dtype_names is not None else None,
        "fmt": "vllm" if grammar.prefix else None,
        "layer": None,
        "tags": [],
    }


def sample_arguments(op: str, release: str) -> dict[str, Any]:
    """Arguments of a pure operation, ``release`` included."""
    found = _of_mp(op, release) if op.startswith("mp_") else _without_release(op, release)
    return {"release": release, **found}


def _of_mp(op: str, release: str) -> dict[str, Any]:
    known = Release.parse(release)
    table = operation_table(known)
    key = {
        "model_name": "m",
        "world_size": 1,
        "worker_id": 0,
        "chunk_hash": {"hex": "00" * 32},
        "token_ids": [1, 2],
        "start": 0,
        "end": 2,
        "request_id": "r",
        "cache_salt": "",
        "request_configs": None,
        "num_kv_readers": 1,
    }
    if TOKEN_MODE[known]:
        key["chunk_hash"] = None
    answers: dict[str, dict[str, Any]] = {
        "mp_encode_request": {"operation": "NOOP", "payloads": []},
        "mp_decode_request": {"frames": _frames(encode_request(table, "NOOP", []))},
        "mp_encode_reply": {"operation": "NOOP", "result": "OK"},
        "mp_decode_reply": {"operation": "NOOP", "frames": _frames(encode_reply(table, "NOOP", "OK"))},
        "mp_object_keys": {
            "key": key_record(known, key),
            "chunk_size": 2,
            "group": 0,
            "lookup": False,
        },
        "mp_encode_registration": {
            "wrapper": "CudaIPCWrapper",
            "fields": {
                "handle": [0, {"hex": "00" * 64}, 2097152, 0, {"hex": "00" * 16}, 0, {"hex": "00" * 64}, True],
                "dtype": "float16",
                "shape": [2, 4, 16, 8],
                "stride": [512, 128, 8, 1],
                "storage_offset": 0,
                "device_uuid": "6f0e1c1a-2b3c-4d5e-8f90-a1b2c3d4e5f6",
            },
        },
    }
    return answers[op]


def _frames(frames: Sequence[bytes]) -> list[dict[str, str]]:
    return [{"hex": frame.hex()} for frame in frames]


def _without_release(op: str, release: str) -> dict[str, Any]:
    key = sample_key(release)
    old = Release.parse(release) < Release.parse("0.3.3")
    paging = {"format": "KV_2LTD", "dtype": "uint8", "slots": [0], "paged_shape": [1, 2, 1, 1, 1, 1]}
    chunking = {"tokens": [1, 2], "chunk_size": 2}
    sizes = {"request": 32 if old else 36, "reply": 32 if old else 36}
    table: dict[str, dict[str, Any]] = {
        "encode_request": {**HEADER, "command": "GET", "key": key},
        "decode_request": {"bytes": b"\x01".ljust(sizes["request"], b"\0") + _KEY_TEXT.ljust(150)},
        "encode_reply": {**HEADER, "code": "SUCCESS"},
        "decode_reply": {"bytes": b"\xc8".ljust(sizes["reply"], b"\0")},
        "encode_metadata": {"length": 2, "format": "KV_2LTD", "groups": [{"dtype": "float16", "shape": [2, 1, 1, 1]}]},
        "decode_metadata": {"bytes": bytes(28), "groups": 1},
        "format_key": {"key": key},
        "parse_key": {"text": _KEY_TEXT.decode("ascii")},
        "chunk_keys": {
            **chunking,
            **{name: key[name] for name in ("model", "world_size", "worker_id", "dtype", "fmt", "tags")},
            "algorithm": "sha256_hex" if old else "sha256_cbor",
            "none_hash": {"text": ""} if old else {"int": "0"},
            "save_unfull_chunk": False,
            "skip": 0,
        },
        "deployment_keys": {
            "tokens": [],
            "chunk_size": 2,
            **{name: key[name] for name in ("model", "world_size", "worker_id", "dtype", "fmt", "tags")},
            "vllm": None,
            "kv_cache_utils": False,
            "seed": "0",
            "algorithm": "builtin",
            "save_unfull_chunk": False,
            "skip": 0,
            "layers": 0,
            "mla": False,
            "save_only_first_rank": None,
        },
        "token_hashes": chunking,
        "pack_layout": {**paging, "paged": bytes(2)},
        "unpack_layout": {**paging, "bytes": bytes(2), "shape": [2, 1, 1, 1]},
    }
    return table[op]


_KEY_TEXT: Final = b"m@1@0@7@half"
