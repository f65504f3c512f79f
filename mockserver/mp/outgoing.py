"""A reply on its way out. Faults turn one into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from wire.mp.frames import encode_value
from wire.mp.operations import Operation
from wire.mp.values import ValueRefused, pack
from wire.release import Release

After = Literal["go on", "die", "restart"]


@dataclass(frozen=True)
class Outgoing:
    """What the server is about to send, and what it does to itself afterwards."""

    release: Release
    operation: Operation
    uid: bytes
    number: bytes
    """The frame of the operation, as it came."""
    result: Any = None
    answers: bool = True
    """Whether there is a reply at all."""
    raw: bytes | None = None
    """What stands for the frame of the result, where a fault decided on its bytes."""
    more: tuple[bytes, ...] = ()
    """Frames behind the result."""
    before: tuple[bytes, ...] = ()
    """Frames before the uid."""
    frames_kept: int | None = None
    """Only so many frames leave; None: all."""
    copies: int = 1
    delay: float = 0.0
    """Seconds before it leaves."""
    held: bool = False
    """Whether it leaves behind the next reply only."""
    after: After = "go on"
    shrinks: int = 0
    """Chunks of this request that are gone once the reply has left."""
    pool_size: int = 0
    """Of the server, in bytes."""
    payloads: Sequence[Any] = field(default=(), repr=False)
    """The decoded payloads of the request."""

    def frames(self) -> list[bytes]:
        """The message without its address; empty where nothing leaves."""
        if not self.answers:
            return []
        found = [*self.before, self.uid, self.number]
        if self.raw is not None:
            found.append(self.raw)
        elif self.result is not None:
            found.append(self._encoded())
        found += self.more
        return found if self.frames_kept is None else found[: self.frames_kept]

    def _encoded(self) -> bytes:
        try:
            if self.operation.result is not None:
                return encode_value(self.release, self.operation.result, self.result)
        except (ValueRefused, KeyError, TypeError, AttributeError):
            pass  # a fault made it something that is not of the type
        return pack(self.result)
