"""A reply on its way out: what is sent, how it is cut, and what happens to the connection afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mockserver.buffers import Buffer
from mockserver.endings import Ending

LastStep = Literal["go on", "close", "reset", "stall"]


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
class Outgoing:
    """What the server is about to do in answer to a request. Faults turn one into another.

    PUT and LIST have no reply: header and body are empty then, and the last step follows at once.
    """

    fields: tuple[str, ...]
    """Names of the int32 fields of the header."""
    header: bytes = b""
    body: Buffer = b""
    delay: float = 0.0
    """Seconds before the first byte."""
    pace: Pace | None = None
    """None: the header in one send, the body in another, as the real server does."""
    cut: int | None = None
    """Only so many bytes leave; None: all."""
    last: LastStep = "go on"
    ending: Ending | None = None
    """Why, where the last step ends the connection."""

    @property
    def size(self) -> int:
        """Bytes that leave."""
        whole = len(self.header) + len(self.body)
        return whole if self.cut is None else min(whole, self.cut)
