"""Requests that the server remembers: their tokens and the hashes of the chunks.

A session keeps the hashes that it has made, even where a later message of the request comes with other tokens.
Source: ``lmcache.v1.multiprocess.session``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from blake3 import blake3

from wire.hashes import NONE_TOKEN_HASH


class HandlerError(Exception):
    """An operation that fails: the real server writes a line into its log and answers nothing."""


@dataclass
class Session:
    """One request."""

    chunk_size: int
    tokens: Sequence[int] = ()
    hashes: list[bytes] = field(default_factory=list)
    lookup_key: Mapping[str, Any] | None = None
    """The key of the lookup, or the first one of a transfer."""
    hit_chunks: int = -1
    """What the last lookup found; -1 until it is asked."""
    begun: set[str] = field(default_factory=set)
    """``store`` and ``retrieve`` between their two steps: the second resolves its key once more, to log how much it was."""
    released: set[tuple[int, int, int, int]] = field(default_factory=set)
    """Failed retrieves whose locks were given back: instance, worker, start and end."""

    def hashes_between(self, start: int, end: int | None, *, strict: bool) -> list[bytes]:
        """The hashes of the chunks in ``[start, end)``; without an end, of all whole chunks.

        Raises:
            HandlerError: a boundary is not one of a chunk, or ``strict`` and beyond the tokens.
        """
        if start % self.chunk_size:
            raise HandlerError(f"start {start} is no multiple of {self.chunk_size}")
        if strict and end is not None and end > len(self.tokens):
            raise HandlerError(f"end {end} is beyond the {len(self.tokens)} tokens")
        if end is None:
            end = len(self.tokens) - len(self.tokens) % self.chunk_size
        if end % self.chunk_size:
            raise HandlerError(f"end {end} is no multiple of {self.chunk_size}")
        last = end // self.chunk_size
        while len(self.hashes) < last:
            begin = len(self.hashes) * self.chunk_size
            if begin >= len(self.tokens) and last - len(self.hashes) > _MOST_EMPTY:
                raise HandlerError(f"end {end} is far beyond the tokens")
            self.hashes.append(chained(self.tokens[begin : begin + self.chunk_size], self.hashes[-1] if self.hashes else None))
        return self.hashes[start // self.chunk_size : last]


_MOST_EMPTY = 1 << 20
"""Chunks without tokens that are hashed; the real server would go on until its memory is full."""


def chained(tokens: Sequence[int], previous: bytes | None) -> bytes:
    """The hash of a chunk, which may be cut short.

    Raises:
        HandlerError: a token is no uint32.
    """
    try:
        packed = struct.pack(f">{len(tokens)}I", *tokens)
    except struct.error:
        raise HandlerError("a token is no uint32") from None
    return blake3((previous or NONE_TOKEN_HASH) + packed).digest()


def chunk_hashes(tokens: Sequence[int], chunk_size: int, *, start: int = 0, end: int | None = None) -> list[bytes]:
    """The hashes of the whole chunks that begin at ``start`` or later and end at ``end`` or before.

    Raises:
        HandlerError: a token is no uint32.
    """
    last = len(tokens) if end is None else min(len(tokens), end)
    whole = last - last % chunk_size
    previous: bytes | None = None
    found = []
    for begin in range(0, whole, chunk_size):
        previous = chained(tokens[begin : begin + chunk_size], previous)
        if begin >= start:
            found.append(previous)
    return found


class Sessions:
    """Sessions by request id; the caller holds the lock of the server."""

    def __init__(self, chunk_size: int) -> None:
        self._chunk_size = chunk_size
        self._sessions: dict[str, Session] = {}

    def get(self, request_id: str) -> Session:
        """The session of a request, made where there is none."""
        if request_id not in self._sessions:
            self._sessions[request_id] = Session(self._chunk_size)
        return self._sessions[request_id]

    def find(self, request_id: str) -> Session | None:
        """The session of a request, if there is one."""
        return self._sessions.get(request_id)

    def remove(self, request_id: str) -> Session | None:
        """Forget a request."""
        return self._sessions.pop(request_id, None)

    def __len__(self) -> int:
        return len(self._sessions)
