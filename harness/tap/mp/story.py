"""A conversation told in lines: who asked for what, what came back, and how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from harness.tap.event import Event
from harness.tap.event import Side as Who
from harness.tap.mp.bounded import Bounded
from harness.tap.mp.candidates import operation_in
from harness.tap.mp.connection import MOST_OPEN
from harness.tap.mp.lint import MpListener
from harness.tap.mp.parts import Parts
from harness.tap.mp.talk import Seen, Talk
from harness.tap.mp.zmtp import Broken, Command, Greeting, properties
from reports.plain import clip
from reports.words import count
from wire.mp.operations import Operation, operation_table

LONGEST: Final = 100
"""Characters of one value."""
_FEW: Final = 6


@dataclass
class Line:
    """One thing that happened, or a request with its reply."""

    at: float
    connection: int
    side: Who
    text: str
    exchange: int | None = None
    """The request on the connection, from 1."""
    request: Parts | None = None
    reply: Parts | None = None
    took: float | None = None
    """Seconds until the reply."""
    answer: str = ""

    @property
    def words(self) -> str:
        """The line without its time: what was asked, and what came of it."""
        if self.request is None:
            return self.text
        if self.reply is None:
            return f"{self.text} -> no reply"
        took = "" if self.took is None else f" ({_duration(self.took)})"
        return f"{self.text} -> {self.answer}{took}"


@dataclass
class Story:
    """Tells a recording; a request is told at its place, with what became of it later."""

    listener: MpListener
    """One that has heard it."""
    _lines: list[Line] = field(default_factory=list)
    _open: Bounded[tuple[int, bytes], Line] = field(default_factory=lambda: Bounded(MOST_OPEN))
    _exchanges: dict[int, int] = field(default_factory=dict)
    _beats: dict[tuple[int, Who], int] = field(default_factory=dict)

    def tell(self, events: Iterable[Event]) -> list[Line]:
        """All lines, in the order of their times."""
        talk = Talk()
        for event in events:
            for seen in talk.feed(event):
                self._seen(seen)
        for (connection, side), beats in self._beats.items():
            self._lines.append(Line(0.0, connection, side, f"the {side} sent {count(beats, 'heartbeat')} of ZeroMQ"))
        return sorted(self._lines, key=lambda line: line.at)

    def _seen(self, seen: Seen) -> None:
        match seen.what:
            case Parts() as parts if seen.side == "client":
                self._request(seen, parts)
            case Parts() as parts:
                self._reply(seen, parts)
            case Command(name=b"PING"):
                place = seen.connection, seen.side
                self._beats[place] = self._beats.get(place, 0) + 1
            case Command(name=b"PONG"):
                pass
            case _:
                self._lines.append(Line(seen.at, seen.connection, seen.side, _plain(seen)))

    def _request(self, seen: Seen, parts: Parts) -> None:
        number = self._exchanges[seen.connection] = self._exchanges.get(seen.connection, 0) + 1
        operation = self._operation(seen.connection, parts)
        name = operation.name if operation is not None else _unknown(parts)
        words = ", ".join(filter(None, (told(part.value) if not part.refused else part.refused for part in parts.behind[:8])))
        line = Line(seen.at, seen.connection, "client", f"{name} {words}".strip(), number, parts)
        self._lines.append(line)
        if not parts.of_stream:
            self._open[seen.connection, parts.uid] = line

    def _reply(self, seen: Seen, parts: Parts) -> None:
        line = self._open.get((seen.connection, parts.uid))
        answer = "ok"
        if parts.behind:
            answer = told(parts.behind[0].value) if not parts.behind[0].refused else parts.behind[0].refused
        if line is None or line.reply is not None:
            self._lines.append(Line(seen.at, seen.connection, "server", f"a reply: {answer}", reply=parts))
            return
        line.reply, line.took, line.answer = parts, seen.at - line.at, answer

    def _operation(self, number: int, parts: Parts) -> Operation | None:
        """What a request was to the newest client that it may have come from."""
        candidates = self.listener.sides.client_candidates(self.listener.sides.connection(number))
        for release in sorted(candidates, reverse=True):
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
        case "open":
            return f"the {'client came from' if seen.side == 'client' else 'server was reached at'} {seen.text}".strip()
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


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def tell(events: Iterable[Event], listener: MpListener) -> Sequence[Line]:
    """The story of a recording that was listened to."""
    return Story(listener).tell(events)
