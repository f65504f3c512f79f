"""The story of a recorded ``lm://`` conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harness.tap.event import Event, Side
from harness.tap.lm.exchange import Exchange, Reply
from harness.tap.lm.headers import KNOWN
from harness.tap.lm.listener import LmListener
from harness.tap.recording import Header
from harness.tap.story import MOST_ROWS, Conversation, Notes, Row, Story, listened
from reports.words import count
from wire.lm.enums import name_of
from wire.release import Release

_ENDS: Final = {"half-close": "sends no more", "close": "ended the connection", "reset": "reset the connection", "error": ""}


def tell(header: Header, events: Iterable[Event], profile: Release | None) -> Story:
    """Listen to a recording once more, and write down what was said."""
    notes = Notes()
    asked: list[Exchange] = []
    listener = LmListener(profile, told=asked.append)
    conversations: dict[int, Conversation] = {}
    rows: list[tuple[Row, Exchange | None]] = []
    left_out = 0
    last = 0.0
    for event in listened(listener, events, notes):
        last = max(last, event.until or event.at)
        if not event.connection:
            continue
        one = conversations.setdefault(event.connection, Conversation(event.connection, "", event.at))
        if event.do == "open" and event.side == "client":
            one.peer = event.text
        if event.do == "data":
            one.sent[event.side] += event.size
        for exchange in asked:
            left_out += len(rows) >= MOST_ROWS
            if len(rows) < MOST_ROWS:
                rows.append((_begun(exchange), exchange))
        asked.clear()
        if event.do in _ENDS:
            one.ended = event.at if event.do != "half-close" else one.ended
            what = f"the {event.side} {_ENDS[event.do]}" if event.do != "error" else event.reason
            rows.append((Row(event.at, event.connection, event.side, what, wrong=event.do == "error"), None))
    for row, told in rows:
        if told is not None:
            _finished(row, told)
        conversations[row.connection].rows.append(row)
    guesses = {who: listener.guess(who) for who in _sides()}
    return Story(
        header, guesses, notes.in_order(), notes.counted, notes.levels, list(conversations.values()), last, left_out=left_out
    )


def _sides() -> tuple[Side, Side]:
    return "client", "server"


def _begun(exchange: Exchange) -> Row:
    return Row(exchange.at, exchange.connection, "client", exchange.command, exchange.key, exchange=exchange.number)


def _finished(row: Row, exchange: Exchange) -> None:
    reply = exchange.reply
    if exchange.command == "PUT":
        row.sent = description(exchange.numbers)
        row.wrong = not exchange.payload.whole
        if row.wrong:
            row.outcome = f"only {exchange.payload.came} bytes came"
        elif exchange.ended_at is not None and exchange.ended_at > exchange.at:
            row.took = exchange.ended_at - exchange.at
    if reply is not None:
        row.outcome = outcome(exchange, reply)
        row.took = (reply.ended_at or reply.at) - exchange.at
        row.wrong = reply.ended_at is None and bool(reply.payload.length)
    elif exchange.wants_reply:
        row.outcome, row.wrong = "no reply", True


def outcome(exchange: Exchange, reply: Reply) -> str:
    """A reply in words."""
    words = {200: "200", 400: "400"}.get(reply.code, f"code {reply.code}")
    if exchange.command == "GET" and reply.code == 200:
        words += f", {description(reply.numbers)}"
        if not reply.payload.whole:
            words += f", of which {reply.payload.came} came"
    return words


def description(numbers: dict[str, int]) -> str:
    """What a header says about a payload, in words."""
    shape = [numbers[f"shape{index}"] for index in range(4)]
    names = [
        str(name_of(field, numbers[field])) if numbers[field] in KNOWN[field] else f"{field} {numbers[field]}"
        for field in ("format", "dtype")
    ]
    return f"{count(numbers['length'], 'byte')}, {' '.join(names)} {shape}"
