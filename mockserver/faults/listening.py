"""Faults of the server as a whole: slow to accept, not listening, full, or restarted."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from mockserver.endings import Ending
from mockserver.faults.action import ListenerFault, ReplyFault, require_seconds
from mockserver.faults.outgoing import Outgoing
from mockserver.faults.outgoing import Restart as Afterwards
from mockserver.faults.welcome import Welcome


@dataclass(frozen=True, slots=True)
class SlowAccept(ListenerFault):
    """Let a new connection wait so many ``seconds`` before it is accepted, and those behind it with it."""

    seconds: float

    fault: ClassVar[str] = "slow-accept"
    part: ClassVar[str] = "wait"
    example: ClassVar[str] = "slow-accept:seconds=0.5,connection=2"
    stands_for: ClassVar[str] = (
        "A server whose accepting thread does not get to run, or that starts a process for each connection. The kernel has "
        "completed the handshake long before, so the client believes itself connected, sends, and waits for its first reply."
    )

    def __post_init__(self) -> None:
        require_seconds("seconds", self.seconds)

    def meet(self, welcome: Welcome) -> Welcome:
        """The next connection waits."""
        return dataclasses.replace(welcome, wait=self.seconds)


@dataclass(frozen=True, slots=True)
class Refuse(ListenerFault):
    """Do not listen: new connections are refused, those that are open go on.

    With ``connection=3..`` two connections are accepted first. A refused one gets no number.
    """

    fault: ClassVar[str] = "refuse"
    example: ClassVar[str] = "refuse:connection=2.."
    stands_for: ClassVar[str] = (
        "A server that is not running, not yet or no longer, on a machine that is: its kernel answers every attempt to connect "
        "with a reset, at once. The cheapest failure of all, if the client does not try again in a tight loop."
    )

    def meet(self, welcome: Welcome) -> Welcome:
        """Nobody listens."""
        return dataclasses.replace(welcome, door="refusing")


@dataclass(frozen=True, slots=True)
class BacklogFull(ListenerFault):
    """Accept nothing, with a full queue: attempts to connect get no answer at all; open connections go on.

    With ``connection=3..`` two connections are accepted first.
    """

    fault: ClassVar[str] = "backlog-full"
    example: ClassVar[str] = "backlog-full:connection=2.."
    stands_for: ClassVar[str] = (
        "A thousand engines that reconnect at once after a server came back, or a server that no longer accepts: the kernel "
        "drops the SYN, and the client's kernel tries again after 1, 3 and 7 seconds. A client without a timeout for connecting "
        "hangs for two minutes."
    )

    def meet(self, welcome: Welcome) -> Welcome:
        """No place in the queue."""
        return dataclasses.replace(welcome, door="full")


@dataclass(frozen=True, slots=True)
class Restart(ReplyFault):
    """Send the whole reply, end every connection and start anew: on another port (``moves``), with an empty store (``empties``).

    By the time the client sees its connection end, the server is up again. ``lmconform serve`` prints where.
    """

    moves: bool = True
    empties: bool = True

    fault: ClassVar[str] = "restart"
    part: ClassVar[str] = "end"
    example: ClassVar[str] = "restart:moves=false,command=PUT,nth=3"
    stands_for: ClassVar[str] = (
        "A server that crashed or was deployed anew. The real one keeps its store in memory, so everything is gone, and in a "
        "cluster it comes back under another address or port. A client must not give out what it remembers of the old one."
    )

    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply, and the restart behind it."""
        afterwards = Afterwards(moves=self.moves, empties=self.empties)
        return dataclasses.replace(outgoing, last="close", ending=Ending("fault", self.spec()), restart=afterwards)
