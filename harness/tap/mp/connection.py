"""What is known of one connection: its handshake, and the requests that are open on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from harness.tap.event import Side as Who
from harness.tap.finding import Finding
from harness.tap.mp.asked import Asked
from harness.tap.mp.bounded import Bounded
from harness.tap.mp.candidates import Side
from harness.tap.mp.rules import RULES
from harness.tap.mp.zmtp import Broken, Command, Greeting, properties
from wire.release import Release

MOST_OPEN: Final = 4096
"""Requests of a connection that are open at once; older ones are forgotten."""
MOST_CLOSED: Final = 1024
MOST_UNANSWERED: Final = 64
MOST_TOLD: Final = 20
"""Findings of one rule about one operation; more are not told."""
SOCKETS: Final[dict[Who, str]] = {"client": "DEALER", "server": "ROUTER"}
HEARTBEAT: Final = 10.0
"""Seconds for a PONG."""


@dataclass
class Connection:
    """One connection."""

    number: int
    client: Side = field(default_factory=Side)
    open: Bounded[bytes, Asked] = field(default_factory=lambda: Bounded(MOST_OPEN))
    """By uid."""
    closed: Bounded[bytes, bytes] = field(default_factory=lambda: Bounded(MOST_CLOSED))
    """Uids that were answered, with their operations."""
    exchanges: int = 0
    ended: set[Who] = field(default_factory=set)
    sockets: dict[Who, str] = field(default_factory=dict)
    mechanism: str = ""
    secured: bool = False
    unanswered: deque[Asked] = field(default_factory=lambda: deque(maxlen=MOST_UNANSWERED))
    """Requests that were open when the connection ended."""
    killers: list[tuple[int, frozenset[Release]]] = field(default_factory=list)
    """Requests that end servers of some releases, which are excluded once a later request is answered."""
    pings: dict[Who, tuple[float, int]] = field(default_factory=dict)
    """Heartbeats of ZeroMQ that wait for their PONG."""
    told: dict[tuple[str, str], int] = field(default_factory=dict)
    """How often a rule applied to an operation."""

    def greeting(self, at: float, who: Who, found: Greeting) -> Iterator[Finding]:
        """The first bytes of a side."""
        self.mechanism = found.mechanism
        if found.mechanism != "NULL" and not self.secured:
            self.secured = True
            yield self._finding(
                "mp.zmtp.mechanism",
                at,
                who,
                f"the mechanism is {found.mechanism}",
                found.offset + 12,
                "mechanism",
                "NULL",
                found.mechanism,
            )

    def command(self, at: float, who: Who, found: Command) -> Iterator[Finding]:
        """What ZeroMQ sends by itself."""
        if found.name == b"READY" and self.mechanism in ("NULL", "PLAIN"):
            yield from self._ready(at, who, found)
        elif found.name == b"ERROR":
            reason = found.data[1 : 1 + found.data[0]] if found.data else b""
            yield self._finding("mp.zmtp.error", at, who, f"ERROR: {reason.decode('ascii', 'replace')!r:.120}", found.offset)
        elif found.name == b"PING":
            self.pings.setdefault(who, (at, found.offset))
        elif found.name == b"PONG":
            self.pings.pop("server" if who == "client" else "client", None)

    def broken(self, at: float, who: Who, found: Broken) -> Finding:
        """What no ZMTP peer sends."""
        rule = {"old-zmtp": "mp.zmtp.old", "hole": "mp.zmtp.gap"}.get(found.rule, "mp.zmtp.broken")
        return self._finding(rule, at, who, found.summary, found.offset, found.rule, found.expected, found.got)

    def end(self, at: float, who: Who, unfinished: str) -> Iterator[Finding]:
        """An end of stream, or a reset."""
        self.ended.add(who)
        if unfinished.startswith("a greeting") or (
            not self.sockets and not self.secured and not unfinished and len(self.ended) == 1
        ):
            yield self._finding("mp.zmtp.silent", at, who, unfinished or "it ended before any handshake")
        elif unfinished:
            yield self._finding("mp.zmtp.broken", at, who, f"the stream ends within {unfinished}")

    def tell(self, asked: Asked, found: Finding) -> Iterator[Finding]:
        """A finding, unless the same was told of this operation very often."""
        place = found.rule.name, asked.operation[:16].hex()
        if len(self.told) < MOST_TOLD * 64 or place in self.told:
            self.told[place] = self.told.get(place, 0) + 1
            if self.told[place] <= MOST_TOLD:
                yield found

    def was_told(self, rule: str, asked: Asked) -> bool:
        """Whether a rule was told of an operation."""
        return (rule, asked.operation[:16].hex()) in self.told

    def overdue_pings(self, now: float) -> Iterator[Finding]:
        """Heartbeats that nothing answered."""
        for who, (at, offset) in list(self.pings.items()):
            if now - at > HEARTBEAT:
                del self.pings[who]
                yield self._finding("mp.zmtp.heartbeat", now, who, f"no PONG for {now - at:.0f} s", offset)

    def _ready(self, at: float, who: Who, found: Command) -> Iterator[Finding]:
        members = properties(found.data)
        if members is None:
            yield self._finding(
                "mp.zmtp.ready", at, who, "the metadata of READY are cut, or have lengths that are wrong", found.offset
            )
            return
        kind = next((value for name, value in members.items() if name.lower() == "socket-type"), b"").decode("ascii", "replace")
        self.sockets[who] = kind
        if kind != SOCKETS[who]:
            words = f"the {who} has a {kind!r:.20} socket, and {SOCKETS[who]} is due"
            yield self._finding("mp.zmtp.socket", at, who, words, found.offset, "Socket-Type", SOCKETS[who], f"{kind:.20}")

    def _finding(
        self,
        rule: str,
        at: float,
        who: Who,
        summary: str,
        offset: int | None = None,
        name: str = "",
        expected: str = "",
        got: str = "",
    ) -> Finding:
        return Finding(RULES[rule], self.number, at, who, summary, offset, name, expected, got)
