"""A conversation told in lines: who asked for what, what came back, and how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.tap.event import Event
from harness.tap.event import Side as Who
from harness.tap.guess import Guess
from harness.tap.mp.bounded import Bounded
from harness.tap.mp.candidates import operation_in
from harness.tap.mp.connection import MOST_OPEN
from harness.tap.mp.dumps import Dumps
from harness.tap.mp.lint import MpListener, listen
from harness.tap.mp.parts import Parts
from harness.tap.mp.talk import Seen, Talk
from harness.tap.mp.zmtp import Broken, Command, Greeting, properties
from harness.tap.recording import Header
from harness.tap.story import MOST_ROWS, Conversation, Notes, Row, Story
from reports.plain import clip
from wire.mp.operations import Operation, operation_table
from wire.release import Release

LONGEST: Final = 100
"""Characters of one value."""
_FEW: Final = 6
_MOST_PAYLOADS: Final = 8


def tell(header: Header, events: Iterable[Event], profile: Release | None) -> Story:
    """Listen to a recording, twice, and write down what was said."""
    kept = list(events)
    heard = listen(kept, profile)
    notes = Notes()
    notes.add(heard.findings)
    dumps = Dumps(notes.kept)
    teller = _Teller(heard.listener, dumps)
    last = 0.0
    for event in kept:
        last = max(last, event.until or event.at)
        if event.connection:
            teller.hear(event)
    notes.kept = dumps.added_to(notes.kept)
    guesses: dict[Who, Guess] = {"client": heard.listener.guess("client"), "server": heard.listener.guess("server")}
    return Story(
        header, guesses, notes.in_order(), notes.counted, notes.levels, teller.finished(), last, left_out=teller.left_out
    )


class _Teller:
    """Tells a recording; a request is told at its place, with what became of it later."""

    def __init__(self, listener: MpListener, dumps: Dumps) -> None:
        self.left_out = 0
        self._listener = listener
        self._dumps = dumps
        self._talk = Talk()
        self._conversations: dict[int, Conversation] = {}
        self._open: Bounded[tuple[int, bytes], Row] = Bounded(MOST_OPEN)
        self._rows = 0
        self._exchanges: dict[int, int] = {}
        self._beats: dict[tuple[int, Who], Row] = {}

    def hear(self, event: Event) -> None:
        """Tell what an event brought to its end."""
        one = self._conversations.setdefault(event.connection, Conversation(event.connection, "", event.at))
        if event.do == "open" and event.side == "client":
            one.peer = event.text
        if event.do == "data":
            one.sent[event.side] += event.size
        if event.do in ("close", "reset", "error"):
            one.ended = event.at
        for seen in self._talk.feed(event):
            self._dumps.seen(seen)
            self._seen(seen)

    def finished(self) -> list[Conversation]:
        """All that was told."""
        return list(self._conversations.values())

    def _seen(self, seen: Seen) -> None:
        match seen.what:
            case Parts() as parts if seen.side == "client":
                self._request(seen, parts)
            case Parts() as parts:
                self._reply(seen, parts)
            case Command(name=b"PING"):
                self._beat(seen)
            case Command(name=b"PONG"):
                pass
            case "open":
                pass
            case _:
                wrong = isinstance(seen.what, Broken) or seen.what == "error"
                self._add(Row(seen.at, seen.connection, seen.side, _plain(seen), wrong=wrong))

    def _beat(self, seen: Seen) -> None:
        """Heartbeats of a side are one line."""
        place = seen.connection, seen.side
        row = self._beats.get(place)
        if row is None:
            row = self._beats[place] = Row(seen.at, seen.connection, seen.side, f"heartbeats of the {seen.side}'s ZeroMQ", "0")
            self._add(row)
        row.about = str(int(row.about) + 1)

    def _request(self, seen: Seen, parts: Parts) -> None:
        number = self._exchanges[seen.connection] = self._exchanges.get(seen.connection, 0) + 1
        operation = self._operation(seen.connection, parts)
        name = operation.name if operation is not None else _unknown(parts)
        words = [told(part.value) if not part.refused else part.refused for part in parts.behind[:_MOST_PAYLOADS]]
        row = Row(
            seen.at, seen.connection, "client", name, ", ".join(words), outcome="" if parts.of_stream else "no reply",
            exchange=number, wrong=not parts.of_stream,
        )  # fmt: skip
        self._add(row)
        if not parts.of_stream:
            self._open[seen.connection, parts.uid] = row

    def _reply(self, seen: Seen, parts: Parts) -> None:
        row = self._open.get((seen.connection, parts.uid))
        answer = "ok"
        if parts.behind:
            answer = told(parts.behind[0].value) if not parts.behind[0].refused else parts.behind[0].refused
        if row is None or row.took is not None:
            self._add(Row(seen.at, seen.connection, "server", "reply", outcome=answer))
            return
        row.outcome, row.took, row.wrong = answer, seen.at - row.at, False

    def _add(self, row: Row) -> None:
        self._rows += 1
        if self._rows > MOST_ROWS:
            self.left_out += 1
        else:
            self._conversations[row.connection].rows.append(row)

    def _operation(self, number: int, parts: Parts) -> Operation | None:
        """What a request was to the newest client that it may have come from."""
        sides = self._listener.sides
        for release in sorted(sides.client_candidates(sides.connection(number)), reverse=True):
            found = operation_in(operation_table(release), parts)
            if found is not None:
                return found
        return None


def _unknown(parts: Parts) -> str:
    if len(parts.parts) < 2:
        return "a message of one frame"
    if parts.of_stream:
        return f"about a stream: {parts.behind[0].data.decode('ascii', 'replace')}"
    number = parts.number
    return f"operation {number!r:.40}" if isinstance(number, int | str) else "a message that names no operation"


def _plain(seen: Seen) -> str:
    match seen.what:
        case Greeting() as found:
            major, minor = found.version
            return f"the {seen.side} speaks ZMTP {major}.{minor}, mechanism {found.mechanism}"
        case Command(name=b"READY") as found:
            members = properties(found.data) or {}
            kind = members.get("Socket-Type", b"").decode("ascii", "replace")
            identity = members.get("Identity", b"")
            return f"the {seen.side} has a {kind:.20} socket" + (
                f" with an identity of {len(identity)} bytes" if identity else ""
            )
        case Command() as found:
            return f"the {seen.side} sent the command {found.name.decode('ascii', 'replace')}"
        case Broken() as found:
            return f"from here on the {seen.side} cannot be read: {found.summary}"
        case "end":
            return f"the {seen.side} sends no more"
        case "reset":
            return f"the {seen.side} reset the connection"
    return f"the {seen.side}: {seen.text}"


def told(value: Any) -> str:
    """A value in few words: long lists as their lengths, keys by what they are about."""
    if isinstance(value, Mapping):
        if "model_name" in value and ("token_ids" in value or "chunk_hash" in value):
            return _key(value)
        members = (f"{clip(str(name), 40)}: {told(member)}" for name, member in list(value.items())[:_FEW])
        return "{" + ", ".join(members) + (", ...}" if len(value) > _FEW else "}")
    if isinstance(value, list):
        if len(value) > _FEW:
            return f"[{len(value)} values]"
        return "[" + ", ".join(map(told, value)) + "]"
    if isinstance(value, bytes):
        return f"{len(value)} bytes" if len(value) > _FEW else f"0x{value.hex()}" if value else "no bytes"
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return clip(f'"{value}"', LONGEST)
    data = getattr(value, "data", None)
    return f"a KV tensor of {len(data)} bytes" if isinstance(data, bytes | memoryview) else clip(repr(value), LONGEST)


def _key(key: Mapping[str, Any]) -> str:
    words = [clip(f'"{key["model_name"]}"', LONGEST)]
    tokens = key.get("token_ids")
    if isinstance(tokens, list):
        words.append(f"tokens {key.get('start')} to {key.get('end')} of {len(tokens)}")
    worker, world = key.get("worker_id"), key.get("world_size")
    words.append(f"worker {'any' if worker is None else worker} of {world}")
    if key.get("request_id") is not None:
        words.append(f"request {told(key['request_id'])}")
    if key.get("cache_salt"):
        words.append(f"salt {told(key['cache_salt'])}")
    return f"key({', '.join(words)})"
