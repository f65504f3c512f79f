"""How the reference client writes and reads what crosses the wire: one object for pure and for connected operations.

Whoever wants a client that differs in one such thing gives it another codec.
"""

from __future__ import annotations

from wire.keys import CacheKey, format_key, parse_key, parse_key_as_server
from wire.lm.frames import (
    Description,
    Reply,
    Request,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
)
from wire.lm.metadata import RemoteMetadata, decode_metadata, encode_metadata
from wire.lm.profile import LmProfile
from wire.lm.shapes import pad_shape, payload_size
from wire.release import Release


class Codec:
    """Headers, metadata and keys; every method raises what :mod:`wire` raises."""

    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        """A request header."""
        return encode_request(profile, request)

    def decode_request(self, profile: LmProfile, data: bytes) -> Request:
        """The members of a request header."""
        return decode_request(profile, data)

    def encode_reply(self, profile: LmProfile, reply: Reply) -> bytes:
        """A reply header."""
        return encode_reply(profile, reply)

    def decode_reply(self, profile: LmProfile, data: bytes) -> Reply:
        """The members of a reply header."""
        return decode_reply(profile, data)

    def encode_metadata(self, profile: LmProfile, metadata: RemoteMetadata) -> bytes:
        """A RemoteMetadata prefix."""
        return encode_metadata(profile, metadata)

    def decode_metadata(self, profile: LmProfile, data: bytes, groups: int) -> RemoteMetadata:
        """The members of a RemoteMetadata prefix."""
        return decode_metadata(profile, data, groups)

    def write_key(self, release: Release, key: CacheKey) -> str:
        """A key string."""
        return format_key(release, key)

    def read_key(self, release: Release, text: str) -> CacheKey:
        """The parts of a key string."""
        return parse_key(release, text)

    def read_key_of_request(self, release: Release, text: str) -> CacheKey:
        """The parts of the key of a request, as the real server reads them."""
        return parse_key_as_server(release, text)

    def size_of(self, about: Description) -> int:
        """Bytes that a payload of this format, dtype and shape amounts to."""
        return payload_size(about.format, about.dtype, about.shape)

    def four_dimensions(self, profile: LmProfile, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape as a header carries it."""
        return pad_shape(profile, shape)
