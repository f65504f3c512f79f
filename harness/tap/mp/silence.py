"""What does not come: requests without reply. Every failure on this wire is silent, so that silence says that one was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from harness.tap.finding import Finding
from harness.tap.mp.asked import Asked
from harness.tap.mp.candidates import Reading, Wrong, spans, whole_groups
from harness.tap.mp.connection import Connection
from harness.tap.mp.flows import finding
from harness.tap.mp.judge import NO_ANSWER, Judge, field_of
from harness.tap.mp.sides import Sides
from reports.collisions.effects import READERS_WANTED
from wire.release import Release

PATIENCE: Final = 5.0
"""Seconds after which a request that waits at the end of a recording is told to be unanswered."""
OVERDUE: Final = 30.0
"""Seconds after which it is told at once."""
SLOW: Final = 10.0
_REMEMBERED: Final = 256
_AT_ONCE: Final = 0.5
"""Seconds within which a server answers what it answers at once."""
_SURE: Final = frozenset({"NOOP", "GET_CHUNK_SIZE", "PING"})
"""What no server leaves unanswered, whatever its state, as long as it answers others."""


class Silence:
    """Looks after open requests."""

    def __init__(self, sides: Sides, judge: Judge, patience: float = PATIENCE) -> None:
        self._sides = sides
        self._judge = judge
        self._patience = patience
        self._answered: dict[bytes, float] = {}
        """Operations that were answered, and when last."""
        self._last_reply: float | None = None

    def replied(self, connection: Connection, asked: Asked, at: float) -> Iterator[Finding]:
        """A request was answered."""
        self._last_reply = at
        self._answered[asked.operation[:16]] = at
        if len(self._answered) > _REMEMBERED:
            self._answered.pop(next(iter(self._answered)))
        waited = at - asked.at
        if waited > SLOW + asked.patience and not asked.of_stream:
            words = f"{self._judge.name(connection, asked)} was answered after {waited:.1f} s"
            yield from connection.tell(asked, finding("mp.reply.slow", asked, words, who="server", at=at))

    def overdue(self, connection: Connection, now: float) -> Iterator[Finding]:
        """Requests that have waited for very long."""
        for asked in list(connection.open.values()):
            if now - asked.at < max(OVERDUE, self._patience):
                break
            yield from self.unanswered(connection, asked, now)

    def unanswered(self, connection: Connection, asked: Asked, now: float) -> Iterator[Finding]:
        """A request that nobody answered."""
        if asked.of_stream or "mp.request.unanswered" in asked.told or now - asked.at < asked.patience + self._patience:
            return
        asked.told.add("mp.request.unanswered")
        yield from self._speaks(connection, asked)
        if asked.told & NO_ANSWER:
            return
        name = self._judge.name(connection, asked)
        others = self._last_reply is not None and self._last_reply > asked.at
        rule = "mp.heartbeat.unanswered" if name == "PING" and others else "mp.request.unanswered"
        words = f"{name} was not answered within {now - asked.at:.1f} s" + (", and later requests were" if others else "")
        yield from connection.tell(asked, self._explained(asked, finding(rule, asked, words, who="server", at=now)))

    def cut(self, connection: Connection, asked: Asked, at: float) -> Iterator[Finding]:
        """A request that is open when its connection ends."""
        connection.open.pop(asked.uid, None)
        connection.unanswered.append(asked)
        if self._last_reply is not None and self._last_reply > asked.at + _AT_ONCE:
            yield from self._speaks(connection, asked)
        if asked.of_stream or asked.told & NO_ANSWER or "mp.request.unanswered" in asked.told:
            return
        if at - asked.at >= asked.patience + self._patience:
            yield from self.unanswered(connection, asked, at)
            return
        words = f"{self._judge.name(connection, asked)} was open for {at - asked.at:.3f} s when its connection ended"
        yield from connection.tell(asked, self._explained(asked, finding("mp.request.cut", asked, words, at=at)))

    def dead(self, now: float) -> Iterator[Finding]:
        """Whether the server fell silent: what it answered before it answers no more, and nothing else either."""
        if self._last_reply is None:
            return
        last = self._last_reply
        waiting = [asked for one in self._sides.connections.values() for asked in one.open.values() if asked.at > last]
        waiting += [asked for one in self._sides.connections.values() for asked in one.unanswered if asked.at > last]
        again = [
            asked
            for asked in waiting
            if asked.operation[:16] in self._answered and now - asked.at >= asked.patience + self._patience
        ]
        if again:
            first = min(waiting, key=lambda asked: asked.at)
            name = self._judge.name(self._sides.connection(first.connection), first)
            words = (
                f"nothing was answered after {name} at {first.at:.3f} s, not even {len(again)} requests of kinds that were before"
            )
            yield finding("mp.server.dead", first, words, who="server", at=now)

    def _explained(self, asked: Asked, found: Finding) -> Finding:
        """The same with the byte for which some of the releases that the server may be drop the request, if any does."""
        servers = [release for release in self._sides.server_candidates() if release in asked.dealt]
        dropping = {release: wrong for release in servers if (wrong := asked.dealt[release].wrong) is not None}
        if not dropping:
            return found
        wrong = dropping[max(dropping)]
        return replace(
            found,
            summary=f"{found.summary}; lmcache {spans(whole_groups(dropping))} would drop it",
            offset=wrong.stream if found.who == "client" else None,
            field=field_of(wrong),
            expected=wrong.expected,
            got=wrong.got,
        )

    def _speaks(self, connection: Connection, asked: Asked) -> Iterator[Finding]:
        """What the silence says of the server: some requests no server of a release leaves unanswered while it answers others."""
        others = self._last_reply is not None and self._last_reply > asked.at
        if not others:
            return
        lookup = bool(asked.facts.get("no readers") and asked.facts.get("registered"))

        def look(release: Release, reading: Reading) -> Wrong | None:
            outcome = asked.dealt.get(release)
            if reading == "loose" or outcome is None or outcome.fate != "executed" or outcome.met is None:
                return None
            sure = outcome.met.name in _SURE or (lookup and not READERS_WANTED[release])
            return (
                Wrong(0, 0, asked.offset, "silence", f"a reply, as {outcome.met.name} always has one", "no reply")
                if sure
                else None
            )

        name = f"{self._judge.name(connection, asked)} without a reply"
        if self._sides.server.weigh(connection.number, asked.at, name, look):
            yield from self._judge.again()
