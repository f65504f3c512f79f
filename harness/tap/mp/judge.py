"""Whether a request means to the server what it means to the client.

As long as the release of a side is open, a request is told to be wrong only if it is wrong for all releases that are left; the
others wait, and are judged again each time that a release is excluded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from harness.tap.finding import Finding
from harness.tap.mp.asked import Asked
from harness.tap.mp.candidates import Wrong, spans, whole_groups, wrong_request
from harness.tap.mp.connection import Connection
from harness.tap.mp.dealings import Trouble, readers_missing, trouble, unasked
from harness.tap.mp.parts import Parts
from harness.tap.mp.rules import RULES
from harness.tap.mp.sides import Sides
from reports.collisions.effects import READERS_WANTED_BY
from reports.collisions.harm import Harm
from wire.mp.operations import RENAMED
from wire.release import Release

MOST_UNDECIDED: Final = 2048
GRAVE: Final = frozenset({Harm.DESTROYS, Harm.CORRUPTS, Harm.LEAKS, Harm.KILLS})
"""What makes an open question worth telling at the end."""
NO_ANSWER: Final = frozenset(
    {
        *("mp.operation.dropped", "mp.operation.kills", "mp.operation.unknown", "mp.payload.count", "mp.payload.type"),
        *("mp.frames.single", "mp.payload.readers"),
    }
)
"""Rules that say why no answer comes."""
MISUNDERSTOOD: Final = frozenset({*NO_ANSWER - {"mp.payload.readers"}, "mp.operation.other"})
"""Rules by which the server does not do what was meant."""
_UNSENT: Final = "CLEAR"
"""What no engine sends by itself."""


class Judge:
    """Judges the requests of a recording."""

    def __init__(self, sides: Sides) -> None:
        self.first_wrong: Finding | None = None
        """The first byte that does not mean the same to both sides."""
        self._sides = sides
        self._undecided: deque[Asked] = deque(maxlen=MOST_UNDECIDED)

    def decide(self, connection: Connection, asked: Asked) -> Iterator[Finding]:
        """Judge a request by what both sides may be; keep it for later where that is open."""
        verdicts = self._verdicts(connection, asked)
        rules = {None if one is None else one.rule for one in verdicts}
        if len(rules) > 1:
            self._undecided.append(asked)
        elif verdicts and verdicts[-1] is not None:
            asked.told.add(verdicts[-1].rule)
            yield from connection.tell(asked, self._troubled(asked, verdicts))

    def again(self) -> Iterator[Finding]:
        """Judge again what was open."""
        waiting, self._undecided = list(self._undecided), deque(maxlen=MOST_UNDECIDED)
        for asked in waiting:
            connection = self._sides.connections.get(asked.connection)
            if connection is not None:
                yield from self.decide(connection, asked)

    def about(self, connection: Connection, asked: Asked, parts: Parts, values: Sequence[Any]) -> Iterator[Finding]:
        """What is odd about a request that the server takes for what it is."""
        servers = self._sides.server_candidates()
        outcomes = [asked.dealt[release] for release in servers if release in asked.dealt]
        operations = [outcome.met for outcome in outcomes]
        lookup = any(operation is not None and operation.meaning in READERS_WANTED_BY for operation in operations)
        asked.facts["no readers"] = lookup and _counts_no_readers(values)
        missing = [
            met is not None and readers_missing(release, met, values) for release, met in zip(servers, operations, strict=False)
        ]
        if missing and all(missing):
            asked.told.add("mp.payload.readers")
            wrong = wrong_request(servers[-1], parts, "exact") or wrong_at_start(asked)
            words = f"{self.name(connection, asked)} counts no readers, and lmcache {spans(whole_groups(servers))} drops it"
            yield self.first(made("mp.payload.readers", asked, f"{words} once the model is registered", wrong))
        elif len(servers) == 1 and servers != list(self._sides.client_candidates(connection)):
            yield from self._differs(connection, asked, parts, servers[0])

    def open_questions(self) -> Iterator[Finding]:
        """Requests that may have done harm, at the end, each once for a connection."""
        told: set[tuple[int, bytes]] = set()
        for asked in self._undecided:
            connection = self._sides.connections.get(asked.connection)
            if connection is None or (asked.connection, asked.operation) in told:
                continue
            grave = [one for one in self._verdicts(connection, asked) if one is not None and one.harm in GRAVE]
            if grave:
                told.add((asked.connection, asked.operation))
                worst = grave[-1]
                words = f"it may be {worst.meant}, and then {worst.what}"
                if any(operation is not None and operation.name == _UNSENT for operation in asked.meant.values()):
                    words += f"; or it is {_UNSENT} and was meant, but no engine sends that by itself"
                yield made("mp.operation.either", asked, words, worst.wrong)

    def name(self, connection: Connection, asked: Asked) -> str:
        """What a request is called."""
        return asked.name(self._sides.client_candidates(connection))

    def first(self, found: Finding) -> Finding:
        """Remember a finding if it is the first of its kind in time."""
        if self.first_wrong is None or (found.at, found.connection) < (self.first_wrong.at, self.first_wrong.connection):
            self.first_wrong = found
        return found

    def _differs(self, connection: Connection, asked: Asked, parts: Parts, server: Release) -> Iterator[Finding]:
        """A request that the server reads as it was meant, and that lmcache of its release would have written otherwise."""
        if connection.was_told("mp.payload.differs", asked):
            return
        wrong = wrong_request(server, parts, "exact")
        if wrong is not None:
            writer = spans(whole_groups([server]))
            words = f"{self.name(connection, asked)} is read as it was meant, and lmcache {writer} writes it otherwise"
            yield made("mp.payload.differs", asked, words, wrong)

    def _verdicts(self, connection: Connection, asked: Asked) -> list[Trouble | None]:
        clients = [release for release in self._sides.client_candidates(connection) if release in asked.meant]
        servers = [release for release in self._sides.server_candidates() if release in asked.dealt]
        if not clients:
            return [trouble(server, server, asked.dealt[server], None, asked.place) for server in servers]
        return [
            trouble(client, server, asked.dealt[server], asked.meant[client], asked.place)
            for client in clients
            for server in servers
        ]

    def _troubled(self, asked: Asked, verdicts: Sequence[Trouble | None]) -> Finding:
        """What all verdicts say, in the words of that for the newest server."""
        found = verdicts[-1]
        assert found is not None
        servers = self._sides.server_candidates()
        alike = all(one is not None and one.what == found.what for one in verdicts)
        place = (
            f"lmcache {spans(whole_groups(servers))}" if alike else f"lmcache {servers[-1]}, and likewise at all that it may be"
        )
        words = f"{found.meant} at a server of {place}: {found.what}"
        meaning = RENAMED.get(found.meant, found.meant)
        if found.harm in GRAVE and unasked(meaning):
            words += f"; {unasked(meaning)}"
        return self.first(made(found.rule, asked, words, found.wrong))


def made(rule: str, asked: Asked, words: str, wrong: Wrong) -> Finding:
    """A finding about a byte of a request."""
    return Finding(
        RULES[rule], asked.connection, asked.at, "client", words, wrong.stream, field_of(wrong), wrong.expected, wrong.got,
        exchange=asked.exchange,
    )  # fmt: skip


def field_of(wrong: Wrong) -> str:
    """The name of a field with its place."""
    return f"{wrong.what} (frame {wrong.frame}, byte {wrong.offset})"


def wrong_at_start(asked: Asked) -> Wrong:
    """That the members of the first payload are not those that are due."""
    return Wrong(2, 0, asked.place + len(asked.operation), "num_kv_readers", "1 at least", "0, or nothing")


def _counts_no_readers(values: Sequence[Any]) -> bool:
    keys = [value for value in values if isinstance(value, Mapping) and "model_name" in value]
    return any(not key.get("num_kv_readers") for key in keys)
