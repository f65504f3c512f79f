"""Transcripts in terms that do not depend on a header layout: what was asked for which key, and what came back."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fixturegen.vector import Step, Transcript, patterned
from reports.drift.observe.frames import SUBJECTS, Frames
from reports.drift.observe.layout import Value

CODE_OF_SUCCESS: Final = "SUCCESS"


@dataclass(frozen=True)
class Asked:
    """One request as a server of the release reads it."""

    connection: str
    command: str
    key: int | None
    """Which of the keys of the conversation it names, counted from 0; None if the key is refused."""
    about: Mapping[str, Value]
    """The other fields; numbers without a name as text."""
    readable: bool
    """Every number has a name and the key can be read."""
    ordinary: bool
    """It is written as an encoder of the release writes it."""


@dataclass(frozen=True)
class Event:
    """Anything else that a client does: opens, half-closes, resets, stops inside a header or a payload."""

    connection: str
    what: str


@dataclass(frozen=True)
class Reply:
    """One reply: its fields with names for numbers, and the payload behind it."""

    fields: Mapping[str, Value]
    payload: bytes | str = b""
    """The bytes, or the sha256 of many."""


@dataclass(frozen=True)
class Answer:
    """What came back at one point: replies, bytes that are none, and whether the connection ended."""

    connection: str
    replies: tuple[Reply, ...]
    rest: str
    closed: bool


@dataclass
class _Stream:
    """What a client sent on one connection and nobody has read yet."""

    waiting: bytearray = field(default_factory=bytearray)
    payload: int = 0
    dead: bool = False


@functools.lru_cache(maxsize=8)
def _pattern(seed: int, length: int) -> bytes:
    return patterned(seed, length)


def _sent(step: Step) -> bytes:
    """What a step sends; large payloads are the same in every release."""
    pattern = step.values.get("pattern")
    return _pattern(pattern["seed"], pattern["length"]) if pattern else step.payload()


class Listener:
    """Reads a transcript as a server of the release would."""

    def __init__(self, request: Frames | None, reply: Frames | None) -> None:
        self.request = request
        self.reply = reply
        self.keys: dict[object, int] = {}
        self.streams: dict[str, _Stream] = {}
        self.puts: list[dict[str, int]] = []
        self.payloads: list[bytes] = []

    def events(self, transcript: Transcript) -> list[Asked | Event | Answer]:
        """The conversation, step by step."""
        found: list[Asked | Event | Answer] = []
        for step in transcript.steps:
            found += self._step(step)
        return found

    def _step(self, step: Step) -> Iterator[Asked | Event | Answer]:
        stream = self.streams.setdefault(step.connection, _Stream())
        if step.do == "send":
            data = _sent(step)
            self.payloads.append(data)
            stream.waiting += data
            yield from self._requests(step.connection, stream)
        elif step.do == "receive":
            yield self._answer(step.connection, step.values["got"])
        else:
            if stream.payload:
                yield Event(step.connection, "the payload stops short")
            elif stream.waiting and not stream.dead:
                yield Event(step.connection, "the header stops short")
            stream.payload, stream.waiting = 0, bytearray()
            yield Event(step.connection, step.do)

    def _requests(self, connection: str, stream: _Stream) -> Iterator[Asked | Event]:
        if self.request is None:
            yield Event(connection, "bytes")
            return
        while not stream.dead:
            taken = min(stream.payload, len(stream.waiting))
            stream.payload -= taken
            del stream.waiting[:taken]
            if len(stream.waiting) < self.request.layout.size or stream.payload:
                return
            header = bytes(stream.waiting[: self.request.layout.size])
            del stream.waiting[: self.request.layout.size]
            asked = self._asked(connection, header)
            stream.dead = not asked.readable
            if asked.command == "PUT" and asked.readable:
                numbers = self.request.layout.numbers(header)
                self.puts.append(numbers)
                stream.payload = max(0, numbers.get("length", 0))
            yield asked

    def _asked(self, connection: str, header: bytes) -> Asked:
        assert self.request is not None
        numbers = self.request.layout.numbers(header)
        named = {name: self._name(name, number) for name, number in numbers.items()}
        text = (self.request.layout.key(header) or b"").decode(errors="replace").strip()
        reader = self.request.reader
        key = self.request.key_of(self.request.layout.key(header) or b"")
        identity = reader.identity(text) if reader and key is not None else None
        known = all(number in self.request.read.get(name, ()) for name, number in numbers.items() if name in SUBJECTS)
        strings = self.request.strings
        ordinary = (
            known
            and key is not None
            and strings is not None
            and strings.write(key) == text
            and all(number in self.request.written[name].values() for name, number in numbers.items() if name in SUBJECTS)
        )
        return Asked(
            connection,
            str(named.pop("command", "")),
            None if identity is None else self.keys.setdefault(identity, len(self.keys)),
            named,
            readable=known and identity is not None,
            ordinary=ordinary,
        )

    def _name(self, name: str, number: int) -> Value:
        assert self.request is not None
        if name not in SUBJECTS:
            return number
        return self.request.read.get(name, {}).get(number, f"number {number}")

    def _answer(self, connection: str, got: Mapping[str, Any]) -> Answer:
        if "length" in got:
            return self._long_answer(connection, got)
        data = bytes.fromhex(got["bytes"])
        replies = []
        size = self.reply.layout.size if self.reply else 0
        while self.reply and len(data) >= size:
            fields = self._reply_fields(self.reply.layout.numbers(data))
            length = fields.get("length")
            count = length if isinstance(length, int) and length > 0 and fields.get("code") == CODE_OF_SUCCESS else 0
            replies.append(Reply(fields, data[size : size + count]))
            data = data[size + count :]
        return Answer(connection, tuple(replies), data.hex(), got["closed"])

    def _long_answer(self, connection: str, got: Mapping[str, Any]) -> Answer:
        """An answer of which only length and sha256 were kept: the echo of a value, if that gives the same sha256."""
        if self.reply:
            code = self.reply.written.get("code", {}).get(CODE_OF_SUCCESS, 0)
            for numbers in self.puts:
                header = self.reply.layout.encode({**dict.fromkeys(SUBJECTS, 0), **numbers, "code": code, "location": 0})
                for payload in self.payloads:
                    if header and hashlib.sha256(header + payload).hexdigest() == got["sha256"]:
                        reply = Reply(self._reply_fields(self.reply.layout.numbers(header)), hashlib.sha256(payload).hexdigest())
                        return Answer(connection, (reply,), "", got["closed"])
        return Answer(connection, (), f"{got['length']} bytes with sha256 {got['sha256']}", got["closed"])

    def _reply_fields(self, numbers: Mapping[str, int]) -> dict[str, Value]:
        assert self.reply is not None
        found: dict[str, Value] = {}
        for name, number in numbers.items():
            names = {**self.reply.read.get(name, {}), **{value: key for key, value in self.reply.written.get(name, {}).items()}}
            found[name] = names.get(number, f"number {number}") if name in SUBJECTS else number
        return found
