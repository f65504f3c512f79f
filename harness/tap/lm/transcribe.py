"""A recording of ``lm://`` as a transcript of the corpus: what to send, and what came back, step by step.

Requests that were sent together are sent one by one, each after the reply to the one before; servers answer in order, so that
the replies are the same. Payload that was left out becomes a pattern, the same for equal payloads, in replies too. What was
stored before the recording began is stored first. Where a value has to be there for another connection, its own asks for it
once more.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from fixturegen.player import LONGEST_LITERAL
from fixturegen.vector import Step, StepKind, Transcript, patterned
from harness.tap.event import Event
from harness.tap.lm import replies, requests
from harness.tap.lm.exchange import Exchange, Reply
from harness.tap.lm.replies import ReplyStream
from harness.tap.lm.requests import RequestStream
from harness.tap.lm.stream import BackInStep, Blind, LostStep
from wire.lm.enums import COMMANDS
from wire.lm.frames import replace_field
from wire.lm.profile import KEY_FIELD_SIZE, HeaderLayout

_BEFORE: Final = "before"
"""The connection that stores what was there before."""
_SEEDS: Final = 1 << 31


@dataclass
class _Body:
    """A payload as it passes: its bytes, or what stands for those that were left out."""

    data: bytearray = field(default_factory=bytearray)
    whole: bool = True
    sha256: str = ""

    def take(self, event: Event, place: int, length: int) -> None:
        if event.length is None:
            self.data += event.data[place : place + length]
        else:
            self.whole = False
            self.sha256 = event.sha256

    def pattern(self, length: int) -> dict[str, int]:
        """The pattern that stands for it: that of its digest, so that equal payloads have equal ones."""
        digest = self.sha256 or hashlib.sha256(self.data).hexdigest()
        return {"seed": int(digest[:8], 16) % _SEEDS, "length": length}

    def bytes(self, length: int) -> bytes:
        """Its bytes, or those of the pattern."""
        if self.whole:
            return bytes(self.data)
        pattern = self.pattern(length)
        return patterned(pattern["seed"], pattern["length"])


@dataclass
class _Talk:
    """One connection."""

    name: str
    requests: RequestStream
    replies: ReplyStream
    waiting: deque[Exchange]
    sending: _Body = field(default_factory=_Body)
    coming: _Body = field(default_factory=_Body)
    raw: bool = False
    """A stream lost step: from here on segments are sent and compared as they are."""
    stored: list[Exchange] = field(default_factory=list)
    """PUTs behind which no reply came yet, so that the server may still be busy with them."""
    ended: bool = False


class Transcriber:
    """Makes steps of events."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._talks: dict[int, _Talk] = {}
        self._known: set[str] = set()
        """Keys whose value the transcript has stored, or of which it is known that there was none."""
        self._before: list[tuple[Exchange, Reply, _Body]] = []
        self._layout: HeaderLayout | None = None

    def hear(self, event: Event) -> None:
        """One event, in order."""
        if not event.connection:
            return
        talk = self._talks.get(event.connection)
        if talk is None:
            waiting: deque[Exchange] = deque()
            name = f"c{event.connection}"
            talk = _Talk(name, RequestStream(event.connection), ReplyStream(waiting, self._layout), waiting)
            self._talks[event.connection] = talk
            self._add("connect", talk)
        if event.do == "data":
            if event.side == "client":
                self._sent(talk, event)
            else:
                self._came(talk, event)
        elif event.do != "open" and not talk.ended:
            self._end(talk, event)

    def finish(self) -> list[Step]:
        """All steps, what has to be stored first in front."""
        for talk in self._talks.values():
            self._conclude(talk)
            if not talk.ended:
                self._silence(talk)
        return [*self._prepared(), *self.steps]

    # -- what clients send

    def _sent(self, talk: _Talk, event: Event) -> None:
        if talk.raw:
            self._send(talk, event.data if event.length is None else bytes(event.length))
            return
        self._conclude(talk)
        before = bytes(talk.requests.header)
        seen = talk.requests.feed(event)
        place = 0
        for piece in talk.requests.pieces:
            if piece.kind == "payload":
                talk.sending.take(event, place, piece.length)
            place += piece.length
            if piece.kind == "payload" and piece.ends:
                self._whole(talk, seen)
        for one in seen:
            if isinstance(one, Exchange):
                self._asked(talk, one)
            elif isinstance(one, LostStep | Blind):
                talk.raw = True
                self._send(talk, before + event.data)
                return
        self._whole(talk, seen)

    def _asked(self, talk: _Talk, exchange: Exchange) -> None:
        talk.replies.fallback = exchange.layout
        if exchange.command == "PUT":
            return
        if exchange.command in {"GET", "EXIST"}:
            self._settle(talk, exchange.key)
        if exchange.wants_reply:
            talk.waiting.append(exchange)
        self._send(talk, exchange.header)

    def _whole(self, talk: _Talk, seen: list[requests.Seen]) -> None:
        """Send the PUTs whose payload is whole."""
        for one in list(seen):
            if isinstance(one, requests.Stored):
                seen.remove(one)
                exchange, body = one.exchange, talk.sending
                talk.sending = _Body()
                if body.whole:
                    self._send(talk, exchange.header + bytes(body.data))
                else:
                    self._send(talk, exchange.header)
                    self._add("send", talk, pattern=body.pattern(exchange.payload.length))
                talk.stored.append(exchange)
                self._known.add(exchange.key)
                return

    def _settle(self, talk: _Talk, key: str) -> None:
        """Let another connection that has just stored a key see that it is stored."""
        for other in self._talks.values():
            put = next((one for one in other.stored if one.key == key), None)
            if other is talk or put is None or other.ended or other.raw or self._layout is None:
                continue
            other.stored.clear()
            self._confirm(other, put.header, put.layout)

    def _confirm(self, talk: _Talk, header: bytes, layout: HeaderLayout) -> None:
        assert self._layout is not None
        self._send(talk, _question(layout, header))
        self._receive(talk, _yes(self._layout))

    # -- what servers send

    def _came(self, talk: _Talk, event: Event) -> None:
        if talk.raw:
            self._receive(talk, event.data if event.length is None else bytes(event.length))
            return
        seen = talk.replies.feed(event)
        place = 0
        for piece in talk.replies.pieces:
            if piece.kind == "payload":
                talk.coming.take(event, place, piece.length)
            place += piece.length
        self._told(talk, seen)
        if any(isinstance(one, LostStep | BackInStep | Blind) for one in seen):
            talk.raw = True
            self._receive(talk, event.data)

    def _told(self, talk: _Talk, seen: Iterable[replies.Seen]) -> None:
        for one in seen:
            if isinstance(one, replies.Ended):
                exchange, reply, body = one.exchange, one.reply, talk.coming
                talk.coming = _Body()
                talk.stored.clear()
                if reply.layout is not None:
                    self._layout = reply.layout
                if exchange is not None and exchange.command in {"GET", "EXIST"}:
                    self._remember(exchange, reply, body)
                self._receive(talk, reply.header + (body.bytes(reply.payload.length) if reply.payload.length else b""))

    def _remember(self, exchange: Exchange, reply: Reply, body: _Body) -> None:
        if exchange.key in self._known:
            return
        self._known.add(exchange.key)
        if reply.code == 200:
            self._before.append((exchange, reply, body))

    def _conclude(self, talk: _Talk) -> None:
        if not talk.raw:
            self._told(talk, talk.replies.conclude())

    # -- ends

    def _end(self, talk: _Talk, event: Event) -> None:
        self._conclude(talk)
        if event.do == "error":
            talk.ended = True
            return
        self._rest(talk)
        talk.ended = event.do in {"close", "reset"}
        if event.side == "client":
            if event.do == "close":
                self._add("close", talk)
            else:
                self._add("reset" if event.do == "reset" else "half-close", talk)
        else:
            came = bytes(talk.replies.header) if not talk.raw else b""
            if talk.replies.open is not None and not talk.raw:
                reply = talk.replies.open
                came = reply.header + talk.coming.bytes(reply.payload.came)[: reply.payload.came]
            self._receive(talk, came, closed=True)

    def _rest(self, talk: _Talk) -> None:
        """Send what there is of a request that is not whole."""
        stream = talk.requests
        if talk.raw:
            return
        if stream.unfinished is not None:
            put, stream.unfinished = stream.unfinished, None
            self._send(talk, put.header + talk.sending.bytes(put.payload.came)[: put.payload.came])
        elif stream.header:
            self._send(talk, bytes(stream.header))
            stream.header = bytearray()

    def _silence(self, talk: _Talk) -> None:
        self._rest(talk)
        if talk.waiting and not talk.raw:
            self._add("receive", talk, got={"bytes": "", "closed": False})

    # -- steps

    def _prepared(self) -> list[Step]:
        """Steps that store what was there before."""
        if not self._before or self._layout is None:
            return []
        steps, self.steps = self.steps, []
        talk = _Talk(_BEFORE, RequestStream(1), ReplyStream(deque(), None), deque())
        self._add("connect", talk)
        for exchange, reply, body in self._before:
            fields = exchange.layout.request
            header = replace_field(fields, exchange.header, "command", COMMANDS["PUT"])
            length = reply.payload.length if exchange.command == "GET" else 0
            for name in ("length", "format", "dtype", "shape0", "shape1", "shape2", "shape3"):
                header = replace_field(fields, header, name, reply.numbers[name])
            self._send(talk, header)
            if length and body.whole:
                self._send(talk, bytes(body.data))
            elif length:
                self._add("send", talk, pattern=body.pattern(length))
            self._confirm(talk, header, exchange.layout)
        prepared, self.steps = self.steps, steps
        return prepared

    def _send(self, talk: _Talk, data: bytes) -> None:
        if data:
            self._add("send", talk, bytes=data.hex())

    def _receive(self, talk: _Talk, data: bytes, *, closed: bool = False) -> None:
        if len(data) > LONGEST_LITERAL:
            got: dict[str, Any] = {"length": len(data), "sha256": hashlib.sha256(data).hexdigest(), "closed": closed}
        else:
            got = {"bytes": data.hex(), "closed": closed}
        self._add("receive", talk, got=got)

    def _add(self, do: StepKind, talk: _Talk, **values: Any) -> None:
        self.steps.append(Step(do, talk.name, values))


def transcript_of(events: Iterable[Event], name: str, title: str) -> Transcript:
    """The transcript of a recording."""
    made = Transcriber()
    for event in events:
        made.hear(event)
    return Transcript(name, title, made.finish())


def _question(layout: HeaderLayout, header: bytes) -> bytes:
    """An EXIST for the key of a request."""
    made = bytes(len(header) - KEY_FIELD_SIZE) + header[-KEY_FIELD_SIZE:]
    for name, value in (("command", COMMANDS["EXIST"]), ("format", 1), ("dtype", 2)):
        made = replace_field(layout.request, made, name, value)
    return made


def _yes(layout: HeaderLayout) -> bytes:
    """The reply to an EXIST of a key that is there."""
    made = bytes(layout.reply_size)
    for name, value in (("code", 200), ("format", 1), ("dtype", 2)):
        made = replace_field(layout.reply, made, name, value)
    return made
