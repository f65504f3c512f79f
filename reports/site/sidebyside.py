"""The same bytes as both sides read them, and two texts with what differs marked."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from reports.compat.model import Evidence, Exchange
from reports.compat.wording import exchange_lines
from reports.escape import escape
from wire.errors import WireError
from wire.lm.profile import KEY_FIELD_SIZE, lm_profile
from wire.release import Release

_WORD = 4
_SHOWN_TEXT = 24


@dataclass(frozen=True)
class Word:
    """Four bytes of a header, as the side that wrote them means them and as the other reads them."""

    offset: int
    hex: str
    meant: str
    read: str

    @property
    def differs(self) -> bool:
        """Whether the two take it for different things."""
        return self.meant.partition(" ")[0] != self.read.partition(" ")[0]


@dataclass(frozen=True)
class Bytes:
    """One header side by side."""

    title: str
    writer: str
    reader: str
    words: tuple[Word, ...]
    note: str


@dataclass(frozen=True)
class Pair:
    """Two captured texts that belong together, what differs in them marked."""

    lines: tuple[tuple[str, Markup], ...]


def headers(exchange: Exchange, client: str, server: str) -> list[Bytes]:
    """The headers of an exchange that the two releases lay out differently."""
    asked = server if exchange.by == "engine" else client
    try:
        mine, theirs = lm_profile(Release.parse(asked)).header, lm_profile(Release.parse(server)).header
    except WireError:
        return []
    found = []
    if mine.request != theirs.request:
        note = f"The client sent {mine.request_size} bytes, the server reads {theirs.request_size}."
        data = exchange.sent[: mine.request_size]
        words = _words(data, mine.request, theirs.request, with_key=True)
        found.append(Bytes(f"{exchange.request}, request header", f"{asked} writes", f"{server} reads", words, note))
    if mine.reply != theirs.reply and exchange.got:
        note = f"The server sends {theirs.reply_size} bytes, the client reads {mine.reply_size}."
        words = _words(exchange.got[: theirs.reply_size], theirs.reply, mine.reply, with_key=False)
        found.append(Bytes(f"{exchange.request}, reply header", f"{server} writes", f"{asked} reads", words, note))
    return found


def _words(data: bytes, meant: Sequence[str], read: Sequence[str], *, with_key: bool) -> tuple[Word, ...]:
    most = _WORD * (max(len(meant), len(read)) + (1 if with_key else 0))
    return tuple(
        Word(offset, data[offset : offset + _WORD].hex(), _said(data, offset, meant), _said(data, offset, read))
        for offset in range(0, min(most, len(data)), _WORD)
    )


def _said(data: bytes, offset: int, fields: Sequence[str]) -> str:
    index = offset // _WORD
    if index < len(fields):
        return f"{fields[index]} = {int.from_bytes(data[offset : offset + _WORD], 'little', signed=True)}"
    key = _WORD * len(fields)
    if len(data) <= key:
        return "nothing: it ends here"
    text = data[offset : min(offset + _SHOWN_TEXT, key + KEY_FIELD_SIZE)].decode(errors="backslashreplace")
    return f"key {'=' if offset == key else '...'} {escape(text)}"


def captured(evidence: Evidence) -> Iterator[Pair]:
    """What captures say, two by two where the second is about the same."""
    waiting = list(evidence.captured)
    while waiting:
        about, text = waiting.pop(0)
        if waiting and waiting[0][0].startswith("the same"):
            other_about, other = waiting.pop(0)
            one_shown, other_shown = marked(escape(text), escape(other))
            yield Pair(((about, one_shown), (other_about, other_shown)))
        else:
            yield Pair(((about, Markup("{}").format(escape(text))),))


def marked(one: str, other: str) -> tuple[Markup, Markup]:
    """Both texts with the stretch marked in which they differ."""
    start = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    rest = zip(reversed(one[start:]), reversed(other[start:]), strict=False)
    tail = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], rest))
    return _mark(one, start, len(one) - tail), _mark(other, start, len(other) - tail)


def _mark(text: str, start: int, end: int) -> Markup:
    if start >= end:
        return Markup("{}").format(text)
    return Markup("{}<mark>{}</mark>{}").format(text[:start], text[start:end], text[end:])


def lines(evidence: Evidence) -> list[str]:
    """The conversation up to where it went wrong."""
    return [line for exchange in evidence.exchanges for line in exchange_lines(exchange)]
