"""Faults of whole replies: none, late, doubled, in another order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.faults.action import require_seconds
from mockserver.mp.faults.action import MpFault
from mockserver.mp.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class DropReply(MpFault):
    """Execute the request and send nothing."""

    fault: ClassVar[str] = "drop-reply"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "drop-reply:operation=COMMIT_STORE,nth=1"
    stands_for: ClassVar[str] = (
        "A handler that failed after its work was done, or a reply that got lost while a client reconnected. This protocol has "
        "no error reply: whatever fails is silence. A client must stop waiting, and must not believe that nothing was done."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Nothing."""
        return replace(outgoing, answers=False)


@dataclass(frozen=True, slots=True)
class LoseRequest(MpFault):
    """Neither execute the request nor answer it."""

    fault: ClassVar[str] = "lose-request"
    part: ClassVar[str] = "end"
    before: ClassVar[bool] = True
    example: ClassVar[str] = "lose-request:operation=LOOKUP"
    stands_for: ClassVar[str] = (
        "A payload that the server could not read, an instance that it does not know, an exception in a handler: it writes a "
        "line into its log and goes on. The caller waits for ever if it lets itself."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Nothing."""
        return replace(outgoing, answers=False)


@dataclass(frozen=True, slots=True)
class LateReply(MpFault):
    """Send the reply so many seconds late; other replies go ahead."""

    seconds: float
    fault: ClassVar[str] = "late-reply"
    part: ClassVar[str] = "time"
    example: ClassVar[str] = "late-reply:seconds=0.5,operation=PREPARE_RETRIEVE"
    stands_for: ClassVar[str] = (
        "A server that is busy. A client whose time-out is shorter gets the reply while it waits for the next one: it must tell "
        "them apart by the uid, and drop what it no longer waits for."
    )

    def __post_init__(self) -> None:
        require_seconds("seconds", self.seconds)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The same, later."""
        return replace(outgoing, delay=self.seconds)


@dataclass(frozen=True, slots=True)
class DuplicateReply(MpFault):
    """Send the reply more than once."""

    copies: int = 2
    fault: ClassVar[str] = "duplicate-reply"
    part: ClassVar[str] = "copies"
    example: ClassVar[str] = "duplicate-reply:operation=NOOP"
    stands_for: ClassVar[str] = (
        "A proxy or a server that repeats itself after a reconnection. The second reply answers nothing that is still asked."
    )

    def __post_init__(self) -> None:
        if not 2 <= self.copies <= 1000:
            raise ValueError(f"copies is a number from 2 to 1000, not {self.copies}")

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The same, more often."""
        return replace(outgoing, copies=self.copies)


@dataclass(frozen=True, slots=True)
class SwapReplies(MpFault):
    """Hold the reply until another one has left, so that the two come in the other order."""

    fault: ClassVar[str] = "swap-replies"
    part: ClassVar[str] = "order"
    example: ClassVar[str] = "swap-replies:operation=LOOKUP,nth=1"
    stands_for: ClassVar[str] = (
        "What the real server does whenever two workers finish in the other order: replies come as they are ready. A client that "
        "matches them by order instead of by uid gives one caller the answer of another."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Held."""
        return replace(outgoing, held=True)
