"""Questions about request and reply headers."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

from allpairspy import AllPairs

from fixturegen.inputs.identities import chunk_hash, key
from fixturegen.inputs.samples import sample, storable_formats
from wire.keys import CacheKey, format_key
from wire.lm.enums import CODES, COMMANDS, DTYPES, FORMATS, LOCATIONS
from wire.lm.frames import NOTHING, Description, Reply, Request, encode_reply, encode_request, replace_field
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

Asked = Iterator[tuple[str, str, dict[str, Any]]]

SHAPES: dict[str, tuple[int, ...]] = {
    "kv": (2, 32, 256, 1024),
    "zeros": (0, 0, 0, 0),
    "ones": (1, 1, 1, 1),
    "binary": (4096, 0, 0, 0),
    "inner-zero": (2, 0, 256, 0),
    "extremes": (2147483647, -1, -2147483648, 7),
    "rank3": (256, 2, 1024),
    "rank2": (256, 4096),
    "rank1": (4096,),
}
LENGTHS = {"empty": 0, "one": 1, "kv": 33554432, "largest": 2147483647, "negative": -1}
BAD_NUMBERS = {"minus-one": -1, "large": 2147483647}


def questions(release: Release) -> Asked:
    """Encoding of every value pair, decoding of legal, odd and illegal headers."""
    profile = lm_profile(release)
    yield from _sent(release, profile)
    yield from _encode_request(release, profile)
    yield from _encode_reply(profile)
    yield from _decode_request(release, profile)
    yield from _decode_reply(profile)


def _pairs(profile: LmProfile, first: Iterable[str]) -> Iterator[list[Any]]:
    """Rows (shape, format, dtype, first, length, location) in which every pair of legal values of two columns occurs."""
    columns = [
        [name for name, shape in SHAPES.items() if len(shape) == 4 or profile.short_shapes],
        [name for name, number in FORMATS.items() if number <= profile.highest_format],
        list(DTYPES),
        list(first),
        list(LENGTHS),
        list(LOCATIONS) if profile.has_location else [None],
    ]
    yield from AllPairs(columns)


def _slug(*parts: object) -> str:
    return "-".join("none" if part is None else str(part).replace("_", "-").lower() for part in parts)


def _about(length: str, format_name: str, dtype: str | None, shape: str, location: str | None) -> dict[str, Any]:
    return {
        "length": LENGTHS[length],
        "format": format_name,
        "dtype": dtype,
        "shape": list(SHAPES[shape]),
        "location": location,
    }


def _sent(release: Release, profile: LmProfile) -> Asked:
    """Headers as clients send them: descriptions that agree with a payload, and requests that describe nothing."""
    descriptions = [sample(profile, format_name) for format_name in storable_formats(profile)]
    descriptions += [sample(profile, dtype=dtype) for dtype in DTYPES if dtype not in {None, "float16"}]
    if profile.has_location:
        descriptions += [replace(sample(profile), location=location) for location in LOCATIONS if location is not None]
    for about in descriptions:
        args = {"command": "PUT", "key": key(release), **asdict(about), "shape": list(about.shape)}
        place = () if about.location is None else (about.location,)
        yield f"lm.request.sent.put-{_slug(about.format, about.dtype, *place)}", "encode_request", args
    for command in ("GET", "EXIST", "HEALTH"):
        args = {"command": command, "key": key(release), **asdict(NOTHING), "shape": list(NOTHING.shape)}
        yield f"lm.request.sent.{command.lower()}", "encode_request", args


def _encode_request(release: Release, profile: LmProfile) -> Asked:
    for shape, format_name, dtype, command, length, location in _pairs(profile, COMMANDS):
        about = _about(length, format_name, dtype, shape, location)
        name = _slug(command, format_name, dtype, shape, length, location)
        yield f"lm.request.encode.{name}", "encode_request", {"command": command, "key": key(release), **about}
    plain = _about("empty", "KV_2LTD", "float16", "zeros", None)
    for name, changed in _field_keys(release).items():
        yield f"lm.request.encode.key-{name}", "encode_request", {"command": "GET", "key": changed, **plain}
    for name, values in _refusals(profile).items():
        args = {"command": "PUT", "key": key(release), **plain, **values}
        yield f"lm.request.encode.refused-{name}", "encode_request", args


def _refusals(profile: LmProfile) -> dict[str, dict[str, Any]]:
    """Values that a header of the release cannot carry."""
    found: dict[str, dict[str, Any]] = {
        "length-too-large": {"length": 2**31},
    }
    for name, number in FORMATS.items():
        if number > profile.highest_format:
            found[f"format-{_slug(name)}"] = {"format": name}
    if not profile.short_shapes:
        found |= {name: {"shape": list(shape)} for name, shape in SHAPES.items() if len(shape) != 4}
    return found


def _field_keys(release: Release) -> dict[str, dict[str, Any]]:
    """Keys at the edges of the 150-byte field."""
    base = len(format_key(release, _as_cache_key(key(release, model=""))))
    return {
        "full": key(release, model="m" * (150 - base)),
        "too-long": key(release, model="m" * (151 - base)),
        "one-short": key(release, model="m" * (149 - base)),
        "empty-model": key(release, model=""),
        "unicode": key(release, model="模型/é"),
        "unicode-full": key(release, model="é" * ((150 - base) // 2)),
        "spaces-inside": key(release, model="a model"),
        "negative-hash": key(release, chunk_hash=chunk_hash(release, -6699)),
    }


def _as_cache_key(value: dict[str, Any]) -> CacheKey:
    digest = value["chunk_hash"]
    parsed: int | str = digest["text"] if "text" in digest else int(digest["int"])
    return CacheKey(value["model"], value["world_size"], value["worker_id"], parsed, value["dtype"], value["fmt"])


def _encode_reply(profile: LmProfile) -> Asked:
    for shape, format_name, dtype, code, length, location in _pairs(profile, CODES):
        about = _about(length, format_name, dtype, shape, location)
        name = _slug(code, format_name, dtype, shape, length, location)
        yield f"lm.reply.encode.{name}", "encode_reply", {"code": code, **about}
    plain = _about("empty", "KV_2LTD", "float16", "zeros", None)
    for name, values in _refusals(profile).items():
        yield f"lm.reply.encode.refused-{name}", "encode_reply", {"code": "SUCCESS", **plain, **values}


def _legal(profile: LmProfile, encode: Any, first: dict[str, int], kind: str) -> Asked:
    """Legal headers, one per pair of values, as our own codec writes them: the real decoder says what they mean."""
    for shape, format_name, dtype, head, length, location in _pairs(profile, first):
        data = encode(profile, head, Description(LENGTHS[length], format_name, dtype, SHAPES[shape], location))
        name = _slug(head, format_name, dtype, shape, length, location)
        yield f"lm.{kind}.decode.{name}", f"decode_{kind}", {"bytes": {"hex": data.hex()}}


def _decode_request(release: Release, profile: LmProfile) -> Asked:
    text = format_key(release, _as_cache_key(key(release)))

    def encode(profile: LmProfile, command: str, about: Description) -> bytes:
        return encode_request(profile, Request(command, text, about))

    yield from _legal(profile, encode, dict(COMMANDS), "request")
    good = encode_request(profile, Request("PUT", text, Description(16, "KV_2LTD", "float16", (2, 1, 1, 4))))
    yield from _odd(profile, good, profile.header.request, "command", "request")
    field = 4 * len(profile.header.request)
    for name, raw in {
        "not-utf8": b"\xff\xfe" + text.encode(),
        "nul-padded": text.encode() + b"\0" * (150 - len(text)),
        "blank": b"",
        "no-separators": b"key",
        "leading-space": b" " + text.encode(),
        "trailing-newline": text.encode() + b"\n",
    }.items():
        data = good[:field] + raw.ljust(150)
        yield f"lm.request.decode.key-{name}", "decode_request", {"bytes": {"hex": data.hex()}}


def _decode_reply(profile: LmProfile) -> Asked:
    def encode(profile: LmProfile, code: str, about: Description) -> bytes:
        return encode_reply(profile, Reply(code, about))

    yield from _legal(profile, encode, dict(CODES), "reply")
    good = encode_reply(profile, Reply("SUCCESS", Description(16, "KV_2LTD", "float16", (2, 1, 1, 4))))
    yield from _odd(profile, good, profile.header.reply, "code", "reply")


def _odd(profile: LmProfile, good: bytes, fields: tuple[str, ...], first: str, kind: str) -> Asked:
    """Numbers that are legal to read only, outside their table, or the wrong size of header."""
    numbers = {
        "dtype": {"half": 1, "nine": 9, **BAD_NUMBERS},
        "format": {"above-highest": profile.highest_format + 1, **BAD_NUMBERS},
        "location": {"three": 3, **BAD_NUMBERS},
    }
    if profile.strict_enums:
        numbers[first] = {"zero": 0, "unknown": 6 if first == "command" else 201, **BAD_NUMBERS}
    for field, values in numbers.items():
        if field not in fields:
            continue
        for name, value in values.items():
            data = replace_field(fields, good, field, value)
            yield f"lm.{kind}.decode.{field}-{name}", f"decode_{kind}", {"bytes": {"hex": data.hex()}}
    big_endian = struct.pack(f">{len(fields)}i", *struct.unpack(f"<{len(fields)}i", good[: 4 * len(fields)]))
    for name, data in {
        "big-endian": big_endian + good[4 * len(fields) :],
        "cut": good[:-1],
        "one-more": good + b" ",
        "empty": b"",
    }.items():
        yield f"lm.{kind}.decode.{name}", f"decode_{kind}", {"bytes": {"hex": data.hex()}}
