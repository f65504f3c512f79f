"""The last things that crossed the wire, segment by segment: who sent what and when, of which the first bytes are kept."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from mockserver.buffers import Buffer
from mockserver.endings import Ending

HEAD: Final = 384
"""Bytes kept of a segment: a header or two, and no payload worth the name."""
FIRST: Final = 20
LAST: Final = 40
"""Moments kept from the begin and from the end."""
FRAMES: Final = 8
"""Frames kept of a message of the multiprocess server."""

Sender = Literal["client", "server"]
Did = Literal["open", "data", "half-close", "close", "reset", "silence"]
_BY_THE_CLIENT: Final = frozenset({"peer closed", "peer reset", "cut header", "cut payload"})


class Moment(NamedTuple):
    """One thing that happened on a connection; ``at`` is ``time.monotonic``."""

    at: float
    connection: int
    sender: Sender
    did: Did
    length: int = 0
    head: bytes = b""
    """The first bytes of what was sent."""
    frames: tuple[bytes, ...] = ()
    """The first bytes of each frame, for a message of the multiprocess server."""
    note: str = ""
    """Why; for people."""


class Tape:
    """Moments of any number of connections, safe from any thread; of many the first and the last are kept.

    Whoever notes a connection has it by its place, which no other has. On the tape it has a number: connections are counted from
    1 in the order in which they were first heard of, also those that were open before the tape was cleared.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places = 0
        self._numbers: dict[int, int] = {}
        self._count = 0
        self._first: list[Moment] = []
        self._last: deque[Moment] = deque(maxlen=LAST)

    def clear(self) -> None:
        """Forget everything; connections are counted from 1 again."""
        with self._lock:
            self._count = 0
            self._numbers = {}
            self._first, self._last = [], deque(maxlen=LAST)

    def open(self, note: str = "") -> int:
        """Note a new connection, of any server; its place."""
        with self._lock:
            self._places += 1
            place = self._places
        self.did(place, "client", "open", note)
        return place

    def data(self, place: int, sender: Sender, data: Buffer, at: float | None = None) -> None:
        """Note one segment."""
        head = bytes(memoryview(data)[:HEAD])
        self.note(Moment(time.monotonic() if at is None else at, place, sender, "data", len(data), head))

    def message(self, place: int, sender: Sender, frames: Sequence[bytes], size: int | None = None) -> None:
        """Note one message of several frames; ``size`` where the frames are not all of it."""
        kept = tuple(bytes(frame[:HEAD]) for frame in frames[:FRAMES])
        length = sum(map(len, frames)) if size is None else size
        self.note(Moment(time.monotonic(), place, sender, "data", length, b"".join(kept)[:HEAD], kept))

    def did(self, place: int, sender: Sender, did: Did, note: str = "") -> None:
        """Note anything else; place 0 is that of all connections."""
        self.note(Moment(time.monotonic(), place, sender, did, note=note))

    def ended(self, place: int, ending: Ending, *, by_reset: bool = False) -> None:
        """Note how a connection ended, as the server that served it tells it."""
        theirs = ending.kind in _BY_THE_CLIENT
        did: Did = "reset" if by_reset or ending.kind == "peer reset" else "close"
        said = ending.detail if ending.kind in {"peer closed", "peer reset"} else str(ending)
        self.did(place, "client" if theirs else "server", did, said)

    def note(self, moment: Moment) -> None:
        """Keep a moment, whose connection is given by its place."""
        with self._lock:
            self._count += 1
            number = self._numbers.setdefault(moment.connection, len(self._numbers) + 1) if moment.connection else 0
            moment = moment._replace(connection=number)
            if len(self._first) < FIRST:
                self._first.append(moment)
            else:
                self._last.append(moment)

    def moments(self) -> tuple[list[Moment], list[Moment], int]:
        """The first and the last ones that are kept, and how many happened between them."""
        with self._lock:
            first, last = list(self._first), list(self._last)
            return first, last, self._count - len(first) - len(last)
