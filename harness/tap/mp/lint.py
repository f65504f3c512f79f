"""Listens to conversations with the multiprocess server: what is wrong in them, and what release each side seems to be.

It hears the events of a recording, or of a proxy, in their order. What it finds rests on messages and not on segments. Whatever
comes, it never raises, and what it remembers is bounded.

Requests are judged by what both sides may be. As long as the release of a side is open, a request is told to be wrong only if it
is wrong for all releases that are left; the others wait, and are judged again each time that a release is excluded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.tap.event import Event
from harness.tap.event import Side as Who
from harness.tap.finding import Finding
from harness.tap.guess import Guess
from harness.tap.mp.asked import Asked, meanings, read, weigh_request
from harness.tap.mp.candidates import Side, Wrong, group_of, spans, whole_groups, wrong_request, wrong_result
from harness.tap.mp.connection import Connection
from harness.tap.mp.dealings import Trouble, readers_missing, trouble, unasked
from harness.tap.mp.evidence import guess_of
from harness.tap.mp.flows import Flows, finding
from harness.tap.mp.parts import Parts
from harness.tap.mp.rules import RULES
from harness.tap.mp.talk import Seen, Talk
from harness.tap.mp.zmtp import KEPT_FRAMES, Broken, Command, Greeting
from reports.collisions.effects import REPLY_KILLS
from reports.collisions.harm import Harm
from wire.release import Release

PATIENCE: Final = 5.0
"""Seconds after which a request that waits at the end of a recording is told to be unanswered."""
OVERDUE: Final = 30.0
"""Seconds after which it is told at once."""
SLOW: Final = 10.0
MOST_UNDECIDED: Final = 2048
MOST_CONNECTIONS: Final = 4096
MOST_TOLD: Final = 20
"""Findings of one rule about one operation on one connection; more are not told."""
OVERSIZED: Final = 1 << 30
"""Bytes of a frame."""
GRAVE: Final = frozenset({Harm.DESTROYS, Harm.CORRUPTS, Harm.LEAKS, Harm.KILLS})
"""What makes an open question worth telling at the end."""
_WAITS: Final = frozenset({"WAIT_PREFETCH_STATUS"})


@dataclass(frozen=True)
class Heard:
    """A recording that was listened to."""

    findings: tuple[Finding, ...]
    """In the order of their time."""
    listener: MpListener


def listen(events: Sequence[Event], profile: Release | None = None) -> Heard:
    """Listen to a whole recording, twice: what its end shows of the releases decides also what its beginning means."""
    now = max((event.at for event in events), default=0.0)
    earlier = MpListener(profile)
    for event in events:
        for _ in earlier.hear(event):
            pass
    listener = MpListener(profile, earlier=earlier)
    found = [finding for event in events for finding in listener.hear(event)]
    found += listener.finish(now)
    found.sort(key=lambda finding: (finding.at, finding.connection))
    return Heard(tuple(found), listener)


class MpListener:
    """One recording, or one proxy while it runs."""

    def __init__(self, profile: Release | None = None, *, earlier: MpListener | None = None) -> None:
        """``profile`` is the release that both sides are said to be; ``earlier`` has heard the same events before."""
        self.profile = None if profile is None else group_of(profile)[-1]
        self.server = Side()
        self.clients = Side()
        """What all clients together may be."""
        self.first_wrong: Finding | None = None
        """The first byte that does not mean the same to both sides."""
        self._earlier = earlier
        self._talk = Talk()
        self._connections: dict[int, Connection] = {}
        self._flows = Flows()
        self._undecided: deque[Asked] = deque(maxlen=MOST_UNDECIDED)
        self._answered: dict[bytes, float] = {}
        """Operations that were answered, and when last."""
        self._last_reply: float | None = None
        self._sides_told: set[str] = set()

    # What comes

    def hear(self, event: Event) -> Iterator[Finding]:
        """What an event shows."""
        found = [*self.tick(event.at)]
        for seen in self._talk.feed(event):
            found += self._seen(seen)
        yield from found

    def tick(self, now: float) -> Iterator[Finding]:
        """What shows because nothing happened until now."""
        for connection in self._connections.values():
            yield from connection.overdue_pings(now)
            for asked in list(connection.open.values()):
                if now - asked.at < OVERDUE:
                    break
                yield from self._unanswered(connection, asked, now)

    def finish(self, now: float) -> Iterator[Finding]:
        """What shows at the end of everything."""
        for number, who, words in self._talk.pending():
            yield Finding(RULES["mp.zmtp.gap"], number, now, who, f"the recording ends within {words}")
        yield from self._dead(now)
        for connection in self._connections.values():
            for asked in list(connection.open.values()):
                if now - asked.at >= PATIENCE:
                    yield from self._unanswered(connection, asked, now)
        yield from self._open_questions()
        yield from self._flows.finish(now)
        yield from self._sides(now)

    def guess(self, who: Who) -> Guess:
        """What release a side seems to be; the clients together."""
        return guess_of(self.clients if who == "client" else self.server, who)

    def guesses(self) -> dict[int, Guess]:
        """What the client of each connection seems to be."""
        return {number: guess_of(connection.client, "client") for number, connection in self._connections.items()}

    # Things seen

    def _seen(self, seen: Seen) -> Iterator[Finding]:
        connection = self._connections.get(seen.connection)
        if connection is None:
            if len(self._connections) >= MOST_CONNECTIONS:
                self._forget()
            connection = self._connections[seen.connection] = Connection(seen.connection)
        match seen.what:
            case Greeting():
                yield from connection.greeting(seen.at, seen.side, seen.what)
            case Command():
                yield from connection.command(seen.at, seen.side, seen.what)
            case Broken():
                yield connection.broken(seen.at, seen.side, seen.what)
            case Parts():
                yield from self._sizes(connection, seen, seen.what)
                yield from (
                    self._request(connection, seen, seen.what)
                    if seen.side == "client"
                    else self._reply(connection, seen, seen.what)
                )
            case "end" | "reset":
                yield from connection.end(seen.at, seen.side, seen.text)
                for asked in list(connection.open.values()):
                    yield from self._cut(connection, asked, seen.at)

    def _forget(self) -> None:
        """Drop a connection that has ended, or the oldest."""
        ended = next((number for number, one in self._connections.items() if one.ended), None)
        del self._connections[next(iter(self._connections)) if ended is None else ended]

    def _sizes(self, connection: Connection, seen: Seen, parts: Parts) -> Iterator[Finding]:
        message = parts.message
        if message.count > KEPT_FRAMES:
            yield Finding(RULES["mp.frames.many"], connection.number, seen.at, seen.side, f"a message of {message.count} frames",
                          message.offset, "number of frames", f"at most {KEPT_FRAMES}", str(message.count))  # fmt: skip
        for index, frame in enumerate(message.frames):
            if frame.length > OVERSIZED:
                yield Finding(RULES["mp.frames.oversized"], connection.number, seen.at, seen.side, f"frame {index} has {frame.length} bytes",
                              frame.offset, f"length of frame {index}", f"at most {OVERSIZED}", str(frame.length))  # fmt: skip

    # Requests

    def _request(self, connection: Connection, seen: Seen, parts: Parts) -> Iterator[Finding]:
        connection.exchanges += 1
        message = parts.message
        single = len(parts.parts) < 2
        if not single and not parts.uid:
            yield Finding(RULES["mp.frames.delimiter"], connection.number, seen.at, "client", "the uid is an empty frame", message.offset,
                          "uid", "a msgpack value", "an empty frame", exchange=connection.exchanges)  # fmt: skip
        if single:
            yield Finding(RULES["mp.frames.single"], connection.number, seen.at, "client", "a message of one frame ends the server's "
                          "message thread", message.offset, "number of frames", "2 at least", "1", exchange=connection.exchanges)  # fmt: skip
        clients, servers = self._client_candidates(connection), self._server_candidates()
        at_servers = [*self.server.alive["loose"], *servers]
        loose, dealt = read(parts, [*connection.client.alive["loose"], *self.clients.alive["loose"]], at_servers)
        if not single and parts.whole:
            narrowed = weigh_request(connection.client, connection.number, seen.at, parts, loose)
            narrowed |= weigh_request(self.clients, connection.number, seen.at, parts, loose)
            if narrowed:
                clients = self._client_candidates(connection)
        known = [*clients, *connection.client.alive["loose"]]
        asked = Asked(
            connection.number, seen.at, connection.exchanges, parts.uid, parts.operation or b"", message.offset,
            message.frames[1].offset if not single else message.end, dealt, meanings(parts, known),
        )  # fmt: skip
        if parts.of_stream:
            yield from self._decide(connection, asked)
            return
        meaning = asked.meaning(clients)
        values = [part.value for part in parts.behind]
        if meaning in _WAITS and len(values) > 1 and isinstance(values[1], int | float):
            asked.patience = min(max(float(values[1]), 0.0), 3600.0)
        if parts.uid in connection.open:
            asked.told.add("mp.uid.reused")
            yield from self._tell(connection, asked, finding("mp.uid.reused", asked, f"uid {parts.uid[:16].hex()} has an open request, "
                                                             f"{connection.open[parts.uid].name(clients)}"))  # fmt: skip
        connection.open[parts.uid] = asked
        yield from self._decide(connection, asked)
        killed = frozenset(release for release, outcome in dealt.items() if outcome.fate == "killed")
        if killed and not single and len(connection.killers) < MOST_TOLD:
            connection.killers.append((asked.exchange, killed, asked))
        if meaning is not None and not asked.told & _MISUNDERSTOOD:
            for one in self._about(connection, asked, meaning, values, parts):
                yield from self._tell(connection, asked, one)

    def _about(
        self, connection: Connection, asked: Asked, meaning: str, values: Sequence[Any], parts: Parts
    ) -> Iterator[Finding]:
        """What is odd about a request whose meaning is certain."""
        servers = self._server_candidates()
        operations = [outcome.met for release in servers if (outcome := asked.dealt.get(release)) is not None]
        missing = [
            met is not None and readers_missing(release, met, values) for release, met in zip(servers, operations, strict=False)
        ]
        if missing and all(missing):
            yield finding("mp.payload.readers", asked, f"{asked.name(self._client_candidates(connection))} without readers: "
                          f"lmcache {spans(whole_groups(servers))} drops it once the model is registered", "num_kv_readers", "1 at least",
                          "0, or nothing")  # fmt: skip
        yield from self._differs(connection, asked, parts)
        asked.facts["values"] = [value for value in values if isinstance(value, int | str) and not isinstance(value, bool)][:2]
        yield from self._flows.asked(asked, meaning, values)

    def _differs(self, connection: Connection, asked: Asked, parts: Parts) -> Iterator[Finding]:
        """A request that the server reads as it was meant, and that lmcache of its release would have written otherwise."""
        servers = self._server_candidates()
        if (
            len(servers) > 1
            or servers == list(self._client_candidates(connection))
            or ("mp.payload.differs", asked.operation[:16].hex()) in (connection.told)
        ):
            return
        wrong = next(filter(None, (wrong_request(release, parts, "exact") for release in servers)), None)
        if wrong is not None:
            words = (
                f"{asked.name(self._client_candidates(connection))} is not written as lmcache {spans(whole_groups(servers))} does"
            )
            yield Finding(
                RULES["mp.payload.differs"], connection.number, asked.at, "client", words, wrong.stream, _field(wrong), wrong.expected,
                wrong.got, exchange=asked.exchange,
            )  # fmt: skip

    def _decide(self, connection: Connection, asked: Asked) -> Iterator[Finding]:
        """Judge a request by what both sides may be; keep it for later where that is open."""
        verdicts = self._verdicts(connection, asked)
        if not verdicts or any((one is None) is not (verdicts[0] is None) for one in verdicts):
            if verdicts:
                self._undecided.append(asked)
            return
        first = verdicts[0]
        if first is None:
            return
        if len({one.rule for one in verdicts if one is not None}) > 1:
            self._undecided.append(asked)
            return
        asked.told.add(first.rule)
        last = verdicts[-1]
        assert last is not None
        yield from self._tell(connection, asked, self._troubled(connection, asked, last))

    def _verdicts(self, connection: Connection, asked: Asked) -> list[Trouble | None]:
        clients = [release for release in self._client_candidates(connection) if release in asked.meant]
        servers = [release for release in self._server_candidates() if release in asked.dealt]
        return [
            trouble(client, server, asked.dealt[server], asked.meant[client], asked.place)
            for client in clients
            for server in servers
        ]

    def _troubled(self, connection: Connection, asked: Asked, found: Trouble) -> Finding:
        servers = spans(whole_groups(self._server_candidates()))
        words = f"{found.meant} at a server of lmcache {servers}: {found.what}"
        known = next((operation.meaning for operation in asked.meant.values() if operation is not None), "")
        if found.harm in GRAVE and unasked(known):
            words += f"; {unasked(known)}"
        made = Finding(
            RULES[found.rule], connection.number, asked.at, "client", words, found.wrong.stream, _field(found.wrong), found.wrong.expected,
            found.wrong.got, exchange=asked.exchange,
        )  # fmt: skip
        if self.first_wrong is None or (made.at, made.connection) < (self.first_wrong.at, self.first_wrong.connection):
            self.first_wrong = made
        return made

    def _again(self) -> Iterator[Finding]:
        """Judge again what was open."""
        waiting, self._undecided = list(self._undecided), deque(maxlen=MOST_UNDECIDED)
        for asked in waiting:
            connection = self._connections.get(asked.connection)
            if connection is not None:
                yield from self._decide(connection, asked)

    # Replies

    def _reply(self, connection: Connection, seen: Seen, parts: Parts) -> Iterator[Finding]:
        offset = parts.message.offset
        if len(parts.parts) < 2:
            yield Finding(RULES["mp.reply.short"], connection.number, seen.at, "server", "a message of one frame came from the server", offset,
                          "number of frames", "2 at least", "1")  # fmt: skip
            return
        asked = connection.open.get(parts.uid)
        if asked is None:
            twice = connection.closed.get(parts.uid) is not None
            rule, words = ("mp.reply.twice", "answered already") if twice else ("mp.reply.unasked", "not of an open request")
            yield Finding(RULES[rule], connection.number, seen.at, "server", f"the uid {parts.uid[:16].hex()} of a reply is {words}", offset,
                          "uid", "that of an open request", parts.uid[:16].hex())  # fmt: skip
            return
        clients = self._client_candidates(connection)
        if parts.operation != asked.operation:
            yield Finding(RULES["mp.reply.echo"], connection.number, seen.at, "server", f"the reply to {asked.name(clients)} names another "
                          "operation", parts.message.frames[1].offset, "operation", asked.operation[:16].hex(),
                          (parts.operation or b"")[:16].hex(), exchange=asked.exchange)  # fmt: skip
        if not asked.of_stream or not parts.behind:
            del connection.open[parts.uid]
            connection.closed[parts.uid] = asked.operation
        self._last_reply = seen.at
        self._answered[asked.operation[:16]] = seen.at
        if len(self._answered) > MOST_TOLD * 16:
            self._answered.pop(next(iter(self._answered)))
        if parts.operation == asked.operation and self._weigh_reply(connection, asked, seen, parts):
            yield from self._again()
        yield from self._late(connection, asked, seen.at)
        yield from self._read(connection, asked, seen, parts)

    def _weigh_reply(self, connection: Connection, asked: Asked, seen: Seen, parts: Parts) -> bool:
        """What a reply says about the release of the server."""

        def look(release: Release, reading: Any) -> Wrong | None:
            outcome = asked.dealt.get(release)
            if outcome is None:
                return None
            if outcome.fate != "executed" or outcome.met is None:
                why = f"{outcome.wrong.what}: {outcome.wrong.got}" if outcome.wrong is not None else "it does not know it"
                return Wrong(0, 0, parts.message.offset, "reply", f"none, since it drops the request ({why})", "a reply")
            return wrong_result(release, outcome.met, asked.operation, parts, reading)

        name = f"the reply to {asked.name(self._client_candidates(connection))}"
        changed = self.server.weigh(connection.number, seen.at, name, look)
        for exchange, killed, killer in list(connection.killers):
            if exchange < asked.exchange:
                connection.killers.remove((exchange, killed, killer))
                lives = Wrong(
                    0, 0, parts.message.offset, "reply", "nothing any more, after a request with an unknown operation", "a reply"
                )
                changed |= self.server.weigh(
                    connection.number,
                    seen.at,
                    name,
                    lambda release, _, killed=killed, lives=lives: lives if release in killed else None,
                )  # type: ignore[misc]
        return changed

    def _read(self, connection: Connection, asked: Asked, seen: Seen, parts: Parts) -> Iterator[Finding]:
        """What the client makes of a reply."""
        clients = self._client_candidates(connection)
        if parts.operation == asked.operation:
            wrongs = [
                wrong_result(release, operation, asked.operation, parts, "loose")
                for release in clients
                if (operation := asked.meant.get(release)) is not None
            ]
            wrong = wrongs[-1] if wrongs else None
            if wrong is not None and all(wrongs):
                dies = all(REPLY_KILLS[release] for release in clients)
                lost = "and that ends the client's message thread" if dies else "and the client waits on"
                words = f"the reply to {asked.name(clients)} cannot be read by lmcache {spans(whole_groups(clients))}, {lost}"
                yield from self._tell(connection, asked, Finding(
                    RULES["mp.reply.form"], connection.number, seen.at, "server", words, wrong.stream, _field(wrong), wrong.expected,
                    wrong.got, exchange=asked.exchange,
                ))  # fmt: skip
                return
        meaning = asked.meaning(clients)
        if meaning is not None and not asked.told & _MISUNDERSTOOD:
            result = parts.behind[0].value if parts.behind else None
            values: Any = asked.facts.get("values", ())
            for one in self._flows.answered(asked, seen.at, meaning, result, values):
                yield from self._tell(connection, asked, one)

    def _late(self, connection: Connection, asked: Asked, at: float) -> Iterator[Finding]:
        waited = at - asked.at
        if waited > SLOW + asked.patience and not asked.of_stream:
            words = f"{asked.name(self._client_candidates(connection))} was answered after {waited:.1f} s"
            yield from self._tell(connection, asked, finding("mp.reply.slow", asked, words, who="server", at=at))

    # What does not come

    def _unanswered(self, connection: Connection, asked: Asked, now: float) -> Iterator[Finding]:
        if asked.of_stream or "mp.request.unanswered" in asked.told or now - asked.at < asked.patience + PATIENCE:
            return
        expected = bool(asked.told & _NO_ANSWER)
        asked.told.add("mp.request.unanswered")
        if expected:
            return
        name = asked.name(self._client_candidates(connection))
        others = self._last_reply is not None and self._last_reply > asked.at
        rule = "mp.heartbeat.unanswered" if name == "PING" and others else "mp.request.unanswered"
        words = f"{name} was not answered within {now - asked.at:.1f} s" + (", and later requests were" if others else "")
        yield from self._tell(connection, asked, finding(rule, asked, words, who="server", at=now))

    def _cut(self, connection: Connection, asked: Asked, at: float) -> Iterator[Finding]:
        """A request that is open when its connection ends."""
        connection.open.pop(asked.uid, None)
        if asked.of_stream or asked.told & _NO_ANSWER or "mp.request.unanswered" in asked.told:
            return
        if at - asked.at >= asked.patience + PATIENCE:
            yield from self._unanswered(connection, asked, at)
            return
        words = f"{asked.name(self._client_candidates(connection))} was open for {at - asked.at:.3f} s when its connection ended"
        yield from self._tell(connection, asked, finding("mp.request.cut", asked, words, at=at))

    def _dead(self, now: float) -> Iterator[Finding]:
        """Whether the server fell silent: what it answered before it answers no more, and nothing else either."""
        if self._last_reply is None:
            return
        waiting = [asked for one in self._connections.values() for asked in one.open.values() if asked.at > self._last_reply]
        again = [
            asked for asked in waiting if asked.operation[:16] in self._answered and now - asked.at >= asked.patience + PATIENCE
        ]
        if not again:
            return
        first = min(waiting, key=lambda asked: asked.at)
        connection = self._connections[first.connection]
        name = first.name(self._client_candidates(connection))
        words = (
            f"nothing was answered after {name} at {first.at:.3f} s, and {len(again)} requests were that it had answered before"
        )
        yield finding("mp.server.dead", first, words, who="server", at=now)

    # Both sides

    def _open_questions(self) -> Iterator[Finding]:
        told: set[tuple[int, bytes]] = set()
        for asked in self._undecided:
            connection = self._connections.get(asked.connection)
            if connection is None or (asked.connection, asked.operation) in told:
                continue
            grave = [one for one in self._verdicts(connection, asked) if one is not None and one.harm in GRAVE]
            if grave:
                told.add((asked.connection, asked.operation))
                worst = grave[-1]
                words = f"it may be {worst.meant}, and then {worst.what}"
                yield Finding(
                    RULES["mp.operation.either"], connection.number, asked.at, "client", words, worst.wrong.stream, _field(worst.wrong),
                    worst.wrong.expected, worst.wrong.got, exchange=asked.exchange,
                )  # fmt: skip

    def _sides(self, now: float) -> Iterator[Finding]:
        """What the releases of both sides say together."""
        client, server = self.guess("client"), self.guess("server")
        for who, guess in (("client", client), ("server", server)):
            if self.profile is not None and guess.seen and guess.candidates and not guess.may_be(self.profile):
                yield Finding(RULES["mp.sides.profile"], 0, now, who, f"the {who} seems to be {guess.words}, and not {self.profile}",
                              expected=str(self.profile), got=guess.words)  # type: ignore[arg-type]  # fmt: skip
            side = self.clients if who == "client" else self.server
            if guess.seen and guess.candidates and side.reading == "loose":
                yield Finding(
                    RULES["mp.stranger"],
                    0,
                    now,
                    who,
                    f"the {who} speaks as {guess.words} does, but does not write just as lmcache",
                )  # type: ignore[arg-type]
        if client.seen and not client.candidates and len(self._connections) > 1:
            words = "; ".join(
                f"connection {number}: {guess.words}" for number, guess in list(self.guesses().items())[:8] if guess.seen
            )
            yield Finding(RULES["mp.clients.differ"], 0, now, "client", words)
        if (
            client.candidates
            and server.candidates
            and client.seen
            and server.seen
            and not set(client.candidates) & set(server.candidates)
        ):
            maybe = set(whole_groups(self.clients.alive["loose"])) & set(server.candidates)
            rule = "mp.sides.may-differ" if maybe else "mp.sides.differ"
            yield Finding(RULES[rule], 0, now, "client", f"the client seems to be {client.words}, the server {server.words}",
                          expected=server.words, got=client.words)  # fmt: skip

    def _client_candidates(self, connection: Connection) -> Sequence[Release]:
        """What the client of a connection may be: what all of them may be together, if they may be one release.

        A client that reads and writes as the server's release does, only not byte for byte as lmcache, may be of that one.
        """
        own = self.clients.candidates or connection.client.candidates
        found = list(own)
        if self._earlier is not None:
            before = self._earlier._connections.get(connection.number)
            known = self._earlier.clients.candidates or (before.client.candidates if before is not None else ())
            found = [release for release in own if release in known] or found
        sides = (self.clients, connection.client) if self.clients.candidates else (connection.client,)
        servers = self._server_candidates()
        if not set(servers) & set(found):
            found += [release for release in servers if all(release in side.alive["loose"] for side in sides)]
        return [self.profile] if self.profile is not None and self.profile in found else found

    def _server_candidates(self) -> Sequence[Release]:
        if self.profile is not None:
            return [self.profile]
        own = self.server.candidates
        known = self._earlier.server.candidates if self._earlier is not None else own
        return [release for release in own if release in known] or list(own)

    def _tell(self, connection: Connection, asked: Asked, found: Finding) -> Iterator[Finding]:
        """A finding, unless the same was told of this operation very often."""
        place = found.rule.name, asked.operation[:16].hex()
        if len(connection.told) < MOST_TOLD * 64 or place in connection.told:
            connection.told[place] = connection.told.get(place, 0) + 1
            if connection.told[place] <= MOST_TOLD:
                yield found


_NO_ANSWER: Final = frozenset(
    {
        "mp.operation.dropped",
        "mp.operation.kills",
        "mp.operation.unknown",
        "mp.payload.count",
        "mp.payload.type",
        "mp.frames.single",
    }
)
"""Rules that say why no answer comes."""
_MISUNDERSTOOD: Final = frozenset({*_NO_ANSWER, "mp.operation.other"})


def _field(wrong: Wrong) -> str:
    return f"{wrong.what} (frame {wrong.frame}, byte {wrong.offset} of it)"
