"""Defects of clients that are too kind: they write what a release has no words for, and read what no release would read."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.mutants.mutant import mutant
from harness.mutants.rewriting import metadata_fields
from harness.reference.codec import Codec
from harness.reference.lm import LmConnection, ReferenceClient
from harness.reference.values import key_from_json, release_of, wire_errors
from wire.errors import DecodeError, EncodeError
from wire.keys import KEY_GRAMMARS, CacheKey
from wire.lm.enums import FORMATS, number_of
from wire.lm.frames import Description, Reply, Request, header_numbers
from wire.lm.metadata import RemoteMetadata
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile
from wire.release import KNOWN_RELEASES, Release

NEWEST = Release.parse(KNOWN_RELEASES[-1])
DEFAULTS: Mapping[str, int] = {"command": 1, "code": 200, "format": 1, "dtype": 2, "location": 0}
HIGHEST = {"command": 5, "dtype": 8, "location": 2}
WRITTEN = ("lm.request.encode-refused", "lm.reply.encode-refused", "lm.metadata.encode-refused")
READ = ("lm.request.decode-refused", "lm.reply.decode-refused", "lm.metadata.decode-refused")


def _int32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _made_legal(profile: LmProfile, fields: Sequence[str], data: bytes) -> bytes:
    """A header of the right size in which every number stands for something."""
    size = 4 * len(fields)
    numbers = list(struct.unpack(f"<{len(fields)}i", data[:size].ljust(size, b"\0")))
    for place, (name, value) in enumerate(zip(fields, numbers, strict=True)):
        highest = profile.highest_format if name == "format" else HIGHEST.get(name)
        wrong = value not in {200, 400} if name == "code" else highest is not None and not 0 <= value <= highest
        if wrong or (name == "command" and value == 0):
            numbers[place] = DEFAULTS[name]
    return struct.pack(f"<{len(fields)}i", *numbers)


class _ReadsAnything(Codec):
    """Every number that it does not know is the default branch of a switch."""

    def decode_request(self, profile: LmProfile, data: bytes) -> Request:
        fields = profile.header.request
        key = data[4 * len(fields) :].decode(errors="replace").encode()[:KEY_FIELD_SIZE].decode(errors="ignore").encode()
        return super().decode_request(profile, _made_legal(profile, fields, data) + key.ljust(KEY_FIELD_SIZE))

    def decode_reply(self, profile: LmProfile, data: bytes) -> Reply:
        return super().decode_reply(profile, _made_legal(profile, profile.header.reply, data))

    def decode_metadata(self, profile: LmProfile, data: bytes, groups: int) -> RemoteMetadata:
        many = groups if profile.metadata_groups else 1
        return super().decode_metadata(profile, _made_legal(profile, metadata_fields(many), data), many)

    def read_key_of_request(self, release: Release, text: str) -> CacheKey:
        return self.read_key(release, text)

    def read_key(self, release: Release, text: str) -> CacheKey:
        """What atoi and a lookup with a default make of each part."""
        grammar = KEY_GRAMMARS[release]
        parts = [*text.strip().split("@"), *[""] * 6][grammar.prefix :]
        digits = re.match(r"-?[0-9a-fA-F]+", parts[3])
        number = int(digits[0], 16) if digits else 0
        return CacheKey(
            model=parts[0],
            world_size=_atoi(parts[1]),
            worker_id=_atoi(parts[2]),
            chunk_hash=parts[3] if grammar.hash_style == "text" else number,
            dtype=grammar.dtype_of_name.get(parts[4], "float16") if grammar.dtype_names is not None else None,
            fmt=text.split("@", maxsplit=1)[0] if grammar.prefix else None,
        )


def _atoi(text: str) -> int:
    found = re.match(r"[0-9]+", text)
    return int(found[0]) if found else 0


@mutant(
    "reads-anything",
    stands_for="static_cast of an integer to an enum, atoi, and a switch with a default: nothing is ever illegal.",
    found_by=(*READ, "keys.parse.parse-refused", "lm.identity.reply-disagrees", "lm.broken.code-is-not-success"),
)
class ReadsAnything(ReferenceClient):
    """Reads every header and every key, whatever it says."""

    codec = _ReadsAnything()


class _WritesAnything(Codec):
    """Makes everything fit."""

    def encode_request(self, profile: LmProfile, request: Request) -> bytes:
        key = request.key.encode()[:KEY_FIELD_SIZE].decode(errors="ignore")
        return self._header(
            profile.header.request, "command", request.command, self._fitting(request.about)
        ) + key.encode().ljust(KEY_FIELD_SIZE)

    def encode_reply(self, profile: LmProfile, reply: Reply) -> bytes:
        return self._header(profile.header.reply, "code", reply.code, self._fitting(reply.about))

    def encode_metadata(self, profile: LmProfile, metadata: RemoteMetadata) -> bytes:
        newest = replace(profile, highest_format=max(FORMATS.values()), short_shapes=True, metadata_groups=True)
        return super().encode_metadata(newest, replace(metadata, length=_int32(metadata.length)))

    def write_key(self, release: Release, key: CacheKey) -> str:
        """As str() writes what is missing."""
        grammar = KEY_GRAMMARS[release]
        value = key.chunk_hash
        digits = value.hex() if isinstance(value, bytes) else f"{value:x}" if isinstance(value, int) else value
        parts = [key.model, str(key.world_size), str(key.worker_id), digits]
        if grammar.prefix:
            parts.insert(0, str(key.fmt))
        if grammar.dtype_names is not None:
            parts.append(grammar.dtype_names.get(key.dtype or "", str(key.dtype)))
        if key.layer is not None:
            parts.append(str(key.layer))
        return "@".join([*parts, *(f"{name}%{text}" for name, text in key.tags)])

    @staticmethod
    def _fitting(about: Description) -> Description:
        shape = (*about.shape, 0, 0, 0, 0)[:4]
        return replace(about, length=_int32(about.length), shape=tuple(map(_int32, shape)))

    @staticmethod
    def _header(fields: Sequence[str], first: str, name: str, about: Description) -> bytes:
        numbers = {
            first: number_of(first, name),
            "length": about.length,
            "format": FORMATS[about.format],
            "dtype": number_of("dtype", about.dtype),
            "location": number_of("location", about.location),
            **{f"shape{place}": dim for place, dim in enumerate(about.shape)},
        }
        return struct.pack(f"<{len(fields)}i", *(numbers[field] for field in fields))


@mutant(
    "writes-anything",
    stands_for="memcpy, casts and format strings: whatever does not fit is cut, wrapped or written as None.",
    found_by=(*WRITTEN, "keys.format.unreadable", "keys.format.format-refused", "keys.deployments.refused"),
)
class WritesAnything(ReferenceClient):
    """Writes every header and every key, whatever the release has words for."""

    codec = _WritesAnything()

    def format_key(self, *, release: str, key: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Without a look at separators."""
        with wire_errors():
            return {"text": self.codec.write_key(release_of(release), key_from_json(key))}


class _Unguarded(Codec):
    """Errors of the codec leave it as errors that nobody expects."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith(("encode_", "decode_", "read_", "write_")):
            return found

        @functools.wraps(found)
        def call(*args: Any, **members: Any) -> Any:
            try:
                return found(*args, **members)
            except (DecodeError, EncodeError) as error:
                raise struct.error(str(error)) from None

        return call


@mutant(
    "errors-escape",
    stands_for="A KeyError, a struct.error or an abort where the caller expects to be told that its value does not fit.",
    found_by=("lm.properties.any-bytes", *READ, *WRITTEN, "keys.parse.parse-refused", "keys.format.format-refused"),
)
class ErrorsEscape(ReferenceClient):
    """Fails with an exception of its own where it should refuse."""

    codec = _Unguarded()


class _TrustingConnection(LmConnection):
    def reply(self) -> Reply:
        header = self.receive(self.profile.header.reply_size)
        numbers = header_numbers(self.profile.header.reply, header)
        with wire_errors():
            legal = self.codec.decode_reply(self.profile, _made_legal(self.profile, self.profile.header.reply, header))
        return replace(legal, code="SUCCESS" if numbers["code"] != 400 else "FAIL")


@mutant(
    "code-is-success-unless-it-fails",
    stands_for="if (code == 400) miss; else hit: every other number, of which there are four billion, is then a hit.",
    found_by=("lm.broken.code-is-not-success", "lm.broken.unknown-code-is-an-error", "lm.broken.health-code-is-not-success"),
)
class SuccessUnlessItFails(ReferenceClient):
    """Takes every code but 400 for success."""

    connection_class = _TrustingConnection


class _SuccessConnection(LmConnection):
    def reply(self) -> Reply:
        header = self.receive(self.profile.header.reply_size)
        with wire_errors():
            legal = self.codec.decode_reply(self.profile, _made_legal(self.profile, self.profile.header.reply, header))
        return replace(legal, code="SUCCESS")


@mutant(
    "code-never-looked-at",
    stands_for="A reply that was only ever tried where it is a hit.",
    found_by=("lm.broken.code-is-not-success", "lm.roundtrip.miss", "lm.roundtrip.exist"),
)
class CodeIgnored(ReferenceClient):
    """Takes every reply for success."""

    connection_class = _SuccessConnection


class _MissConnection(LmConnection):
    def reply(self) -> Reply:
        header = self.receive(self.profile.header.reply_size)
        numbers = header_numbers(self.profile.header.reply, header)
        with wire_errors():
            legal = self.codec.decode_reply(self.profile, _made_legal(self.profile, self.profile.header.reply, header))
        if numbers["code"] == 200:
            return legal
        return Reply("FAIL", replace(legal.about, length=0))


@mutant(
    "code-is-a-miss-unless-it-succeeds",
    stands_for="if (code == 200) hit; else miss: a server that speaks another protocol looks like an empty cache for ever.",
    releases="0.3.6 and later",
    found_by=("lm.broken.unknown-code-is-an-error",),
)
class MissUnlessItSucceeds(ReferenceClient):
    """Takes every code but 200 for a miss."""

    connection_class = _MissConnection
