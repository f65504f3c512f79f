"""Faults of one connection: ended in the middle of a reply, between two requests, or in one direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mockserver.endings import Ending
from mockserver.faults.action import ReplyFault
from mockserver.faults.outgoing import LastStep, Outgoing
from mockserver.faults.place import END, Anchor, Place, require_place, resolve


@dataclass(frozen=True, slots=True)
class CloseAfter(ReplyFault):
    """Send the reply up to the place ``bytes``, or to its end where it is shorter, and close the connection.

    With ``reset`` the peer gets a reset (RST) instead of an end of stream (FIN); it can still read the bytes before it.
    """

    bytes: Place
    reset: bool = False

    fault: ClassVar[str] = "close-after"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "close-after:bytes=10,reset=true"
    stands_for: ClassVar[str] = (
        "A server that dies or is restarted in the middle of a reply, or a load balancer that drops an idle connection. The "
        "kernel of a dead process ends the stream (FIN), or resets it (RST) when requests were unread or the machine rebooted. "
        "A client must notice at any byte, report a miss or an error, and not go on with the dead connection."
    )

    def __post_init__(self) -> None:
        require_place("bytes", self.bytes)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, up to where it breaks off."""
        last: LastStep = "reset" if self.reset else "close"
        return replace(outgoing, cut=resolve(self.bytes, outgoing), last=last, ending=Ending("fault", self.spec()))


@dataclass(frozen=True, slots=True)
class CloseBetween(ReplyFault):
    """Send the whole reply and then close the connection, with ``reset`` by RST; after a PUT, once it is stored."""

    reset: bool = False

    fault: ClassVar[str] = "close-between"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "close-between:command=EXIST,nth=1"
    stands_for: ClassVar[str] = (
        "A connection that ends while nobody uses it: a server that was restarted over night, an idle limit of a load balancer, "
        "a firewall that forgot the connection. The next request of the client meets it, and a PUT, which nobody answers, is "
        "lost without a word unless the client looks at the connection before it sends."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, and the end of the connection behind it."""
        last: LastStep = "reset" if self.reset else "close"
        return replace(outgoing, last=last, ending=Ending("fault", self.spec()))


@dataclass(frozen=True, slots=True)
class HalfClose(ReplyFault):
    """Send the reply up to the place ``bytes``, end the stream to the client (FIN), and go on reading and obeying its requests.

    PUTs are still stored; replies are no longer sent.
    """

    bytes: Place = Anchor(END)  # noqa: RUF009  # a frozen value

    fault: ClassVar[str] = "half-close"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "half-close:command=GET,bytes=body+8"
    stands_for: ClassVar[str] = (
        "A server or proxy that has said its last word and waits for the client to finish: what shutdown(SHUT_WR) does, and what "
        "a graceful stop looks like from outside. The client can still send for ever without an error, and is never answered."
    )

    def __post_init__(self) -> None:
        require_place("bytes", self.bytes)

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, up to where the stream ends."""
        return replace(outgoing, cut=resolve(self.bytes, outgoing), last="half-close", ending=None)
