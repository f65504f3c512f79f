"""Request and reply headers of ``lm://``: little-endian int32 fields, then (requests only) a 150-byte key.

Source: ``ClientMetaMessage`` and ``ServerMetaMessage`` in ``lmcache.v1.protocol``; the struct there is native, and
every machine that runs lmcache is little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wire.errors import DecodeError, EncodeError
from wire.lm.enums import name_of, number_of
from wire.lm.formats import format_name, format_number
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile
from wire.lm.shapes import pad_shape, strip_shape


@dataclass(frozen=True)
class Description:
    """What a header says about a payload: byte length, memory format, element type, shape, location."""

    length: int
    format: str
    dtype: str | None
    shape: tuple[int, ...]
    location: str | None = None


NOTHING = Description(length=0, format="KV_2LTD", dtype="float16", shape=(0, 0, 0, 0))
"""What real clients and servers write where no payload is described (GET, EXIST, HEALTH, a miss)."""


@dataclass(frozen=True)
class Request:
    """A request header: a command for one key, and for PUT the description of the payload that follows."""

    command: str
    key: str
    about: Description = NOTHING


@dataclass(frozen=True)
class Reply:
    """A reply header: a code, and for a GET that hit the description of the payload that follows."""

    code: str
    about: Description = NOTHING


@dataclass(frozen=True)
class Field:
    """One named stretch of a frame, for explanations: byte offset, size, decoded value and its name if it has one."""

    offset: int
    size: int
    name: str
    value: int | str
    meaning: str = ""


def encode_request(profile: LmProfile, request: Request) -> bytes:
    """The request header: 182 bytes until 0.3.2, then 186.

    Raises:
        EncodeError: a value has no number, or the key is no UTF-8 or does not fit into 150 bytes of it.
    """
    try:
        key = request.key.encode()
    except UnicodeEncodeError as error:
        raise EncodeError(f"the key cannot be written in UTF-8: {error}") from None
    if len(key) > KEY_FIELD_SIZE:
        raise EncodeError(f"key of {len(key)} bytes does not fit into the field of {KEY_FIELD_SIZE}: {request.key!r}")
    values = {"command": number_of("command", request.command), **_numbers(profile, request.about)}
    return _pack(profile.header.request, values) + key.ljust(KEY_FIELD_SIZE)


def decode_request(profile: LmProfile, data: bytes) -> Request:
    """Read a request header; the inverse of :func:`encode_request` but for dtype 1, which reads as ``float16``.

    Raises:
        DecodeError: wrong size, a number outside its table, or a key that is not UTF-8.
    """
    values = _unpack(profile.header.request, data[:-KEY_FIELD_SIZE], len(data), profile.header.request_size)
    try:
        key = data[-KEY_FIELD_SIZE:].decode().strip()
    except UnicodeDecodeError as error:
        raise DecodeError(f"the key field is not UTF-8: {error}") from None
    command = name_of("command", values["command"])
    assert command is not None
    return Request(command, key, _description(profile, values))


def encode_reply(profile: LmProfile, reply: Reply) -> bytes:
    """The reply header: 32 bytes until 0.3.2, then 36.

    Raises:
        EncodeError: a value has no number on this wire.
    """
    values = {"code": number_of("code", reply.code), **_numbers(profile, reply.about)}
    return _pack(profile.header.reply, values)


def decode_reply(profile: LmProfile, data: bytes) -> Reply:
    """Read a reply header.

    Raises:
        DecodeError: wrong size, or a number outside its table.
    """
    values = _unpack(profile.header.reply, data, len(data), profile.header.reply_size)
    code = name_of("code", values["code"])
    assert code is not None
    return Reply(code, _description(profile, values))


def header_numbers(fields: Sequence[str], data: bytes) -> dict[str, int]:
    """The int32 fields of a header by name, without judging their values.

    Raises:
        DecodeError: fewer bytes than the fields take.
    """
    size = 4 * len(fields)
    if len(data) < size:
        raise DecodeError(f"a header of {len(data)} bytes, its integers alone take {size}")
    return dict(zip(fields, struct.unpack(f"<{len(fields)}i", data[:size]), strict=True))


def replace_field(fields: Sequence[str], data: bytes, name: str, value: int) -> bytes:
    """A header with one int32 field overwritten, whatever the value means.

    Raises:
        EncodeError: the header has no such field or ends before it, or the value is no int32.
    """
    if name not in fields:
        raise EncodeError(f"the header has no field {name!r}; it has {', '.join(fields)}")
    if len(data) < 4 * fields.index(name) + 4:
        raise EncodeError(f"a header of {len(data)} bytes ends before its field {name!r}")
    if not -(2**31) <= value < 2**31:
        raise EncodeError(f"{name} {value} does not fit into int32")
    patched = bytearray(data)
    struct.pack_into("<i", patched, 4 * fields.index(name), value)
    return bytes(patched)


def describe_request(profile: LmProfile, data: bytes) -> list[Field]:
    """Every field of a request header, tolerant of cut or senseless bytes."""
    fields = _describe(profile.header.request, data)
    start = 4 * len(profile.header.request)
    if len(data) > start:
        raw = data[start : start + KEY_FIELD_SIZE]
        fields.append(Field(start, len(raw), "key", raw.decode(errors="backslashreplace").rstrip(" ")))
    return fields


def describe_reply(profile: LmProfile, data: bytes) -> list[Field]:
    """Every field of a reply header, tolerant of cut or senseless bytes."""
    return _describe(profile.header.reply, data)


def without_location(about: Description) -> Description:
    """The same description as releases before 0.3.3 can carry it."""
    return replace(about, location=None)


def _numbers(profile: LmProfile, about: Description) -> dict[str, int]:
    values = {
        "length": about.length,
        "format": format_number(profile, about.format),
        "dtype": number_of("dtype", about.dtype),
    }
    for index, dim in enumerate(pad_shape(profile, about.shape)):
        values[f"shape{index}"] = dim
    if profile.has_location:
        values["location"] = number_of("location", about.location)
    elif about.location is not None:
        raise EncodeError(f"lmcache {profile.release} has no location field; got {about.location!r}")
    return values


def _pack(fields: Sequence[str], values: dict[str, int]) -> bytes:
    try:
        return struct.pack(f"<{len(fields)}i", *(values[field] for field in fields))
    except struct.error:
        bad = {field: values[field] for field in fields if not -(2**31) <= values[field] < 2**31}
        raise EncodeError(f"a value does not fit into int32: {bad}") from None


def _unpack(fields: Sequence[str], data: bytes, size: int, expected: int) -> dict[str, int]:
    if size != expected:
        raise DecodeError(f"a header of {size} bytes, expected {expected}")
    return header_numbers(fields, data)


def _description(profile: LmProfile, values: dict[str, int]) -> Description:
    name = format_name(profile, values["format"])
    dims = [values[f"shape{index}"] for index in range(4)]
    return Description(
        length=values["length"],
        format=name,
        dtype=name_of("dtype", values["dtype"]),
        shape=strip_shape(profile, dims, name),
        location=name_of("location", values["location"]) if profile.has_location else None,
    )


def _describe(names: Sequence[str], data: bytes) -> list[Field]:
    fields = []
    for index, name in enumerate(names):
        if len(data) < 4 * index + 4:
            break
        (value,) = struct.unpack_from("<i", data, 4 * index)
        fields.append(Field(4 * index, 4, name, value, _meaning(name, value)))
    return fields


def _meaning(field: str, number: int) -> str:
    if field == "length" or field.startswith("shape"):
        return ""
    try:
        return str(name_of(field, number)).lower() if field in {"command", "code"} else str(name_of(field, number))
    except DecodeError:
        return "outside the table"
