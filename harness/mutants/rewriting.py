"""Codecs that do what lmcache does, and then something else: the material of which many mutants are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.reference.codec import Codec
from wire.keys import KEY_GRAMMARS, CacheKey
from wire.lm.frames import Description, Reply, Request
from wire.lm.metadata import RemoteMetadata
from wire.lm.profile import LmProfile
from wire.release import Release


class OtherKey(Codec):
    """Writes another key than it is given."""

    def __init__(self, change: Callable[[CacheKey], CacheKey]) -> None:
        self._change = change

    def write_key(self, release: Release, key: CacheKey) -> str:
        """The text of the changed key."""
        return super().write_key(release, self._change(key))


@dataclass(frozen=True)
class Written:
    """A key as lmcache writes it: its parts, and where among them the hash stands."""

    release: Release
    key: CacheKey
    parts: list[str]
    place: int

    @property
    def layer_place(self) -> int:
        """Where the layer stands if there is one."""
        return self.place + 1 + (KEY_GRAMMARS[self.release].dtype_names is not None)

    def with_hash(self, text: str) -> list[str]:
        """The parts with another text for the hash."""
        return [*self.parts[: self.place], text, *self.parts[self.place + 1 :]]


class OtherText(Codec):
    """Writes a key in another way."""

    def __init__(self, change: Callable[[Written], list[str]]) -> None:
        self._change = change

    def write_key(self, release: Release, key: CacheKey) -> str:
        """The changed parts, joined."""
        text = super().write_key(release, key)
        return "@".join(self._change(Written(release, key, text.split("@"), KEY_GRAMMARS[release].prefix + 3)))


class Misreading(Codec):
    """Reads a key as lmcache does, and takes it for another."""

    def __init__(self, change: Callable[[Release, str, CacheKey], CacheKey]) -> None:
        self._change = change

    def read_key(self, release: Release, text: str) -> CacheKey:
        """The changed key."""
        return self._change(release, text, super().read_key(release, text))

    def read_key_of_request(self, release: Release, text: str) -> CacheKey:
        """The changed key."""
        return self._change(release, text, super().read_key_of_request(release, text))


class OtherBytes(Codec):
    """Changes the bytes of every header and metadata that it writes, and undoes the same in those that it reads.

    Both functions take the names of the integer fields and the bytes; metadata has names too.
    """

    def __init__(
        self,
        write: Callable[[tuple[str, ...], bytes], bytes] = lambda _, data: data,
        read: Callable[[tuple[str, ...], bytes], bytes] = lambda _, data: data,
    ) -> None:
        self._write = write
        self._read = read

    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        """Changed bytes."""
        return self._write(profile.header.request, super().encode_request(profile, request))

    def decode_request(self, profile: LmProfile, data: bytes) -> Request:
        """What the changed bytes say."""
        return super().decode_request(profile, self._read(profile.header.request, data))

    def encode_reply(self, profile: LmProfile, reply: Reply) -> bytes:
        """Changed bytes."""
        return self._write(profile.header.reply, super().encode_reply(profile, reply))

    def decode_reply(self, profile: LmProfile, data: bytes) -> Reply:
        """What the changed bytes say."""
        return super().decode_reply(profile, self._read(profile.header.reply, data))

    def encode_metadata(self, profile: LmProfile, metadata: RemoteMetadata) -> bytes:
        """Changed bytes."""
        return self._write(metadata_fields(len(metadata.groups)), super().encode_metadata(profile, metadata))

    def decode_metadata(self, profile: LmProfile, data: bytes, groups: int) -> RemoteMetadata:
        """What the changed bytes say."""
        return super().decode_metadata(profile, self._read(metadata_fields(groups), data), groups)


class OtherDescription(Codec):
    """Writes another description of a payload than it is given, or takes the one that it reads for another."""

    def __init__(
        self,
        write: Callable[[LmProfile, Description], Description] = lambda _, about: about,
        read: Callable[[LmProfile, Description], Description] = lambda _, about: about,
    ) -> None:
        self._write = write
        self._read = read

    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        """The bytes of the changed description."""
        return super().encode_request(profile, Request(request.command, request.key, self._write(profile, request.about)))

    def decode_request(self, profile: LmProfile, data: bytes) -> Request:
        """The changed description."""
        found = super().decode_request(profile, data)
        return Request(found.command, found.key, self._read(profile, found.about))

    def encode_reply(self, profile: LmProfile, reply: Reply) -> bytes:
        """The bytes of the changed description."""
        return super().encode_reply(profile, Reply(reply.code, self._write(profile, reply.about)))

    def decode_reply(self, profile: LmProfile, data: bytes) -> Reply:
        """The changed description."""
        found = super().decode_reply(profile, data)
        return Reply(found.code, self._read(profile, found.about))


def metadata_fields(groups: int) -> tuple[str, ...]:
    """Names for the integers of metadata."""
    of_group = ("dtype", "shape0", "shape1", "shape2", "shape3")
    return ("length", "format", *(name for _ in range(groups) for name in of_group))
