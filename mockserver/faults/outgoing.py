"""A reply on its way out: what is sent, how it is cut, and what happens to the connection afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mockserver.buffers import Buffer
from mockserver.endings import Ending

LastStep = Literal["go on", "close", "reset", "stall", "half-close", "hold"]
"""``half-close`` ends the stream to the peer and goes on reading; ``hold`` sends nothing until the next reply has left."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a reply is cut into separate sends: sizes in bytes, the last one repeated.

    Between two sends the server waits until the peer has read what it got, at most ``patience`` seconds in one reply, then
    ``pause`` seconds more.
    """

    sizes: tuple[int, ...]
    pause: float
    patience: float


@dataclass(frozen=True, slots=True)
class Restart:
    """What the server does to itself after the reply."""

    moves: bool
    """To another port."""
    empties: bool
    """Its store is gone."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What the server is about to do in answer to a request. Faults turn one into another.

    PUT and LIST have no reply: header and body are empty then, and the last step follows at once.
    """

    fields: tuple[str, ...]
    """Names of the int32 fields of the header."""
    header: bytes = b""
    body: Buffer = b""
    before: bytes = b""
    """Bytes that belong to no reply, sent first."""
    after: bytes = b""
    """Bytes that the header does not announce, sent behind the body."""
    copies: int = 1
    """How often header, body and what is behind it are sent."""
    delay: float = 0.0
    """Seconds before the first byte."""
    pace: Pace | None = None
    """None: the header in one send, the body in another, as the real server does."""
    cut: int | None = None
    """Only so many bytes leave, those before the reply aside; None: all."""
    last: LastStep = "go on"
    ending: Ending | None = None
    """Why, where the last step ends the connection."""
    restart: Restart | None = None

    plain: bool = field(init=False, repr=False, compare=False)
    """Whether header and body leave as they are, and nothing else happens."""

    def __post_init__(self) -> None:
        plain = (
            self.pace is None
            and self.cut is None
            and self.last == "go on"
            and self.copies == 1
            and not (self.before or self.after or self.delay or self.restart)
        )
        object.__setattr__(self, "plain", plain)

    @property
    def size(self) -> int:
        """Bytes that leave."""
        whole = self.copies * (len(self.header) + len(self.body) + len(self.after))
        return len(self.before) + (whole if self.cut is None else min(whole, self.cut))

    def parts(self) -> list[Buffer]:
        """The bytes that leave, each part in a send of its own where no fault says otherwise; nothing is copied."""
        left = self.size
        cut: list[Buffer] = []
        for part in (self.before, *(self.header, self.body, self.after) * self.copies):
            piece: Buffer = part if len(part) <= left else memoryview(part)[:left]
            left -= len(piece)
            if len(piece):
                cut.append(piece)
        return cut
