"""Faults of the frames of a reply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.mp.faults.action import MpFault
from mockserver.mp.outgoing import Outgoing
from wire.mp.values import pack


@dataclass(frozen=True, slots=True)
class WrongUid(MpFault):
    """Put another uid into the reply: that of the request with its last bit flipped, or the bytes given in hexadecimal."""

    uid: str = ""
    fault: ClassVar[str] = "wrong-uid"
    part: ClassVar[str] = "uid"
    example: ClassVar[str] = "wrong-uid:operation=PING"
    stands_for: ClassVar[str] = (
        "A reply to somebody else, or to a request of an earlier life of this client with the same address. Nobody waits for it: "
        "it must be dropped, and the request must time out."
    )

    def __post_init__(self) -> None:
        bytes.fromhex(self.uid)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """With another uid."""
        flipped = outgoing.uid[:-1] + bytes([outgoing.uid[-1] ^ 1]) if outgoing.uid else b"\0"
        return replace(outgoing, uid=bytes.fromhex(self.uid) or flipped)


@dataclass(frozen=True, slots=True)
class WrongOperation(MpFault):
    """Echo another operation number than the one that was sent."""

    number: int = 255
    fault: ClassVar[str] = "wrong-operation"
    part: ClassVar[str] = "operation"
    example: ClassVar[str] = "wrong-operation:number=3,operation=GET_CHUNK_SIZE"
    stands_for: ClassVar[str] = (
        "A server of another release behind the same address, whose numbers mean other operations. The reply carries the right "
        "uid and is still not an answer to what was asked."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """With another operation."""
        return replace(outgoing, number=pack(self.number))


@dataclass(frozen=True, slots=True)
class ExtraFrames(MpFault):
    """Send frames more than a reply has, behind the result or before the uid; each holds nil."""

    count: int = 1
    front: bool = False
    fault: ClassVar[str] = "extra-frames"
    part: ClassVar[str] = "frames"
    example: ClassVar[str] = "extra-frames:count=2,operation=NOOP"
    stands_for: ClassVar[str] = (
        "A newer server that says more than this client knows, or a proxy of another ZeroMQ pattern that puts an empty delimiter "
        "in front. What is more must not be taken for the result."
    )

    def __post_init__(self) -> None:
        if not 1 <= self.count <= 1_000_000:
            raise ValueError(f"count is a number from 1 to 1000000, not {self.count}")

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Longer."""
        if self.front:
            return replace(outgoing, before=(b"",) * self.count)
        return replace(outgoing, more=(b"\xc0",) * self.count)


@dataclass(frozen=True, slots=True)
class MissingFrames(MpFault):
    """Send only the first frames of the reply: 1 is the uid alone, 2 leaves the result out."""

    keep: int = 2
    fault: ClassVar[str] = "missing-frames"
    part: ClassVar[str] = "frames"
    example: ClassVar[str] = "missing-frames:keep=1,operation=NOOP"
    stands_for: ClassVar[str] = (
        "An old server that gives no result where a newer one does, or a broken one. Two frames are how this protocol says "
        "nil, so that a result that is missing reads as none."
    )

    def __post_init__(self) -> None:
        if not 1 <= self.keep <= 2:
            raise ValueError(f"keep is 1 or 2, not {self.keep}")

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Shorter."""
        return replace(outgoing, frames_kept=self.keep)


@dataclass(frozen=True, slots=True)
class GarbageResult(MpFault):
    """Send bytes that are no msgpack value in place of the result, given in hexadecimal."""

    bytes: str = "c1"
    fault: ClassVar[str] = "garbage-result"
    part: ClassVar[str] = "result"
    example: ClassVar[str] = "garbage-result:bytes=92c3,operation=PREPARE_STORE"
    stands_for: ClassVar[str] = (
        "A frame that was cut or damaged. What cannot be read is an error of this one request; a client whose reading thread "
        "ends with it answers nobody any more."
    )

    def __post_init__(self) -> None:
        _from_hex(self.bytes)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """With other bytes."""
        return replace(outgoing, raw=_from_hex(self.bytes))


def _from_hex(text: str) -> bytes:
    return bytes.fromhex(text)
