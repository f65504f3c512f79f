"""Listens to conversations with the multiprocess server: what is wrong in them, and what release each side seems to be.

It hears the events of a recording, or of a proxy, in their order. What it finds rests on messages and not on segments. Whatever
comes, it never raises, and what it remembers is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.tap.event import Event
from harness.tap.event import Side as Who
from harness.tap.finding import Finding
from harness.tap.guess import Guess
from harness.tap.listener import Piece
from harness.tap.mp.asked import Asked, Look, meanings, weigh_request
from harness.tap.mp.candidates import Reading, Wrong, spans, whole_groups, wrong_result
from harness.tap.mp.connection import Connection
from harness.tap.mp.dealings import dealt
from harness.tap.mp.evidence import guess_of
from harness.tap.mp.flows import Flows, finding
from harness.tap.mp.judge import MISUNDERSTOOD, Judge, field_of
from harness.tap.mp.parts import Parts
from harness.tap.mp.rules import RULES
from harness.tap.mp.sides import Sides
from harness.tap.mp.silence import PATIENCE, Silence
from harness.tap.mp.talk import Seen, Talk
from harness.tap.mp.zmtp import KEPT_FRAMES, Broken, Command, Greeting
from harness.tap.pseudonyms import Pseudonyms
from reports.collisions.effects import REPLY_KILLS
from wire.release import Release

OVERSIZED: Final = 1 << 30
"""Bytes of a frame."""
_WAITS: Final = "WAIT_PREFETCH_STATUS"
_LONGEST_WAIT: Final = 3600.0
_MOST_KILLERS: Final = 64
_LOOK_AGAIN: Final = 1.0
"""Seconds between two looks at what is overdue."""


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
    for _ in earlier.ended(now):
        pass
    listener = MpListener(profile, earlier=earlier)
    found = [finding for event in events for finding in listener.hear(event)]
    found += listener.finish(now)
    found.sort(key=lambda finding: (finding.at, finding.connection))
    return Heard(tuple(found), listener)


class MpListener:
    """One recording, or one proxy while it runs."""

    def __init__(self, profile: Release | None = None, *, patience: float = PATIENCE, earlier: MpListener | None = None) -> None:
        """``profile`` is the release that both sides are said to be; ``earlier`` has heard the same events before."""
        self.sides: Sides = Sides.of(profile, None if earlier is None else earlier.sides)
        self._judge = Judge(self.sides)
        self._silence = Silence(self.sides, self._judge, patience)
        self._patience = patience
        self._flows = Flows()
        self._talk = Talk()
        self._looked = 0.0

    # What comes

    def hear(self, event: Event) -> Iterator[Finding]:
        """What an event shows."""
        found = [*self.tick(event.at)]
        for seen in self._talk.feed(event):
            found += self._seen(seen)
        yield from found

    def tick(self, now: float) -> Iterator[Finding]:
        """What shows because nothing happened until now; looked for once in a while."""
        if now - self._looked < _LOOK_AGAIN:
            return
        self._looked = now
        for connection in list(self.sides.connections.values()):
            yield from connection.overdue_pings(now)
            yield from self._silence.overdue(connection, now)

    def finish(self, now: float) -> Iterator[Finding]:
        """What shows at the end of everything."""
        yield from self.ended(now)
        yield from self._together(now)

    def ended(self, now: float) -> Iterator[Finding]:
        """What shows at the end, but for what the releases of both sides say together."""
        for number, who, words in self._talk.pending():
            yield Finding(RULES["mp.zmtp.gap"], number, now, who, f"the recording ends within {words}")
        yield from self._silence.dead(now)
        for connection in list(self.sides.connections.values()):
            for asked in list(connection.open.values()):
                if now - asked.at >= self._patience:
                    yield from self._silence.unanswered(connection, asked, now)
        yield from self._judge.open_questions()
        yield from self._flows.finish(now)

    def guess(self, who: Who) -> Guess:
        """What release a side seems to be; the clients together."""
        return guess_of(self.sides.clients if who == "client" else self.sides.server, who)

    def guesses(self) -> dict[int, Guess]:
        """What the client of each connection seems to be."""
        return {number: guess_of(connection.client, "client") for number, connection in self.sides.connections.items()}

    @property
    def first_wrong(self) -> Finding | None:
        """The first byte that does not mean the same to both sides."""
        return self._judge.first_wrong

    def pieces(self) -> Sequence[Piece]:
        """Nothing: what is written down of this wire is decided by :mod:`harness.tap.mp.keeper`."""
        return ()

    def redact(self, key: bytes, pseudonyms: Pseudonyms) -> bytes:
        """Nothing is left: as :meth:`pieces`."""
        del pseudonyms
        return bytes(len(key))

    # Things seen

    def _seen(self, seen: Seen) -> Iterator[Finding]:
        connection = self.sides.connection(seen.connection)
        match seen.what:
            case Greeting():
                yield from connection.greeting(seen.at, seen.side, seen.what)
            case Command():
                yield from connection.command(seen.at, seen.side, seen.what)
            case Broken():
                yield connection.broken(seen.at, seen.side, seen.what)
            case Parts() as parts:
                yield from _sizes(connection, seen, parts)
                yield from (self._request if seen.side == "client" else self._reply)(connection, seen, parts)
            case "end" | "reset":
                yield from connection.end(seen.at, seen.side, seen.text)
                for asked in list(connection.open.values()):
                    yield from self._silence.cut(connection, asked, seen.at)

    def _request(self, connection: Connection, seen: Seen, parts: Parts) -> Iterator[Finding]:
        connection.exchanges += 1
        asked, narrowed = self._asked(connection, seen, parts)
        if narrowed:
            yield from self._judge.again()
        if not asked.operation and len(parts.parts) < 2:
            asked.told.add("mp.frames.single")
            yield _odd(
                "mp.frames.single",
                asked,
                "a message of one frame ends the server's message thread",
                "number of frames",
                "2 at least",
                "1",
            )
        elif not asked.uid:
            yield _odd("mp.frames.delimiter", asked, "the uid is an empty frame", "uid", "a msgpack value", "an empty frame")
        if parts.of_stream:
            yield from self._judge.decide(connection, asked)
            return
        if parts.uid in connection.open:
            asked.told.add("mp.uid.reused")
            other = self._judge.name(connection, connection.open[parts.uid])
            words = f"uid {parts.uid[:16].hex()} has an open request, {other}"
            yield from connection.tell(asked, finding("mp.uid.reused", asked, words))
        connection.open[parts.uid] = asked
        yield from self._judge.decide(connection, asked)
        meaning = asked.meaning(self.sides.client_candidates(connection))
        if meaning is None or asked.told & MISUNDERSTOOD:
            return
        values = [part.value for part in parts.behind]
        if meaning == _WAITS and len(values) > 1 and isinstance(values[1], int | float):
            asked.patience = min(max(float(values[1]), 0.0), _LONGEST_WAIT)
        asked.facts["values"] = [value for value in values if isinstance(value, int | str) and not isinstance(value, bool)][:2]
        for one in [*self._judge.about(connection, asked, parts, values), *self._flows.asked(asked, meaning, values)]:
            yield from connection.tell(asked, one)

    def _asked(self, connection: Connection, seen: Seen, parts: Parts) -> tuple[Asked, bool]:
        """A request, and whether it says anything new of its client."""
        single = len(parts.parts) < 2
        mine, all_of_them = connection.client, self.sides.clients
        look = Look(parts)
        at_servers = dict.fromkeys([*self.sides.server.alive["loose"], *self.sides.server_candidates()])
        dealt_with = {release: dealt(release, parts, look(release, "loose")) for release in at_servers}
        narrowed = False
        if not single and parts.whole and look.fits_any():
            narrowed = weigh_request(mine, connection.number, seen.at, parts, look)
            narrowed |= weigh_request(all_of_them, connection.number, seen.at, parts, look)
        known = [*self.sides.client_candidates(connection), *mine.alive["loose"]]
        asked = Asked(
            connection.number, seen.at, connection.exchanges, parts.uid, parts.operation or b"", parts.message.offset,
            parts.message.end if single else parts.message.frames[1].offset, dealt_with, meanings(parts, known),
        )  # fmt: skip
        killed = frozenset(release for release, outcome in dealt_with.items() if outcome.fate == "killed")
        if killed and not single and len(connection.killers) < _MOST_KILLERS:
            connection.killers.append((asked.exchange, killed))
        return asked, narrowed

    def _reply(self, connection: Connection, seen: Seen, parts: Parts) -> Iterator[Finding]:
        offset = parts.message.offset
        if len(parts.parts) < 2:
            yield Finding(
                RULES["mp.reply.short"],
                connection.number,
                seen.at,
                "server",
                "a message of one frame came from the server",
                offset,
                "number of frames",
                "2 at least",
                "1",
            )
            return
        asked = connection.open.get(parts.uid)
        if asked is None:
            twice = connection.closed.get(parts.uid) is not None
            rule, words = ("mp.reply.twice", "answered already") if twice else ("mp.reply.unasked", "not of an open request")
            uid = parts.uid[:16].hex()
            yield Finding(
                RULES[rule],
                connection.number,
                seen.at,
                "server",
                f"the uid {uid} of a reply is {words}",
                offset,
                "uid",
                "that of an open request",
                uid,
            )
            return
        if not asked.of_stream or not parts.behind:
            del connection.open[parts.uid]
            connection.closed[parts.uid] = asked.operation
        yield from self._silence.replied(connection, asked, seen.at)
        if parts.operation != asked.operation:
            words = f"the reply to {self._judge.name(connection, asked)} names another operation"
            yield Finding(
                RULES["mp.reply.echo"],
                connection.number,
                seen.at,
                "server",
                words,
                parts.message.frames[1].offset,
                "operation",
                asked.operation[:16].hex(),
                (parts.operation or b"")[:16].hex(),
                exchange=asked.exchange,
            )
            return
        if self._weigh_reply(connection, asked, seen, parts):
            yield from self._judge.again()
        yield from self._read(connection, asked, seen, parts)

    def _weigh_reply(self, connection: Connection, asked: Asked, seen: Seen, parts: Parts) -> bool:
        """Whether a reply says anything new of the server."""

        def look(release: Release, reading: Reading) -> Wrong | None:
            outcome = asked.dealt.get(release)
            if outcome is None:
                return None
            if outcome.fate != "executed" or outcome.met is None:
                why = f"{outcome.wrong.what}: {outcome.wrong.got}" if outcome.wrong is not None else "it does not know it"
                return Wrong(0, 0, parts.message.offset, "reply", f"none, since it drops the request ({why})", "a reply")
            return wrong_result(release, outcome.met, asked.operation, parts, reading)

        name = f"the reply to {self._judge.name(connection, asked)}"
        changed = self.sides.server.weigh(connection.number, seen.at, name, look)
        for exchange, killed in list(connection.killers):
            if exchange < asked.exchange:
                connection.killers.remove((exchange, killed))
                words = "nothing any more, after a request with an unknown operation"
                lives = dict.fromkeys(killed, Wrong(0, 0, parts.message.offset, "reply", words, "a reply"))
                changed |= self.sides.server.weigh(connection.number, seen.at, name, _those(lives))
        return changed

    def _read(self, connection: Connection, asked: Asked, seen: Seen, parts: Parts) -> Iterator[Finding]:
        """What the client makes of a reply."""
        clients = self.sides.client_candidates(connection)
        operations = [(release, operation) for release in clients if (operation := asked.meant.get(release)) is not None]
        wrongs = [wrong_result(release, operation, asked.operation, parts, "loose") for release, operation in operations]
        wrong = wrongs[-1] if wrongs else None
        if wrong is not None and all(wrongs):
            rule, words = (
                "mp.reply.nil",
                f"the reply to {self._judge.name(connection, asked)} has no result, which the client takes for nil",
            )
            if parts.behind:
                dies = all(REPLY_KILLS[release] for release in clients)
                lost = "and that ends the client's message thread" if dies else "and the client waits on"
                rule, words = (
                    "mp.reply.form",
                    (
                        f"the reply to {self._judge.name(connection, asked)} cannot be read by lmcache "
                        f"{spans(whole_groups(clients))}, {lost}"
                    ),
                )
            found = Finding(
                RULES[rule],
                connection.number,
                seen.at,
                "server",
                words,
                wrong.stream,
                field_of(wrong),
                wrong.expected,
                wrong.got,
                exchange=asked.exchange,
            )
            yield from connection.tell(asked, found)
            return
        meaning = asked.meaning(clients)
        if meaning is not None and not asked.told & MISUNDERSTOOD:
            result = parts.behind[0].value if parts.behind else None
            values: Any = asked.facts.get("values", ())
            for one in self._flows.answered(asked, seen.at, meaning, result, values):
                yield from connection.tell(asked, one)

    def _together(self, now: float) -> Iterator[Finding]:
        """What the releases of both sides say together."""
        client, server, profile = self.guess("client"), self.guess("server"), self.sides.profile
        pairs: list[tuple[Who, Guess]] = [("client", client), ("server", server)]
        for who, guess in pairs:
            if profile is not None and guess.seen and guess.candidates and not guess.may_be(profile):
                words = f"the {who} seems to be {guess.words}, and not {profile}"
                yield Finding(RULES["mp.sides.profile"], 0, now, who, words, expected=str(profile), got=guess.words)
            side = self.sides.clients if who == "client" else self.sides.server
            if guess.seen and guess.candidates and side.reading == "loose":
                words = f"the {who} speaks as {guess.words} does, but does not write just as lmcache"
                yield Finding(RULES["mp.stranger"], 0, now, who, words)
        if client.seen and not client.candidates and len(self.sides.connections) > 1:
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
            maybe = set(whole_groups(self.sides.clients.alive["loose"])) & set(server.candidates)
            rule = "mp.sides.may-differ" if maybe else "mp.sides.differ"
            words = f"the client seems to be {client.words}, the server {server.words}"
            first = self.first_wrong
            if first is None:
                yield Finding(RULES[rule], 0, now, "client", words, expected=server.words, got=client.words)
                return
            place = f"byte {first.offset} of what the client sent on connection {first.connection}, {first.field}"
            words += f"; the first byte that they read differently is {place}"
            yield Finding(RULES[rule], 0, now, "client", words, None, first.field, first.expected, first.got)


def _sizes(connection: Connection, seen: Seen, parts: Parts) -> Iterator[Finding]:
    message = parts.message
    if message.count > KEPT_FRAMES:
        yield Finding(RULES["mp.frames.many"], connection.number, seen.at, seen.side, f"a message of {message.count} frames",
                      message.offset, "number of frames", f"at most {KEPT_FRAMES}", str(message.count))  # fmt: skip
    for index, frame in enumerate(message.frames):
        if frame.length > OVERSIZED:
            words = f"frame {index} has {frame.length} bytes"
            yield Finding(RULES["mp.frames.oversized"], connection.number, seen.at, seen.side, words, frame.offset,
                          f"length of frame {index}", f"at most {OVERSIZED}", str(frame.length))  # fmt: skip


def _odd(rule: str, asked: Asked, words: str, field: str, expected: str, got: str) -> Finding:
    return finding(rule, asked, words, field, expected, got)


def _those(wrong: Mapping[Release, Wrong]) -> Callable[[Release, Reading], Wrong | None]:
    return lambda release, _: wrong.get(release)
