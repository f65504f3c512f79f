"""Headers of ``lm://`` and messages of the multiprocess protocol: the codecs of :mod:`wire` and those of the real lmcache."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.comparison import Comparison, Contender
from benchmarks.work import RealWork, per_second, real_work
from wire.keys import CacheKey, format_key
from wire.lm.frames import Description, Reply, Request, decode_reply, decode_request, encode_reply, encode_request
from wire.lm.profile import lm_profile
from wire.mp.frames import decode_value, encode_value
from wire.mp.operations import operation_table
from wire.mp.values import Value
from wire.release import Release

RELEASE: Final = Release.parse("0.5.6")
TIMES: Final = 500
"""Headers or messages of one pass."""
_PROFILE: Final = lm_profile(RELEASE)
_TABLE: Final = operation_table(RELEASE)
_KEY: Final = CacheKey("model", 1, 0, 7, "float16")
_ABOUT: Final = Description(65536, "KV_2LTD", "float16", (2, 1, 256, 64), "LocalCPUBackend")
_ARGS: Final[Mapping[str, Any]] = {
    "length": _ABOUT.length,
    "format": _ABOUT.format,
    "dtype": _ABOUT.dtype,
    "shape": list(_ABOUT.shape),
    "location": _ABOUT.location,
}
_CONTRACT_KEY: Final[Mapping[str, Any]] = {
    "model": _KEY.model,
    "world_size": _KEY.world_size,
    "worker_id": _KEY.worker_id,
    "chunk_hash": {"int": "7"},
    "dtype": _KEY.dtype,
    "fmt": None,
    "layer": None,
    "tags": [],
}
_TOKENS: Final = 1024
_NOTE: Final = (
    "The real codec packs a header with struct, and payloads of messages with msgspec; wire looks at every value by its tables. "
    "The seconds are processor time."
)


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """The real codecs in a process of their own."""
    with real_work(RELEASE) as real:
        yield [*_headers(real), *_messages(real)]


def _headers(real: RealWork) -> list[Comparison]:
    request = Request("PUT", format_key(RELEASE, _KEY), _ABOUT)
    reply = Reply("SUCCESS", _ABOUT)
    sent, answered = encode_request(_PROFILE, request), encode_reply(_PROFILE, reply)
    of_request = {"command": "PUT", "key": dict(_CONTRACT_KEY), **_ARGS}
    rows: Sequence[tuple[str, Callable[[], object], str, Mapping[str, Any]]] = (
        ("PUT header, encoded", lambda: encode_request(_PROFILE, request), "encode_request", of_request),
        ("PUT header, decoded", lambda: decode_request(_PROFILE, sent), "decode_request", {"bytes": sent.hex()}),
        ("reply header, encoded", lambda: encode_reply(_PROFILE, reply), "encode_reply", {"code": "SUCCESS", **_ARGS}),
        ("reply header, decoded", lambda: decode_reply(_PROFILE, answered), "decode_reply", {"bytes": answered.hex()}),
    )
    return [_comparison(name, once, real, "codec", {"op": op, "args": {**args, "times": TIMES}}) for name, once, op, args in rows]


def _messages(real: RealWork) -> list[Comparison]:
    payloads: list[Value] = [
        {
            "model_name": "model",
            "world_size": 1,
            "worker_id": 0,
            "token_ids": list(range(_TOKENS)),
            "start": 0,
            "end": _TOKENS,
            "request_id": "request",
            "cache_salt": "",
            "request_configs": None,
            "num_kv_readers": 1,
        },
        7,
    ]
    types = _TABLE.named("LOOKUP").payloads
    frames = [encode_value(RELEASE, type_, value) for type_, value in zip(types, payloads, strict=True)]

    def encode() -> object:
        return [encode_value(RELEASE, type_, value) for type_, value in zip(types, payloads, strict=True)]

    def decode() -> object:
        return [decode_value(RELEASE, type_, frame, "payload") for type_, frame in zip(types, frames, strict=True)]

    asked = {"operation": "LOOKUP", "payloads": payloads, "times": TIMES}
    if real.sample("mp_codec", {"op": "encode", **asked}) != [frame.hex() for frame in frames]:
        raise RuntimeError("wire and the real lmcache write different payloads of LOOKUP")
    return [
        _comparison(f"LOOKUP of {_TOKENS} tokens, {op}d", once, real, "mp_codec", {"op": op, **asked})
        for op, once in (("encode", encode), ("decode", decode))
    ]


def _comparison(name: str, once: Callable[[], object], real: RealWork, work: str, args: Mapping[str, Any]) -> Comparison:
    def many() -> None:
        for _ in range(TIMES):
            once()

    return Comparison(
        name,
        "1/s",
        "more",
        (
            Contender("wire", lambda seconds: per_second(many, TIMES, seconds)),
            Contender("real", lambda seconds: real.per_second(work, args, seconds)),
        ),
        note=_NOTE,
    )
