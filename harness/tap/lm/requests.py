"""The stream of a client: request headers, and behind those of a PUT a payload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from harness.tap.event import Event
from harness.tap.lm.exchange import Exchange, Payload
from harness.tap.lm.headers import (
    DECIDES,
    KNOWN,
    REQUEST_START,
    in_network_order,
    is_key,
    is_request,
    request_layout,
    unknown_fields,
)
from harness.tap.lm.stream import BackInStep, Blind, LostStep, PassingPayload, Search, Stream
from wire.lm.enums import COMMANDS, name_of
from wire.lm.frames import header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, HeaderLayout


@dataclass(frozen=True)
class Stored:
    """The payload of a PUT is whole."""

    exchange: Exchange


Seen: TypeAlias = Exchange | Stored | LostStep | BackInStep | Blind


class RequestStream(Stream):
    """Reads what a client sends on one connection, in whatever segments it comes."""

    def __init__(self, connection: int) -> None:
        super().__init__()
        self._connection = connection
        self._requests = 0
        self.layout: HeaderLayout | None = None
        """Of the last header."""
        self.header = bytearray()
        """Of the request that is under way: what there is of its header."""
        self._passing: PassingPayload | None = None
        self.unfinished: Exchange | None = None
        """The PUT whose payload is not whole."""
        self._tail = b""

    def feed(self, event: Event) -> list[Seen]:
        """What a segment brings."""
        found: list[Seen] = []
        if event.length is None:
            self._consume(event, found)
        elif self._passing is not None and event.length <= self._passing.left:
            self.pieces = []
            self._passing.skip(event, event.length)
            self._count(event.length, "payload", ends=not self._passing.left)
            self._end_payload(event.until or event.at, found)
        else:
            self.pieces = []
            self._blind(event, found)
        return found

    def header_in_payload(self) -> int | None:
        """Where in the stream a header begins inside the payload that is not whole, if one does."""
        if self._passing is None:
            return None
        match = REQUEST_START.search(self._passing.tail)
        return self.offset - len(self._passing.tail) + match.start() if match else None

    def _step(self, at: float, data: bytes, found: list[Any]) -> int:
        if self._passing is not None:
            part = data[: self._passing.left]
            self._passing.take(part)
            self._count(len(part), "payload", ends=not self._passing.left)
            self._end_payload(at, found)
            return len(part)
        have = len(self.header)
        part = data[: (DECIDES if have < DECIDES else request_layout(self.header).request_size) - have]
        self._read_header(at, part, found)
        return len(part)

    def _read_header(self, at: float, part: bytes, found: list[Any]) -> None:
        self.header += part
        have = len(self.header)
        layout = request_layout(self.header) if have >= DECIDES else None
        whole = layout is not None and have == layout.request_size
        self._count(len(part), "key", ends=whole)
        if layout is None:
            return
        header = bytes(self.header)
        numbers = header_numbers(layout.request, header)
        hopeless = have == DECIDES and len(unknown_fields(numbers)) > 1
        if hopeless or (whole and not is_request(layout, header)):
            self.header = bytearray()
            search = Search(REQUEST_START, self._tail, _is_header)
            self._lose(_lost(at, self.offset - have, layout, header, numbers), search, found)
        elif whole:
            self.header = bytearray()
            self._begin(at, layout, header, numbers, found)

    def _begin(self, at: float, layout: HeaderLayout, header: bytes, numbers: dict[str, int], found: list[Any]) -> None:
        self._requests += 1
        self.layout = layout
        self._tail = b""
        is_put = numbers["command"] == COMMANDS["PUT"]
        payload = Payload(max(0, numbers["length"]) if is_put else 0)
        begin = self.offset - len(header)
        exchange = Exchange(self._connection, self._requests, at, begin, header, layout, numbers, payload)
        found.append(exchange)
        if is_put:
            self.unfinished, self._passing = exchange, PassingPayload(payload)
            if payload.whole:
                self._passing.take(b"")
                self._end_payload(at, found)

    def _end_payload(self, at: float, found: list[Any]) -> None:
        if self._passing is None or self.unfinished is None or self._passing.left:
            return
        self.unfinished.ended_at = at
        found.append(Stored(self.unfinished))
        self._tail = self._passing.tail
        self.unfinished = self._passing = None


def _lost(at: float, begin: int, layout: HeaderLayout, header: bytes, numbers: dict[str, int]) -> LostStep:
    wrong = unknown_fields(numbers)
    if not wrong:
        place = len(header) - KEY_FIELD_SIZE
        return LostStep(at, begin + place, place, KEY_FIELD_SIZE, "key", "a key", repr(header[place:]), header)
    field, place = wrong[0], 4 * layout.request.index(wrong[0])
    got = number_words(field, numbers[field], header[place : place + 4])
    return LostStep(at, begin + place, place, 4, field, known_words(field), got, header)


def known_words(field: str) -> str:
    """The numbers that a field may have, in words."""
    known = sorted(KNOWN[field])
    if field == "code":
        return "200 or 400"
    return f"{field} {known[0]} to {known[-1]}"


def number_words(field: str, value: int, raw: bytes) -> str:
    """A senseless number, and what it looks like."""
    words = f"{value}"
    if all(0x20 <= byte < 0x7F for byte in raw):
        words += f", the text {raw.decode()!r}"
    swapped = in_network_order(value)
    if value not in KNOWN[field] and swapped in KNOWN[field] and swapped:
        words += f", which is {name_of(field, swapped)} with its bytes the other way round"
    return words


def _is_header(data: bytes) -> int | None:
    if len(data) < DECIDES:
        return None
    layout = request_layout(data)
    if unknown_fields(header_numbers(layout.request, data)):
        return 0
    key = data[layout.request_size - KEY_FIELD_SIZE : layout.request_size]
    if is_key(key):
        return layout.request_size
    return 0 if len(data) >= layout.request_size else None
