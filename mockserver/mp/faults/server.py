"""Faults of the server itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.mp.faults.action import MpFault
from mockserver.mp.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class Die(MpFault):
    """End the message thread: this request is not answered, nor is any other; the port goes on taking connections."""

    reply: bool = False
    fault: ClassVar[str] = "die"
    part: ClassVar[str] = "server"
    before: ClassVar[bool] = True
    example: ClassVar[str] = "die:operation=PREPARE_STORE"
    stands_for: ClassVar[str] = (
        "One short message from anybody, or up to 0.5.5 one with an unknown operation: the real server's message thread ends, "
        "its health endpoint still says that all is well, and every client waits. Only a NOOP with a time-out tells."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """Silence from now on."""
        return replace(outgoing, answers=self.reply, after="die")


@dataclass(frozen=True, slots=True)
class Restart(MpFault):
    """Restart on the same port once the reply has left; registrations, sessions and objects are gone, the pool is new."""

    reply: bool = True
    fault: ClassVar[str] = "restart"
    part: ClassVar[str] = "server"
    example: ClassVar[str] = "restart:operation=LOOKUP,nth=2"
    stands_for: ClassVar[str] = (
        "An upgrade, a crash and its supervisor. ZeroMQ reconnects without a word, so that a client sees nothing but that its "
        "instance is unknown: it must notice the silence, register again, and map the new pool."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The same, and then another server."""
        return replace(outgoing, answers=outgoing.answers and self.reply, after="restart")
