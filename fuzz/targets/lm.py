"""The ``lm://`` wire: frames, metadata, keys, chunks and payloads of every release."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from fuzz.target import Bytes, Target, require
from fuzz.targets.captured import RELEASES, hex_of, of_lm, vectors
from mockserver.lm.requests import glance, read_request
from wire.chunks import chunk_hashes, chunk_keys
from wire.deployments import none_hash, python_version, seed_number, vllm_hashes
from wire.errors import DecodeError, EncodeError, WireError
from wire.hashes import DIGESTS, token_hashes
from wire.keys import KEY_GRAMMARS, CacheKey, format_key, parse_key, parse_key_as_server
from wire.layouts import pack, unpack
from wire.lm.enums import ITEM_SIZES
from wire.lm.frames import (
    decode_reply,
    decode_request,
    describe_reply,
    describe_request,
    encode_reply,
    encode_request,
    header_numbers,
    replace_field,
)
from wire.lm.metadata import decode_metadata, encode_metadata
from wire.lm.profile import LmProfile, lm_profile
from wire.lm.shapes import pad_shape, payload_size, strip_shape
from wire.release import Release

T = TypeVar("T")

PROFILES: Final = tuple(lm_profile(release) for release in RELEASES)
_LONG: Final = 14_000
"""Bits of a hash that may have more decimal digits than Python writes."""
_NEW: Final = Release.parse("0.5.6")
_FORMATS: Final = ("KV_2LTD", "KV_T2D", "KV_2TD", "BINARY", "KV_MLA_FMT", "BINARY_BUFFER", "UNDEFINED", "?")


def request(data: bytes) -> None:
    """A request header; what is read can be written, and reads the same."""
    _written_and_read(data, decode_request, encode_request)


def reply(data: bytes) -> None:
    """A reply header, likewise."""
    _written_and_read(data, decode_reply, encode_reply)


def _written_and_read(data: bytes, decode: Callable[[LmProfile, bytes], T], encode: Callable[[LmProfile, T], bytes]) -> None:
    given = Bytes(data)
    profile = given.choice(PROFILES)
    found = decode(profile, given.rest())
    again = decode(profile, encode(profile, found))
    require(holds=again == found, what=f"{found} is read as {again} once it was written")


def described(data: bytes) -> None:
    """A header as a table of its fields, of any bytes; and with a field replaced."""
    given = Bytes(data)
    profile = given.choice(PROFILES)
    which, value = given.number(), int.from_bytes(given.take(5), "little", signed=True)
    rest = given.rest()
    describe_request(profile, rest)
    describe_reply(profile, rest)
    fields = profile.header.request
    name = fields[which % len(fields)]
    changed = replace_field(fields, rest, name, value)
    require(holds=header_numbers(fields, changed)[name] == value, what="a field that was replaced has another value")


def metadata(data: bytes) -> None:
    """The prefix of a value; what is read can be written."""
    given = Bytes(data)
    profile, groups = given.choice(PROFILES), given.number() % 40
    found = decode_metadata(profile, given.rest(), groups)
    encode_metadata(profile, found)


def key(data: bytes) -> None:
    """The text of a key; what is read can be written, and reads the same.

    Not so in 0.3.4 and 0.3.5, which write a hash in base 10 and read it in base 16 (KEY-PARSE-002), and take tags for settings
    (KEY-PARSE-004): there the hash is the one of these digits, and tags are not asked for.
    """
    given = Bytes(data)
    release = given.choice(RELEASES)
    found = parse_key(release, given.text())
    try:
        again = parse_key(release, format_key(release, found))
    except EncodeError:  # a hash read in base 16 may be too long for base 10
        require(holds=_in_both_bases(release) and _bits(found) > _LONG, what="a key that was read cannot be written")
        raise
    if _in_both_bases(release):
        found = replace(found, chunk_hash=int(str(found.chunk_hash), 16), tags=again.tags, settings=again.settings)
    require(holds=again == found, what="a key reads otherwise once it was written")


def _bits(key: CacheKey) -> int:
    return key.chunk_hash.bit_length() if isinstance(key.chunk_hash, int) else 0


def _in_both_bases(release: Release) -> bool:
    return KEY_GRAMMARS[release].hash_style == "decimal-read-as-hex"


def server_key(data: bytes) -> None:
    """The text of a key as a server takes it."""
    given = Bytes(data)
    parse_key_as_server(given.choice(RELEASES), given.text())


def server_request(data: bytes) -> None:
    """A request header as the mock server takes it, and as it is noted where it is refused."""
    given = Bytes(data)
    profile = given.choice(PROFILES)
    header = given.rest()[: profile.header.request_size]
    if len(header) == profile.header.request_size:
        glance(profile, header)
    read_request(profile, header)


def shape(data: bytes) -> None:
    """Shapes in headers, and the sizes of payloads that they announce."""
    given = Bytes(data)
    profile, name, dtype = given.choice(PROFILES), given.choice(_FORMATS), given.choice((None, *ITEM_SIZES))
    dims = [int.from_bytes(given.take(4), "little", signed=True) for _ in range(given.number() % 7)]
    stripped = strip_shape(profile, (*dims, 0, 0, 0, 0)[:4], name)
    payload_size(name, dtype, stripped)
    pad_shape(profile, dims)


def layout(data: bytes) -> None:
    """Pages of any shape, out of which a chunk is taken and into which it is put back."""
    given = Bytes(data)
    name = given.choice(_FORMATS)
    shaped = [given.number() % 4 for _ in range(given.number() % 8)]
    slots = [given.number() - 2 for _ in range(given.number() % 10)]
    paged = np.zeros(shaped, dtype=np.uint16)
    unpack(name, pack(name, paged, slots), slots, shaped)
    unpack(name, np.zeros([given.number() % 5 for _ in range(given.number() % 6)], dtype=np.uint16), slots, shaped)


def chunks(data: bytes) -> None:
    """Keys of chunks for settings and tokens as users give them."""
    args = _args(data)
    release = RELEASES[args.get("release", 0) % len(RELEASES)] if isinstance(args.get("release"), int) else _NEW
    tokens = [token for token in args.get("tokens", []) if isinstance(token, int)] if isinstance(args.get("tokens"), list) else []
    size, skip = (args.get(name) if isinstance(args.get(name), int) else 16 for name in ("chunk_size", "skip"))
    algorithm = args.get("algorithm") if isinstance(args.get("algorithm"), str) else "builtin"
    start = bytes.fromhex("00" * 32) if args.get("none_hash") == "bytes" else 0
    found = chunk_hashes(
        release,
        tokens,
        chunk_size=max(1, min(size or 1, 1 << 20)),
        algorithm=str(algorithm),
        none_hash=start,
        skip=max(0, skip or 0),
        hash_of_none=7,
    )
    chunk_keys(release, CacheKey(str(args.get("model", "m")), 1, 0, 0, "bfloat16", str(args.get("fmt"))), found)


def tokens_hashed(data: bytes) -> None:
    """Hashes of tokens as the multiprocess server makes them."""
    given = Bytes(data)
    size = given.number() + 1
    rest = given.rest()
    tokens = list(struct.unpack(f"<{len(rest) // 4}I", rest[: len(rest) // 4 * 4]))
    require(holds=len(token_hashes(tokens, size)) == len(tokens) // size, what="there is a hash too few or too many")


def settings(data: bytes) -> None:
    """Versions, seeds and hash functions as deployments name them."""
    given = Bytes(data)
    which, function = given.number() % 4, given.choice((*DIGESTS, "builtin", "?"))
    text = given.text()
    if which == 0:
        vllm_hashes(text)
    elif which == 1:
        python_version(text)
    elif which == 2:
        seed_number(text)
    else:
        none_hash(function, "int" if given.number() else "bytes", text, text or None)


def _args(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _chunk_seeds() -> list[bytes]:
    return [
        json.dumps({**vector.args, "release": index}).encode()
        for index, name in ((0, "0.3.1"), (11, "0.3.10"), (32, "0.5.6"))
        for vector in vectors("chunk_keys", name, few=4)
        if len(json.dumps(vector.args)) < 1500
    ]


TARGETS: Final = (
    Target("lm.request", request, (DecodeError,), of_lm("decode_request", hex_of("bytes")), 400),
    Target("lm.reply", reply, (DecodeError,), of_lm("decode_reply", hex_of("bytes")), 200),
    Target(
        "lm.described", described, (WireError,), of_lm("decode_request", lambda one: b"\1\2\0\0\0\0" + hex_of("bytes")(one)), 400
    ),
    Target("lm.metadata", metadata, (DecodeError,), of_lm("decode_metadata", lambda one: b"\1" + hex_of("bytes")(one)), 1000),
    Target("lm.key", key, (DecodeError, EncodeError), of_lm("parse_key", lambda one: str(one.args["text"])), 6000),
    Target("lm.server-key", server_key, (DecodeError,), of_lm("parse_key_as_server", lambda one: str(one.args["text"])), 6000),
    Target("lm.server-request", server_request, (DecodeError,), of_lm("decode_request", hex_of("bytes")), 400),
    Target(
        "lm.shape", shape, (WireError,), lambda: [bytes((0, 1, 2, 3)) + bytes(16), bytes((32, 4, 1, 4)) + b"\1\0\0\0" * 4], 64
    ),
    Target(
        "lm.layout",
        layout,
        (WireError,),
        lambda: [bytes((0, 6, 2, 2, 3, 2, 2, 3, 3, 2, 3, 4)), bytes((2, 5, 2, 3, 2, 2, 3, 2, 4))],
        64,
    ),
    Target("lm.chunks", chunks, (EncodeError,), _chunk_seeds),
    Target("lm.token-hashes", tokens_hashed, (), lambda: [b"\x0f" + bytes(range(256))]),
    Target(
        "lm.settings", settings, (EncodeError,), lambda: [b"\0\0000.11.0", b"\1\0003.12", b"\2\000random", b"\3\1" + b"12"], 6000
    ),
)
