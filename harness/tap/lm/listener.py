"""Listens to ``lm://`` conversations: follows both streams of every connection, and tells what is wrong in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.tap.event import Event, Side
from harness.tap.finding import Finding, Frame
from harness.tap.guess import Guess, ranges
from harness.tap.listener import Piece
from harness.tap.lm import replies, requests
from harness.tap.lm.checks import check_location, check_reply, check_request, reply_finding, request_finding
from harness.tap.lm.exchange import Exchange, Reply
from harness.tap.lm.headers import FIRST, WITH_LOCATION, is_reply, is_request, request_layout_of
from harness.tap.lm.keys import redact_key
from harness.tap.lm.lookups import Lookups
from harness.tap.lm.replies import Answered, ReplyStream
from harness.tap.lm.requests import RequestStream
from harness.tap.lm.rules import LM_RULES
from harness.tap.lm.sides import Sides
from harness.tap.lm.stream import BackInStep, Blind, LostStep
from harness.tap.pseudonyms import Pseudonyms
from wire.lm.enums import CODES
from wire.lm.frames import header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, HeaderLayout, lm_profile
from wire.release import Release

PATIENCE: Final = 5.0
"""Seconds after which a request is told to be without a reply."""
_MOST_SHOWN: Final = 64
"""Bytes of what stood in the place of a header that are shown."""


@dataclass
class _Conversation:
    """One connection."""

    number: int
    requests: RequestStream
    replies: ReplyStream
    waiting: deque[Exchange]
    lists: deque[Exchange] = field(default_factory=deque)
    answered: int = 0
    over: bool = False
    judged: bool = True
    """False once bytes are missing."""
    last_at: float = 0.0


class LmListener:
    """Hears the events of every connection; see :class:`harness.tap.listener.Listener`.

    ``profile`` is the release that both sides are said to be; None: find out. ``told`` gets every exchange when its request
    header is there; it is filled in as the rest comes.
    """

    def __init__(
        self,
        profile: Release | None = None,
        *,
        patience: float = PATIENCE,
        told: Callable[[Exchange], None] = lambda _: None,
    ) -> None:
        self._profile = profile
        self._patience = patience
        self._told = told
        self._sides = Sides(profile)
        self._lookups = Lookups()
        self._conversations: dict[int, _Conversation] = {}
        self._pieces: Sequence[Piece] = ()
        self._reply_layout: HeaderLayout | None = None
        self._generation_told: set[Side] = set()

    def hear(self, event: Event) -> Iterator[Finding]:
        """What an event shows."""
        if event.connection == 0:
            return
        conversation = self._conversations.get(event.connection)
        if conversation is None:
            conversation = self._begin(event.connection)
        conversation.last_at = event.at
        if event.do == "data":
            yield from self._data(conversation, event)
        elif event.do != "open":
            yield from self._end(conversation, event)
        yield from self._sides.differ(event.at)

    def pieces(self) -> Sequence[Piece]:
        """How the segment that was heard last divides."""
        return self._pieces

    def redact(self, key: bytes, pseudonyms: Pseudonyms) -> bytes:
        """A whole header with a pseudonym for its key; what is no header is blotted out."""
        if len(key) in {FIRST.request_size, WITH_LOCATION.request_size}:
            layout = request_layout_of(len(key))
            if is_request(layout, key):
                begin = len(key) - KEY_FIELD_SIZE
                text = key[begin:].decode(errors="surrogateescape")
                made = redact_key(text.rstrip(" "), pseudonyms).encode(errors="surrogateescape").ljust(KEY_FIELD_SIZE)
                return key[:begin] + made[:KEY_FIELD_SIZE]
        elif len(key) in {FIRST.reply_size, WITH_LOCATION.reply_size}:
            if is_reply(header_numbers(FIRST.reply, key)):
                return key
        elif len(key) == 4 and key[1:] in {bytes(3), b"\1\0\0"}:
            return key
        return b"x" * len(key)

    def tick(self, now: float) -> Iterator[Finding]:
        """What shows because nothing happened for some time."""
        for conversation in list(self._conversations.values()):
            if conversation.judged and not conversation.over:
                if now - conversation.last_at > self._patience:
                    yield from self._read_replies(conversation, conversation.replies.conclude())
                yield from self._unanswered(conversation, now, self._patience)
        yield from self._sides.differ(now)

    def finish(self, now: float) -> Iterator[Finding]:
        """What shows at the end of everything."""
        for conversation in list(self._conversations.values()):
            if not conversation.over and conversation.judged:
                yield from self._read_replies(conversation, conversation.replies.conclude())
                yield from self._unanswered(conversation, now, min(self._patience, 1.0))
                yield from self._unfinished(conversation, now, "is not finished when the recording ends")
        yield from self._lookups.finish(now)
        yield from self._sides.differ(now)

    def guess(self, who: Side) -> Guess:
        """What release a side seems to be."""
        return self._sides.guess(who)

    def _begin(self, number: int) -> _Conversation:
        waiting: deque[Exchange] = deque()
        made = _Conversation(number, RequestStream(number), ReplyStream(waiting, self._reply_layout), waiting)
        self._conversations[number] = made
        self._sides.open(number)
        return made

    # -- bytes

    def _data(self, conversation: _Conversation, event: Event) -> Iterator[Finding]:
        if event.side == "client":
            self._sides.heard_client(event)
            seen = conversation.requests.feed(event)
            self._pieces = conversation.requests.pieces
            yield from self._read_requests(conversation, seen)
            return
        found = conversation.replies.feed(event)
        self._pieces = conversation.replies.pieces
        yield from self._read_replies(conversation, found)

    def _read_requests(self, conversation: _Conversation, seen: Iterable[requests.Seen]) -> Iterator[Finding]:
        for one in seen:
            if isinstance(one, Exchange):
                yield from self._request(conversation, one)
            elif isinstance(one, requests.Stored):
                self._lookups.store(one.exchange, one.exchange.ended_at or one.exchange.at)
            else:
                yield from self._step(conversation, "client", one)

    def _request(self, conversation: _Conversation, exchange: Exchange) -> Iterator[Finding]:
        conversation.replies.fallback = exchange.layout
        if exchange.wants_reply:
            conversation.waiting.append(exchange)
        elif exchange.command == "LIST":
            conversation.lists.append(exchange)
        elif exchange.command == "PUT":
            self._lookups.begin(exchange)
        self._told(exchange)
        self._sides.request(exchange)
        yield from check_request(exchange, self._profile)

    def _read_replies(self, conversation: _Conversation, seen: Iterable[replies.Seen]) -> Iterator[Finding]:
        for one in seen:
            if isinstance(one, Answered):
                yield from self._answered(conversation, one)
            elif isinstance(one, replies.LayoutKnown):
                yield from self._layout(conversation, one.reply)
            elif isinstance(one, replies.Ended):
                yield from self._value(conversation, one)
            else:
                yield from self._step(conversation, "server", one)

    def _answered(self, conversation: _Conversation, one: Answered) -> Iterator[Finding]:
        number, reply, exchange = conversation.number, one.reply, one.exchange
        if exchange is None and conversation.lists:
            exchange = conversation.lists.popleft()
            exchange.reply = reply
        elif exchange is None and conversation.judged and not conversation.requests.lost:
            summary = "a reply came that nothing asked for"
            put = conversation.requests.unfinished
            summary += f", in the middle of {put.name}" if put else "; every request before it is answered"
            yield reply_finding("reply-unasked", number, reply, None, summary, expected="nothing", got=f"code {reply.code}")
        conversation.answered += 1
        self._sides.answered(number, reply, conversation.answered)
        if reply.segments > 1:
            summary = f"the reply header came in {reply.segments} segments"
            yield reply_finding("reply-split", number, reply, exchange, summary)
        put_of = self._lookups.put_of(exchange) if exchange is not None and exchange.command == "GET" else None
        yield from check_reply(number, reply, exchange, stored=put_of.exchange if put_of else None)
        if exchange is not None and exchange.command in {"GET", "EXIST"} and reply.code in CODES.values():
            yield from self._lookups.answer(number, reply, exchange)

    def _layout(self, conversation: _Conversation, reply: Reply) -> Iterator[Finding]:
        assert reply.layout is not None
        if self._reply_layout is None:
            self._reply_layout = reply.layout
        self._sides.layout(conversation.number, reply, reply.layout)
        yield from check_location(conversation.number, reply, None)
        profile = lm_profile(self._profile) if self._profile is not None else None
        if profile is not None and profile.header != reply.layout and "server" not in self._generation_told:
            self._generation_told.add("server")
            right, size = profile.header.reply_size, reply.layout.reply_size
            summary = f"the reply headers have {size} bytes; those of lmcache {self._profile} have {right}"
            yield reply_finding(
                "reply-generation", conversation.number, reply, None, summary, expected=f"{right} bytes", got=f"{size} bytes",
                requirement="LM-REPLY-002" if profile.has_location else "LM-REPLY-001",
            )  # fmt: skip

    def _value(self, conversation: _Conversation, one: replies.Ended) -> Iterator[Finding]:
        exchange, reply = one.exchange, one.reply
        if exchange is None or exchange.command != "GET" or not reply.payload.length:
            return
        put = self._lookups.put_of(exchange)
        if put is None:
            return
        stored, came = put.exchange.payload.identity, reply.payload.identity
        if stored and came and stored[0] == came[0] and stored != came and put.exchange.payload.length == reply.payload.length:
            summary = (
                f"{exchange.name} of {exchange.key!r} brought other bytes than its PUT on connection {put.exchange.connection}"
            )
            yield reply_finding(
                "value-differs", conversation.number, reply, exchange, summary, at=reply.ended_at or reply.at,
                expected=f"{stored[0]} {stored[1]}", got=f"{came[0]} {came[1]}",
            )  # fmt: skip

    def _step(self, conversation: _Conversation, who: Side, one: LostStep | BackInStep | Blind) -> Iterator[Finding]:
        number = conversation.number
        of, header = ("request", "request header") if who == "client" else ("reply", "reply header")
        if isinstance(one, Blind):
            conversation.judged = False
            summary = f"bytes of the {who} are missing here: nothing behind them is judged"
            yield Finding(LM_RULES["not-recorded"], number, one.at, who, summary)
        elif isinstance(one, LostStep):
            summary = f"at byte {one.offset} of what the {who} sent, where {one.field} of a {header} had to be: {one.got}"
            frame = Frame(f"in the place of a {header}", one.header[:_MOST_SHOWN], ((one.place, one.size),))
            yield Finding(
                LM_RULES[f"{of}-lost-step"], number, one.at, who, summary, offset=one.offset, field=one.field,
                expected=one.expected, got=one.got, frame=frame,
            )  # fmt: skip
        else:
            what = f"{one.surplus} bytes too many before it" if one.surplus >= 0 else f"it began {-one.surplus} bytes too early"
            summary = f"a {header} begins at byte {one.offset} of what the {who} sent: {what}"
            yield Finding(LM_RULES[f"{of}-back-in-step"], number, one.at, who, summary, offset=one.offset)

    # -- silence and ends

    def _unanswered(self, conversation: _Conversation, now: float, patience: float) -> Iterator[Finding]:
        for exchange in conversation.waiting:
            if exchange.late or now - exchange.at < patience:
                continue
            exchange.late = True
            number = conversation.number
            self._sides.silent(number, now, conversation.answered, exchange)
            summary = f"{exchange.name} of {exchange.key!r} has no reply after {now - exchange.at:.1f} s"
            for generation, missing in reversed(self._sides.waits(number).items()):
                summary += f"; a server of {ranges(generation.releases)} would still wait for {missing} bytes of a request"
                break
            yield request_finding("unanswered", exchange, summary, at=now, who="server", expected="a reply", got="silence")
        while conversation.lists and now - conversation.lists[0].at >= patience:
            exchange = conversation.lists.popleft()
            yield request_finding("list-unanswered", exchange, f"{exchange.name} has no reply", at=now, who="server")

    def _end(self, conversation: _Conversation, event: Event) -> Iterator[Finding]:
        number, at = conversation.number, event.at
        if event.do == "error":
            yield from self._error(conversation, event)
        if event.do == "half-close" and event.side == "client":
            yield from self._unfinished(conversation, at, "ends with the connection")
        elif event.do == "half-close" and conversation.judged:
            yield from self._ended_by_server(conversation, at)
        elif event.do in {"close", "reset"} and not conversation.over and conversation.judged:
            if event.do == "reset":
                yield Finding(LM_RULES["reset"], number, at, event.side, f"the {event.side} reset the connection")
            if event.side == "server":
                yield from self._ended_by_server(conversation, at)
            else:
                yield from self._read_replies(conversation, conversation.replies.conclude())
                yield from self._unanswered(conversation, at, min(self._patience, 1.0))
            yield from self._unfinished(conversation, at, "ends with the connection")
        if event.do in {"close", "reset", "error"}:
            conversation.over = True
            self._sides.close(number)
            # The number is kept out of the table, so that nothing grows with connections that are gone.
            self._conversations.pop(number, None)

    def _error(self, conversation: _Conversation, event: Event) -> Iterator[Finding]:
        conversation.judged = False
        rule = "unreachable" if event.side == "server" and not conversation.requests.offset else "not-recorded"
        yield Finding(LM_RULES[rule], conversation.number, event.at, event.side, event.reason)

    def _ended_by_server(self, conversation: _Conversation, at: float) -> Iterator[Finding]:
        if conversation.over:
            return
        yield from self._read_replies(conversation, conversation.replies.conclude())
        stream = conversation.replies
        if not stream.idle and not stream.lost:
            reply = stream.open
            where = f"{reply.payload.came} bytes into a payload of {reply.payload.length}" if reply else "inside a reply header"
            summary = f"the server ended the connection {where}"
            if reply is not None:
                yield reply_finding("cut-reply", conversation.number, reply, None, summary, at=at)
            else:
                yield Finding(LM_RULES["cut-reply"], conversation.number, at, "server", summary, offset=stream.offset)
        exchange = next((one for one in conversation.waiting if not one.late), None)
        self._sides.ended(conversation.number, at, conversation.answered, exchange or next(iter(conversation.waiting), None))
        if exchange is None:
            return
        why = next(iter(reversed(self._sides.refusals(conversation.number).items())), None)
        summary = f"the server ended the connection without an answer to {exchange.name} of {exchange.key!r}"
        if why is not None:
            summary += f"; so would lmcache {ranges(why[0].releases)}: {why[1]}"
        yield request_finding("refused", exchange, summary, at=at, who="server", expected="a reply", got="the end")
        exchange.late = True

    def _unfinished(self, conversation: _Conversation, at: float, ending: str) -> Iterator[Finding]:
        """A request that is not whole, and will not be."""
        stream = conversation.requests
        put, stream.unfinished = stream.unfinished, None
        if put is not None:
            self._lookups.drop(put)
            summary = f"{put.name} of {put.key!r} {ending} after {put.payload.came} of {put.payload.length} bytes of its payload"
            swallowed = stream.header_in_payload()
            if swallowed is not None:
                summary += f"; what looks like the next request begins at byte {swallowed}, inside the payload"
            got = f"{put.payload.came} bytes"
            yield request_finding(
                "unfinished-put", put, summary, "length", at=at, expected=f"{put.payload.length} bytes", got=got
            )  # fmt: skip
        elif stream.header and not stream.lost:
            have = len(stream.header)
            summary = f"a request header {ending} after {have} bytes"
            frame = Frame("the beginning of a request header", bytes(stream.header))
            yield Finding(LM_RULES["cut-request"], conversation.number, at, "client", summary, offset=stream.offset, frame=frame)
            stream.header = bytearray()
