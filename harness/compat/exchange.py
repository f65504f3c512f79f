"""One side of a conversation as a client of a release holds it: it sends its own frames and reads replies in its own layout.

A client reads exactly as many bytes as its own reply header has, and behind a success as many as that header promises. What
comes beyond that stays in the stream and is what the next reply begins with, as in the real client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self

from fixturegen.connection import Connection
from harness.compat.frames_of import ClientFrames
from reports.compat.model import KEPT, Exchange
from wire.errors import DecodeError
from wire.lm.frames import Description, Reply

Speaker = Literal["client", "engine"]

_AGAIN: Final = 0.5
"""Share of the patience that a silent server gets once more, after it has shown that it is awake."""


class ServerAsleep(Exception):
    """A server that answered before answers nobody any more, so that its silence says nothing."""


@dataclass(frozen=True)
class Place:
    """A server that is played against, and how long silence is waited for.

    ``awake`` asks the server something in its own layout on a connection of its own, and raises :class:`ServerAsleep` if there
    is no answer: a server that is only slow must not be taken for one that waits.
    """

    host: str
    port: int
    patience: float
    awake: Callable[[], None]


@dataclass(frozen=True)
class Ask:
    """One request: the header, the payload of a PUT, and what the client waits for."""

    command: str
    header: bytes
    payload: bytes = b""
    expects: Expectation | None = None
    """None: no reply, as after a PUT."""


@dataclass(frozen=True)
class Expectation:
    """What the client's own release would answer."""

    code: Literal["SUCCESS", "FAIL"]
    value: tuple[Description, bytes] | None = None
    """What was stored, in reply to a GET."""


@dataclass(frozen=True)
class Heard:
    """What came in reply."""

    exchange: Exchange
    reply: Reply | None = None
    """The header as the client reads it; None: nothing whole came, or nothing that it can read."""
    body: bytes = b""
    unreadable: str | None = None
    """Why the header means nothing to the client."""
    surplus: int = 0
    """Bytes that came along and belong to no reply."""

    @property
    def in_step(self) -> bool:
        """Whether the conversation can go on."""
        return self.exchange.ending == "answered" and self.unreadable is None


class Line:
    """A connection of one side, from its opening to its close."""

    def __init__(self, place: Place, frames: ClientFrames, by: Speaker) -> None:
        self._place = place
        self._frames = frames
        self._by = by
        self._connection = Connection(place.host, place.port)
        self._stream = bytearray()

    def ask(self, ask: Ask) -> Heard:
        """Send one request and read what the client reads."""
        self._connection.send(ask.header + ask.payload)
        if ask.expects is None:
            return Heard(self._exchange(ask, b"", 0, "answered"))
        size = self._frames.reply_size
        header, ending = self._take(size)
        if ending != "answered":
            return Heard(self._exchange(ask, header, size, ending))
        try:
            reply = self._frames.read_reply(header)
        except DecodeError as error:
            return Heard(self._exchange(ask, header, size, "answered"), unreadable=str(error), surplus=len(self._stream))
        promised = max(0, reply.about.length) if ask.command == "GET" and reply.code == "SUCCESS" else 0
        body, ending = self._take(promised)
        exchange = self._exchange(ask, header + body, size + promised, ending)
        return Heard(exchange, reply, body, surplus=len(self._stream))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _take(self, count: int) -> tuple[bytes, Literal["answered", "silence", "closed"]]:
        """The next bytes of the stream: all of them, or those that came before silence or a close."""
        if not self._wait(count, self._place.patience):
            return self._rest(), "closed"
        if len(self._stream) < count:
            self._place.awake()
            if not self._wait(count, self._place.patience * _AGAIN):
                return self._rest(), "closed"
        if len(self._stream) < count:
            return self._rest(), "silence"
        taken = bytes(self._stream[:count])
        del self._stream[:count]
        return taken, "answered"

    def _wait(self, count: int, patience: float) -> bool:
        """Wait until so many bytes are there or the patience ends; False if the peer closed before."""
        missing = count - len(self._stream)
        if missing <= 0:
            return True
        data, closed = self._connection.receive(missing, patience, 0.0)
        self._stream += data
        return not closed or len(self._stream) >= count

    def _rest(self) -> bytes:
        rest = bytes(self._stream)
        self._stream.clear()
        return rest

    def _exchange(self, ask: Ask, got: bytes, wanted: int, ending: Literal["answered", "silence", "closed"]) -> Exchange:
        return Exchange(
            by=self._by, request=ask.command, sent=ask.header, payload=len(ask.payload),
            wanted=wanted, got=got[:KEPT], received=len(got), ending=ending,
        )  # fmt: skip
