"""Releases that are alike on the ``lm://`` wire, and what a server of each would do with what a client sends."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.tap.guess import RELEASES
from mockserver.lm.requests import ServerRequest, read_request
from wire.errors import DecodeError
from wire.keys import KEY_GRAMMARS
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

_ANSWERED: Final = frozenset({"GET", "EXIST", "HEALTH"})
_REMEMBERED: Final = 8192


@dataclass(frozen=True, eq=False)  # each is there once, and is looked up for every request
class Generation:
    """Releases whose servers take the same requests."""

    releases: tuple[Release, ...]

    @functools.cached_property
    def members(self) -> frozenset[Release]:
        """Its releases, to be looked for."""
        return frozenset(self.releases)

    @functools.cached_property
    def profile(self) -> LmProfile:
        """That of its newest release."""
        return lm_profile(self.releases[-1])


def _generations() -> Iterator[Generation]:
    run: list[Release] = []
    for release in RELEASES:
        if run and _alike(release) != _alike(run[-1]):
            yield Generation(tuple(run))
            run = []
        run.append(release)
    yield Generation(tuple(run))


def _alike(release: Release) -> tuple[object, ...]:
    profile = lm_profile(release)
    grammar = KEY_GRAMMARS[release]
    names = tuple(sorted((grammar.dtype_names or {}).items()))
    parts = (grammar.prefix, grammar.hash_style, names, grammar.tags, grammar.digests, grammar.server_layers)
    return (profile.header, profile.highest_format, profile.strict_enums, parts)


GENERATIONS: Final = tuple(_generations())


@functools.lru_cache(_REMEMBERED)
def taken(generation: Generation, header: bytes) -> ServerRequest | str:
    """A header as a server of the generation takes it, or why it ends the connection."""
    try:
        return read_request(generation.profile, header)
    except DecodeError as error:
        return str(error)


@dataclass(frozen=True)
class Refusal:
    """Where a server would have ended the connection."""

    offset: int
    """Of the header in the stream of the client."""
    why: str


class ImaginedServer:
    """Follows the stream of a client as a server of one generation would: how many replies are due, and if it would go on."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self.due: int = 0
        """Replies that it would have sent so far."""
        self.refusal: Refusal | None = None
        self.blind = False
        """Bytes are missing, so that nothing is known any more."""
        self._offset = 0
        self._header = bytearray()
        self._size = generation.profile.header.request_size
        self._skip = 0

    @property
    def waits_for(self) -> int:
        """Bytes that are missing to the header or the payload that it has begun to read; 0 between requests."""
        return self._skip or (self._size - len(self._header) if self._header else 0)

    def feed(self, data: bytes, length: int | None) -> None:
        """A segment of the client, or so many bytes that were left out of the recording."""
        if self.refusal is not None or self.blind:
            return
        if length is not None:
            if length > self._skip:
                self.blind = True
            self._skip -= min(length, self._skip)
            self._offset += length
            return
        place = 0
        while place < len(data) and self.refusal is None:
            if self._skip:
                step = min(self._skip, len(data) - place)
                self._skip -= step
            else:
                step = min(self._size - len(self._header), len(data) - place)
                self._header += data[place : place + step]
            place += step
            self._offset += step
            if len(self._header) == self._size:
                self._read()

    def _read(self) -> None:
        header, self._header = bytes(self._header), bytearray()
        found = taken(self.generation, header)
        if isinstance(found, str):
            self.refusal = Refusal(self._offset - self._size, found)
        elif found.command == "PUT":
            self._skip = max(0, found.about.length)
        elif found.command in _ANSWERED:
            self.due += 1
