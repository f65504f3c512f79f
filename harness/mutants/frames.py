"""Defects in headers and metadata: sizes, order and endianness of fields, the numbers in them, and the field of the key."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.mutants.mutant import mutant
from harness.mutants.rewriting import OtherBytes, OtherDescription
from harness.reference.codec import Codec
from harness.reference.lm import LmConnection, ReferenceClient
from wire.errors import DecodeError, EncodeError
from wire.lm.frames import Description, Reply, Request, header_numbers, without_location
from wire.lm.metadata import RemoteMetadata
from wire.lm.profile import HEADER_LAYOUTS, KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release

HEADERS = ("lm.request.encode", "lm.request.decode", "lm.reply.encode", "lm.reply.decode")
METADATA = ("lm.metadata.encode", "lm.metadata.decode")


def _swapped(fields: Sequence[str], data: bytes) -> bytes:
    count = min(len(fields), len(data) // 4)
    return struct.pack(f">{count}i", *struct.unpack(f"<{count}i", data[: 4 * count])) + data[4 * count :]


@mutant(
    "frame-big-endian",
    stands_for="Network byte order, as every textbook on sockets has it; lmcache packs native integers.",
    found_by=(*HEADERS, *METADATA, "lm.reply.decode-refused"),
)
class BigEndian(ReferenceClient):
    """Writes and reads integers with the most significant byte first."""

    codec = OtherBytes(_swapped, _swapped)


def _moved(fields: Sequence[str], data: bytes, name: str, place: int) -> bytes:
    """The integers of a header with one field elsewhere."""
    if name not in fields or len(data) < 4 * len(fields):
        return data
    order = [field for field in fields if field != name]
    order.insert(place, name)
    numbers = header_numbers(fields, data)
    return struct.pack(f"<{len(order)}i", *(numbers[field] for field in order)) + data[4 * len(fields) :]


def _location_last(fields: tuple[str, ...], data: bytes) -> bytes:
    return _moved(fields, data, "location", len(fields) - 1) if "command" in fields else data


def _location_first(fields: tuple[str, ...], data: bytes) -> bytes:
    """What a reader takes for the fields of a reply if it looks for the location where a request has it."""
    if "code" not in fields or "location" not in fields or len(data) < 4 * len(fields):
        return data
    middle = [*fields[:4], "location", *fields[4:-1]]
    numbers = dict(zip(middle, header_numbers(fields, data).values(), strict=True))
    return struct.pack(f"<{len(fields)}i", *(numbers[field] for field in fields)) + data[4 * len(fields) :]


@mutant(
    "frame-location-at-the-end",
    stands_for="One struct for both headers: the location stands in the middle of a request and at the end of a reply.",
    releases="0.3.3 and later",
    found_by=("lm.request.encode", "lm.request.put-on-the-wire"),
)
class LocationAtTheEnd(ReferenceClient):
    """Writes the location of a request behind the shape."""

    codec = OtherBytes(_location_last)


@mutant(
    "frame-location-in-the-middle",
    stands_for="The same, the other way round.",
    releases="0.3.3 and later",
    found_by=("lm.reply.decode",),
)
class LocationInTheMiddle(ReferenceClient):
    """Looks for the location of a reply where a request has it."""

    codec = OtherBytes(read=_location_first)


class _OtherLayout(Codec):
    """The headers of another release."""

    def __init__(self, release: str) -> None:
        self._header = HEADER_LAYOUTS[Release.parse(release)]

    def profile(self, profile: LmProfile) -> LmProfile:
        """The profile with the headers of the other release."""
        return replace(profile, header=self._header)

    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        """The other header."""
        return super().encode_request(self.profile(profile), replace(request, about=without_location(request.about)))

    def decode_request(self, profile: LmProfile, data: bytes) -> Request:
        """The other header."""
        return super().decode_request(self.profile(profile), data)

    def encode_reply(self, profile: LmProfile, reply: Reply) -> bytes:
        """The other header."""
        return super().encode_reply(self.profile(profile), replace(reply, about=without_location(reply.about)))

    def decode_reply(self, profile: LmProfile, data: bytes) -> Reply:
        """The other header."""
        return super().decode_reply(self.profile(profile), data)


class _OldConnection(LmConnection):
    def __init__(self, host: str, port: int, timeout: float, release: Release, codec: Codec) -> None:
        super().__init__(host, port, timeout, release, codec)
        assert isinstance(codec, _OtherLayout)
        self.profile = codec.profile(lm_profile(release))


@mutant(
    "frame-without-location",
    stands_for="A client of 0.3.2, whose requests have 182 bytes and whose replies 32: 0.3.3 made them 186 and 36.",
    releases="0.3.3 and later",
    found_by=(*HEADERS, "lm.roundtrip.miss", "lm.properties.request-round-trip", "lm.properties.reply-round-trip"),
)
class WithoutLocation(ReferenceClient):
    """Speaks the headers of 0.3.2."""

    codec = _OtherLayout("0.3.2")
    connection_class = _OldConnection


@mutant(
    "frame-with-location",
    stands_for="A client of 0.3.3 or later that talks to an older server: four bytes of each request become the next one.",
    releases="up to 0.3.2",
    found_by=(*HEADERS, "lm.properties.request-round-trip", "lm.properties.reply-round-trip"),
)
class WithLocation(ReferenceClient):
    """Speaks the headers of 0.3.3."""

    codec = _OtherLayout("0.3.3")
    connection_class = _OldConnection


class _Padded(Codec):
    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        return super().encode_request(profile, request) + bytes(2)

    def decode_request(self, profile: LmProfile, data: bytes) -> Request:
        if len(data) % 4:
            raise DecodeError(f"a request of {len(data)} bytes is no struct")
        return super().decode_request(profile, data)


@mutant(
    "frame-struct-padding",
    stands_for="sizeof of a C struct that ends in char[150]: the compiler rounds it up to a multiple of four.",
    found_by=("lm.request.encode", "lm.request.decode", "lm.roundtrip.exist", "lm.connection.interleaved-connections"),
)
class Padded(ReferenceClient):
    """Sends two bytes of padding behind each request."""

    codec = _Padded()


def _nul_padded(fields: tuple[str, ...], data: bytes) -> bytes:
    if "command" not in fields:
        return data
    key = data[-KEY_FIELD_SIZE:].rstrip(b" ")
    return data[:-KEY_FIELD_SIZE] + key.ljust(KEY_FIELD_SIZE, b"\0")


@mutant(
    "frame-key-padded-with-nul",
    stands_for="memset and strncpy, or struct.pack with a field of 150s: lmcache pads with spaces, and strips nothing else.",
    found_by=("lm.request.encode", "lm.request.exist-on-the-wire"),
)
class NulPadded(ReferenceClient):
    """Pads the key field with NULs."""

    codec = OtherBytes(_nul_padded)


class _CountsCharacters(Codec):
    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        if len(request.key) > KEY_FIELD_SIZE:
            raise EncodeError(f"a key of {len(request.key)} characters")
        plain = super().encode_request(profile, replace(request, key=""))
        return plain[:-KEY_FIELD_SIZE] + request.key.ljust(KEY_FIELD_SIZE).encode()


@mutant(
    "frame-key-counted-in-characters",
    stands_for="What the client of lmcache does up to 0.5.6: it measures and pads a str where the field has 150 bytes.",
    found_by=("lm.request.encode", "lm.request.long-key-is-not-sent"),
)
class CountsCharacters(ReferenceClient):
    """Counts the characters of a key instead of its bytes."""

    codec = _CountsCharacters()


def _numbered(field: str, table: Mapping[int, int]) -> OtherBytes:
    """Other numbers for some values of a field, written and read."""
    back = {other: number for number, other in table.items()}

    def change(fields: tuple[str, ...], data: bytes, numbers: Mapping[int, int]) -> bytes:
        for place, name in enumerate(fields):
            if name == field and len(data) >= 4 * place + 4:
                (value,) = struct.unpack_from("<i", data, 4 * place)
                data = data[: 4 * place] + struct.pack("<i", numbers.get(value, value)) + data[4 * place + 4 :]
        return data

    return OtherBytes(lambda fields, data: change(fields, data, table), lambda fields, data: change(fields, data, back))


@mutant(
    "frame-dtype-half",
    stands_for="lmcache's table has half as 1 and float16 as 2; in torch they are one type, so that no real encoder writes 1.",
    found_by=("lm.request.encode", "lm.reply.encode", "lm.request.put-on-the-wire", "lm.metadata.encode"),
)
class WritesHalf(ReferenceClient):
    """Writes 1 for float16."""

    codec = _numbered("dtype", {2: 1})


@mutant(
    "frame-dtypes-without-half",
    stands_for="A table of dtypes that was counted anew, without the name that stands for the same type twice.",
    found_by=(*HEADERS, *METADATA, "lm.roundtrip.dtypes", "lm.request.put-on-the-wire"),
)
class DtypesWithoutHalf(ReferenceClient):
    """Numbers the dtypes from 1 without half."""

    codec = _numbered("dtype", {number: number - 1 for number in range(2, 9)})


@mutant(
    "frame-formats-from-zero",
    stands_for="An enum without UNDEFINED, which lmcache's begins with.",
    found_by=(*HEADERS, *METADATA, "lm.request.put-on-the-wire"),
)
class FormatsFromZero(ReferenceClient):
    """Numbers the memory formats from 0."""

    codec = _numbered("format", {number: number - 1 for number in range(1, 9)})


@mutant(
    "frame-list-and-health-swapped",
    stands_for="Commands numbered from memory: LIST, which no server answers, stands before HEALTH.",
    found_by=("lm.request.encode", "lm.request.decode"),
)
class ListAndHealthSwapped(ReferenceClient):
    """Swaps the numbers of LIST and HEALTH."""

    codec = _numbered("command", {4: 5, 5: 4})


@mutant(
    "frame-locations-swapped",
    stands_for="Two backends in another order; every server forgets the location, so that nothing else shows it.",
    releases="0.3.3 and later",
    found_by=("lm.request.encode", "lm.request.decode", "lm.reply.encode", "lm.request.put-on-the-wire"),
)
class LocationsSwapped(ReferenceClient):
    """Swaps the numbers of the two locations."""

    codec = _numbered("location", {1: 2, 2: 1})


@mutant(
    "frame-code-404",
    stands_for="The number that HTTP has for a miss; lmcache's is 400.",
    found_by=("lm.reply.encode",),
)
class NotFound(ReferenceClient):
    """Writes and reads 404 where lmcache has 400."""

    codec = _numbered("code", {400: 404})


def _unsigned(_: LmProfile, about: Description) -> Description:
    return replace(about, length=about.length & 0xFFFFFFFF, shape=tuple(dim & 0xFFFFFFFF for dim in about.shape))


@mutant(
    "frame-reads-unsigned",
    stands_for="uint32_t for sizes, which are never negative; on lmcache's wire they can be, and a cut PUT is not the only way.",
    found_by=("lm.request.decode", "lm.reply.decode", "lm.properties.reply-round-trip"),
)
class ReadsUnsigned(ReferenceClient):
    """Reads lengths and shapes as unsigned numbers."""

    codec = OtherDescription(read=_unsigned)


class _MetadataWithLocation(Codec):
    def encode_metadata(self, profile: LmProfile, metadata: RemoteMetadata) -> bytes:
        return super().encode_metadata(profile, metadata) + bytes(4)

    def decode_metadata(self, profile: LmProfile, data: bytes, groups: int) -> RemoteMetadata:
        return super().decode_metadata(profile, data[:8] + data[12:], groups)


@mutant(
    "metadata-with-location",
    stands_for="The struct of the lm:// headers, used for the prefix of other backends as well.",
    found_by=METADATA,
)
class MetadataWithLocation(ReferenceClient):
    """Writes and reads a location in metadata."""

    codec = _MetadataWithLocation()


class _FirstGroup(Codec):
    def encode_metadata(self, profile: LmProfile, metadata: RemoteMetadata) -> bytes:
        return super().encode_metadata(profile, replace(metadata, groups=metadata.groups[:1]))

    def decode_metadata(self, profile: LmProfile, data: bytes, groups: int) -> RemoteMetadata:
        return super().decode_metadata(profile, data, min(groups, 1))


@mutant(
    "metadata-of-one-group",
    stands_for="A client of 0.3.11 or older: 0.3.12 made metadata carry several tensors.",
    releases="0.3.12 and later",
    found_by=METADATA,
)
class FirstGroup(ReferenceClient):
    """Writes and reads the first tensor of metadata alone."""

    codec = _FirstGroup()


@mutant(
    "put-drops-the-location",
    stands_for="A parameter that no server uses, and that was therefore left out.",
    releases="0.3.3 and later",
    found_by=("lm.request.put-on-the-wire",),
)
class DropsTheLocation(ReferenceClient):
    """Sends no location with a PUT."""

    def put(self, *, location: str | None, **members: Any) -> dict[str, Any]:
        """Without location."""
        del location
        return super().put(location=None, **members)
