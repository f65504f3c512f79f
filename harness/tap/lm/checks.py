"""What is wrong in a single request or reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.tap.finding import Finding, Frame
from harness.tap.guess import ranges
from harness.tap.lm.exchange import Exchange, Reply
from harness.tap.lm.headers import KNOWN
from harness.tap.lm.keys import key_parts, nearest, writers
from harness.tap.lm.requests import known_words, number_words
from harness.tap.lm.rules import LM_RULES
from wire.lm.enums import CODES, DTYPE_ALIASES, FORMATS, name_of
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.lm.shapes import payload_size
from wire.release import Release

_DIMENSIONS: Final = ("shape0", "shape1", "shape2", "shape3")
_RULE_OF: Final = {
    "command": "unknown-command",
    "format": "unknown-format",
    "dtype": "unknown-dtype",
    "location": "unknown-location",
    "code": "reply-code",
}
_NOTHING: Final = {"length": 0, "format": 1, "dtype": 2, **dict.fromkeys(_DIMENSIONS, 0), "location": 0}
_GRAMMAR_REQUIREMENT: Final = (("0.3.13", "KEY-FMT-003"), ("0.3.9.post1", "KEY-FMT-002"), ("0.3.1", "KEY-FMT-001"))
_PADDING: Final = "\0\t\n\r\v\f"


def request_finding(
    rule: str, exchange: Exchange, summary: str, field: str = "", *, expected: str = "", got: str = "", **more: Any
) -> Finding:
    """A finding about a field of a request, or about all of it."""
    place, size = _place(exchange.layout.request, field, exchange.key_offset)
    place, size = more.pop("where", (place, size))
    marks = ((place, size),) if field else ()
    return Finding(
        LM_RULES[rule],
        exchange.connection,
        more.pop("at", exchange.at),
        more.pop("who", "client"),
        summary,
        offset=exchange.offset + place if field else None,
        field=field,
        expected=expected,
        got=got,
        frame=Frame(f"{exchange.name}, {len(exchange.header)} bytes", exchange.header, marks),
        exchange=exchange.number,
        **more,
    )


def reply_finding(
    rule: str, connection: int, reply: Reply, exchange: Exchange | None, summary: str, field: str = "", **more: Any
) -> Finding:
    """A finding about a field of a reply, or about all of it."""
    names = ("code", "length", "format", "dtype", *_DIMENSIONS, "location")
    place, size = more.pop("where", (4 * names.index(field), 4) if field in names else (0, len(reply.header)))
    to = f"reply to {exchange.name}" if exchange else "reply to nothing"
    return Finding(
        LM_RULES[rule],
        connection,
        more.pop("at", reply.at),
        more.pop("who", "server"),
        summary,
        offset=reply.offset + place if field else None,
        field=field,
        frame=Frame(f"{to}, {len(reply.header)} bytes", reply.header, ((place, size),) if field else ()),
        exchange=exchange.number if exchange else None,
        **more,
    )


def check_request(exchange: Exchange, profile: Release | None) -> Iterator[Finding]:
    """What is wrong in a request header."""
    numbers = exchange.numbers
    yield from _unknown_numbers(exchange, profile)
    if profile is not None:
        yield from _generation(exchange, lm_profile(profile))
    for name in _DIMENSIONS:
        if numbers[name] < 0:
            summary = f"{exchange.name}: {name} is {numbers[name]}"
            yield request_finding("negative-dimension", exchange, summary, name, expected="0 or more", got=str(numbers[name]))
    if exchange.command == "PUT":
        yield from _description_of_put(exchange)
    elif exchange.command in {"GET", "EXIST", "HEALTH", "LIST"}:
        odd = [name for name, value in numbers.items() if name in _NOTHING and value != _NOTHING[name]]
        if odd:
            words = ", ".join(f"{name} {numbers[name]}" for name in odd)
            yield request_finding(
                "describes-nothing", exchange, f"{exchange.name} describes a payload that it does not have: {words}", odd[0],
                expected=str(_NOTHING[odd[0]]), got=str(numbers[odd[0]]),
            )  # fmt: skip
    yield from _key(exchange, profile)


def check_reply(connection: int, reply: Reply, exchange: Exchange | None, *, stored: Exchange | None) -> Iterator[Finding]:
    """What is wrong in a reply header; ``stored`` is the PUT of the key, where one is known."""
    numbers = reply.numbers
    for field in ("code", "format", "dtype"):
        value = numbers[field]
        if value not in KNOWN[field]:
            place = 4 * ("code", "length", "format", "dtype").index(field)
            got = number_words(field, value, reply.header[place : place + 4])
            summary = f"the reply has {field} {value}, which no release knows"
            yield reply_finding(
                _RULE_OF[field], connection, reply, exchange, summary, field, expected=known_words(field), got=got
            )
    if exchange is None:
        return
    if exchange.command == "GET" and numbers["code"] == CODES["SUCCESS"]:
        yield from _hit(connection, reply, exchange, stored)
        return
    odd = [name for name in ("length", "format", "dtype", *_DIMENSIONS) if numbers[name] != _NOTHING[name]]
    if odd:
        name, got = odd[0], str(numbers[odd[0]])
        summary = f"the reply to {exchange.name} has {name} {got}, where nothing is described"
        yield reply_finding(
            "reply-describes", connection, reply, exchange, summary, name, expected=str(_NOTHING[name]), got=got,
            requirement="SRV-LM-004" if exchange.command == "GET" else "SRV-LM-005",
        )  # fmt: skip


def check_location(connection: int, reply: Reply, exchange: Exchange | None) -> Iterator[Finding]:
    """What is wrong in the location of a reply."""
    value = reply.numbers.get("location", 0)
    if value:
        rule = "unknown-location" if value not in KNOWN["location"] else "reply-location"
        summary = f"the reply has location {value}"
        yield reply_finding(rule, connection, reply, exchange, summary, "location", expected="0", got=str(value))


def _place(fields: tuple[str, ...], field: str, key_offset: int) -> tuple[int, int]:
    if field in fields:
        return 4 * fields.index(field), 4
    return (key_offset, KEY_FIELD_SIZE) if field == "key" else (0, 0)


def _unknown_numbers(exchange: Exchange, profile: Release | None) -> Iterator[Finding]:
    highest = lm_profile(profile).highest_format if profile is not None else max(FORMATS.values())
    for field in ("command", "format", "dtype", "location"):
        value = exchange.numbers.get(field, 0)
        place = 4 * exchange.layout.request.index(field) if field in exchange.numbers else 0
        raw = exchange.header[place : place + 4]
        if value not in KNOWN[field]:
            summary = f"{exchange.name} has {field} {value}, which no release knows"
            expected, got = known_words(field), number_words(field, value, raw)
            yield request_finding(_RULE_OF[field], exchange, summary, field, expected=expected, got=got)
        elif field == "format" and value > highest:
            name = name_of("format", value)
            summary = f"{exchange.name} has format {value} ({name}), which lmcache {profile} does not have"
            expected = f"format 0 to {highest}"
            yield request_finding("unknown-format", exchange, summary, field, expected=expected, got=f"{value} ({name})")
        elif field == "dtype" and value in DTYPE_ALIASES:
            summary = f"{exchange.name} has dtype {value}, which no release writes"
            yield request_finding("half-dtype", exchange, summary, field, expected="2 (float16)", got=str(value))


def _generation(exchange: Exchange, profile: LmProfile) -> Iterator[Finding]:
    if exchange.layout != profile.header:
        place = 16  # where the location stands, or the first dimension
        size, right = len(exchange.header), profile.header.request_size
        summary = f"{exchange.name} has a header of {size} bytes; that of lmcache {profile.release} has {right}"
        yield request_finding(
            "request-generation", exchange, summary, exchange.layout.request[4], expected=profile.header.request[4],
            got=exchange.layout.request[4], where=(place, 4), requirement="LM-REQ-002" if profile.has_location else "LM-REQ-001",
        )  # fmt: skip


def _description_of_put(exchange: Exchange) -> Iterator[Finding]:
    length = exchange.numbers["length"]
    if length < 0:
        summary = f"{exchange.name} announces {length} bytes"
        yield request_finding("negative-length", exchange, summary, "length", expected="0 or more", got=str(length))
        return
    amount = _amount(exchange.numbers)
    if amount is not None and amount != length:
        summary = f"{exchange.name} announces {length} bytes, and its shape and dtype amount to {amount}"
        yield request_finding("shape-length", exchange, summary, "length", expected=str(amount), got=str(length))


def _amount(numbers: dict[str, int]) -> int | None:
    """Bytes that format, dtype and shape amount to; None where they say nothing."""
    if numbers["format"] not in KNOWN["format"] or numbers["dtype"] not in KNOWN["dtype"]:
        return None
    shape = [numbers[name] for name in _DIMENSIONS]
    dtype = name_of("dtype", numbers["dtype"])
    if min(shape) < 0 or dtype is None:
        return None
    return payload_size(str(name_of("format", numbers["format"])), dtype, shape)


def _key(exchange: Exchange, profile: Release | None) -> Iterator[Finding]:
    raw, begin = exchange.key_field, exchange.key_offset
    try:
        text = raw.decode().rstrip(" ")
    except UnicodeDecodeError as error:
        summary = f"{exchange.name}: the key is not UTF-8: {error.reason} at byte {error.start} of the field"
        got = raw[error.start : error.start + 1].hex()
        where = (begin + error.start, 1)
        yield request_finding("key-encoding", exchange, summary, "key", expected="UTF-8", got=f"byte {got}", where=where)
        return
    stripped = text.strip(_PADDING + " ")
    if stripped != text:
        before = len(text) - len(text.lstrip(_PADDING + " "))
        first = 0 if before else len(stripped.encode())
        odd = raw[first : first + 1]
        summary = f"{exchange.name}: byte {odd.hex()} {'before' if before else 'behind'} the key {stripped!r}"
        size = before or len(text) - len(stripped)
        where = (begin + first, size)
        yield request_finding("key-padding", exchange, summary, "key", expected="spaces behind it", got=odd.hex(), where=where)
    elif len(text.encode()) == KEY_FIELD_SIZE:
        summary = f"{exchange.name}: the key takes all {KEY_FIELD_SIZE} bytes: {text!r}"
        yield request_finding("key-full", exchange, summary, "key")
    if exchange.command == "LIST" and not stripped:
        return
    yield from _grammar(exchange, stripped, profile)


def _grammar(exchange: Exchange, text: str, profile: Release | None) -> Iterator[Finding]:
    known = writers(text)
    if known and (profile is None or profile in known):
        return
    release = profile or nearest(text)
    part = next((part for part in key_parts(release, text) if part.expected), None)
    if part is None:
        return
    whose = f"lmcache {release}" if profile is not None else "any release"
    summary = f"{exchange.name}: the key {text!r} is not one that {whose} writes"
    if known:
        summary += f"; {ranges(known)} would"
    where = (exchange.key_offset + part.offset, max(1, len(part.text.encode())))
    expected = part.expected if profile is not None else f"{part.expected} (lmcache {release})"
    requirement = next(name for first, name in _GRAMMAR_REQUIREMENT if Release.parse(first) <= release)
    yield request_finding(
        "key-grammar", exchange, summary, "key", expected=f"{part.name}: {expected}", got=repr(part.text), where=where,
        requirement=requirement,
    )  # fmt: skip


def _hit(connection: int, reply: Reply, exchange: Exchange, stored: Exchange | None) -> Iterator[Finding]:
    numbers = reply.numbers
    if stored is not None:
        for name in ("length", "format", "dtype", *_DIMENSIONS):
            put = stored.numbers[name]
            if name == "dtype" and put in DTYPE_ALIASES:
                put = 2
            if numbers[name] != put:
                summary = f"{exchange.name} is answered with {name} {numbers[name]}; the PUT of the key had {put}"
                got = str(numbers[name])
                yield reply_finding(
                    "reply-description", connection, reply, exchange, summary, name, expected=str(put), got=got
                )  # fmt: skip
                return
        return
    amount = _amount(numbers)
    if numbers["length"] < 0 or (amount is not None and amount != numbers["length"]):
        summary = f"{exchange.name} is answered with {numbers['length']} bytes, and shape and dtype amount to {amount}"
        expected, got = str(amount), str(numbers["length"])
        yield reply_finding("reply-length", connection, reply, exchange, summary, "length", expected=expected, got=got)
