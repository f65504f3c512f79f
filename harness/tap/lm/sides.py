"""What release each side of an ``lm://`` conversation seems to be, and the first byte that they read differently."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.tap.event import Event, Side
from harness.tap.finding import Finding, Frame
from harness.tap.guess import RELEASES, Guess, ranges
from harness.tap.lm.exchange import Exchange, Reply
from harness.tap.lm.generations import GENERATIONS, Generation, ImaginedServer, taken
from harness.tap.lm.headers import FIRST, KNOWN
from harness.tap.lm.keys import key_parts, writers
from harness.tap.lm.rules import LM_RULES
from harness.tap.suspects import Suspects
from wire.chunks import CHUNK_CHAINS
from wire.lm.enums import BINARY_FORMATS, name_of
from wire.lm.frames import describe_request
from wire.lm.profile import KEY_FIELD_SIZE, HeaderLayout, lm_profile
from wire.release import Release

_FOLDED: Final = 16
"""Digits of a hash of 64 bits."""
_MOST_KEYS: Final = 4096
_MOST_SAMPLES: Final = 32
_WITHOUT_SHORT_SHAPES: Final = frozenset(release for release in RELEASES if not lm_profile(release).short_shapes)


@functools.cache
def _others(layout: HeaderLayout) -> frozenset[Release]:
    """The releases with other headers."""
    return frozenset(release for release in RELEASES if lm_profile(release).header != layout)


@functools.cache
def _without_format(number: int) -> frozenset[Release]:
    """The releases that do not have a memory format."""
    return frozenset(release for release in RELEASES if lm_profile(release).highest_format < number)


class Sides:
    """Hears what both sides do, and keeps the releases that would do so."""

    def __init__(self, profile: Release | None) -> None:
        self._profile = profile
        self._suspects: dict[Side, Suspects] = {"client": Suspects("client"), "server": Suspects("server")}
        self._keys: set[str] = set()
        self._imagined: dict[int, list[ImaginedServer]] = {}
        self._samples: list[Exchange] = []
        """Requests to show what the sides read differently."""
        self._told: set[str] = set()
        self._revision = -1

    def guess(self, who: Side) -> Guess:
        """What a side seems to be."""
        return self._suspects[who].guess()

    # -- the client

    def request(self, exchange: Exchange) -> None:
        """What a request says of the client."""
        client = self._suspects["client"]
        client.seen += 1
        if len(self._samples) < _MOST_SAMPLES:
            self._samples.append(exchange)
        size = len(exchange.header)
        self._exclude_client(_others(exchange.layout), exchange, exchange.key_offset, f"a request header of {size} bytes")
        for field in ("command", "format", "dtype", "location"):
            value = exchange.numbers.get(field, 0)
            place = 4 * exchange.layout.request.index(field) if field in exchange.numbers else 0
            if value not in KNOWN[field]:
                self._exclude_client(RELEASES, exchange, place, f"{field} {value}, which no release writes")
        number = exchange.numbers["format"]
        if number in KNOWN["format"]:
            self._exclude_client(_without_format(number), exchange, 8, f"format {number} ({name_of('format', number)})")
        if exchange.command == "PUT":
            self._shape(exchange)
        self._key(exchange)

    def _shape(self, exchange: Exchange) -> None:
        """A short shape is padded with zeros, from the release on that can."""
        dims = [exchange.numbers[f"shape{index}"] for index in range(4)]
        binary = name_of("format", exchange.numbers["format"]) in BINARY_FORMATS if exchange.numbers["format"] < 9 else True
        if not binary and dims[0] > 0 and dims[3] == 0:
            place = 4 * exchange.layout.request.index("shape3")
            self._exclude_client(
                _WITHOUT_SHORT_SHAPES, exchange, place, f"the shape {dims}, padded from fewer than four dimensions", weak=True
            )

    def _key(self, exchange: Exchange) -> None:
        text = exchange.key
        if text in self._keys or len(self._keys) > _MOST_KEYS or (exchange.command in {"LIST", "HEALTH"} and not text):
            return
        self._keys.add(text)
        known = writers(text)
        others = [release for release in RELEASES if release not in known]
        what = f"the key {text!r}, " + (f"as written by {ranges(known)}" if known else "which no release writes")
        candidates = self._suspects["client"].left
        release = max(candidates) if candidates else RELEASES[-1]
        place = next((part.offset for part in key_parts(release, text) if part.expected), 0)
        self._exclude_client(others, exchange, exchange.key_offset + place, what)
        digest = next((part for part in key_parts(known[-1], text) if part.name == "hash"), None) if known else None
        if digest is not None and len(digest.text.lstrip("-")) > _FOLDED:
            folding = [release for release in RELEASES if CHUNK_CHAINS[release].folds]
            what = f"a hash of {len(digest.text)} digits, where 0.4.6 and later fold to {_FOLDED}"
            self._exclude_client(folding, exchange, exchange.key_offset + digest.offset, what, weak=True)

    def _exclude_client(
        self, releases: Iterable[Release], exchange: Exchange, place: int, what: str, *, weak: bool = False
    ) -> None:
        offset = exchange.offset + place
        self._suspects["client"].exclude(
            releases, at=exchange.at, connection=exchange.connection, offset=offset, what=what, weak=weak
        )

    # -- the server

    def open(self, connection: int) -> None:
        """A connection begins."""
        left = self._suspects["server"].left
        possible = [generation for generation in GENERATIONS if not left.isdisjoint(generation.members)]
        self._imagined[connection] = [ImaginedServer(generation) for generation in possible]

    def heard_client(self, event: Event) -> None:
        """A segment of the client, which every imagined server takes in its own way."""
        for server in self._imagined.get(event.connection, ()):
            server.feed(event.data, event.length)

    def layout(self, connection: int, reply: Reply, layout: HeaderLayout) -> None:
        """A reply header is of this generation."""
        server = self._suspects["server"]
        what = f"a reply header of {layout.reply_size} bytes"
        offset = reply.offset + FIRST.reply_size
        server.exclude(_others(layout), at=reply.at, connection=connection, offset=offset, what=what)

    def answered(self, connection: int, reply: Reply, replies: int) -> None:
        """The server has sent so many replies on a connection."""
        self._suspects["server"].seen += 1
        for imagined in self._imagined.get(connection, ()):
            if imagined.due >= replies or imagined.blind:
                continue
            if imagined.refusal is not None:
                why = f"it answers after the request at byte {imagined.refusal.offset}, which they refuse: {imagined.refusal.why}"
            elif imagined.waits_for:
                why = f"it answers where they still wait for {imagined.waits_for} bytes"
            else:
                continue
            self._exclude_server(imagined.generation, reply.at, connection, reply.offset, why, weak=False)

    def ended(self, connection: int, at: float, replies: int, exchange: Exchange | None) -> None:
        """The server ended a connection by itself after so many replies."""
        if exchange is None:
            return
        self._suspects["server"].seen += 1
        for imagined in self._imagined.get(connection, ()):
            if imagined.refusal is None and not imagined.blind and imagined.due > replies:
                why = f"it ends the connection at {exchange.name}, which they answer"
                self._exclude_server(imagined.generation, at, connection, None, why, weak=True)

    def silent(self, connection: int, at: float, replies: int, exchange: Exchange) -> None:
        """A request was not answered in time."""
        self._suspects["server"].seen += 1
        for imagined in self._imagined.get(connection, ()):
            if imagined.refusal is None and not imagined.blind and imagined.due > replies:
                why = f"it does not answer {exchange.name}, which they answer"
                self._exclude_server(imagined.generation, at, connection, None, why, weak=True)

    def waits(self, connection: int) -> dict[Generation, int]:
        """For how many bytes servers of those generations that are left would still wait."""
        left = set(self.guess("server").candidates)
        found = self._imagined.get(connection, ())
        return {one.generation: one.waits_for for one in found if one.waits_for and left.intersection(one.generation.releases)}

    def refusals(self, connection: int) -> dict[Generation, str]:
        """Why servers of those generations that are left would have ended the connection."""
        left = set(self.guess("server").candidates)
        found = self._imagined.get(connection, ())
        return {
            one.generation: one.refusal.why
            for one in found
            if one.refusal is not None and left.intersection(one.generation.releases)
        }

    def close(self, connection: int) -> None:
        """A connection is over."""
        self._imagined.pop(connection, None)

    def _exclude_server(
        self, generation: Generation, at: float, connection: int, offset: int | None, why: str, *, weak: bool
    ) -> None:
        server = self._suspects["server"]
        server.exclude(generation.releases, at=at, connection=connection, offset=offset, what=why, weak=weak)

    # -- both

    def differ(self, at: float) -> Iterator[Finding]:
        """That the sides do not fit together, or are not what they were said to be; each once."""
        revision = sum(suspects.revision + bool(suspects.seen) for suspects in self._suspects.values())
        if revision == self._revision:
            return
        self._revision = revision
        guesses = {who: self.guess(who) for who in self._suspects}
        if self._profile is not None:
            for who, guess in guesses.items():
                if guess.seen and guess.candidates and not guess.may_be(self._profile) and who not in self._told:
                    why = next((one for one in guess.evidence if self._profile in one.excludes), None)
                    if why is None:
                        continue  # a release that is not known here, of which nobody can say what its bytes are
                    self._told.add(who)
                    summary = f"the {who} is not lmcache {self._profile}: {why.what}; it seems to be {guess.words}"
                    yield Finding(
                        LM_RULES["not-the-profile"], why.connection, at, who, summary, offset=why.offset,
                        expected=str(self._profile), got=guess.words,
                    )  # fmt: skip
        client, server = guesses["client"], guesses["server"]
        if "both" in self._told or not client.candidates or not server.candidates or not server.seen:
            return
        for sample in self._samples:
            wrong = first_wrong_byte(client.candidates, server.candidates, sample.header)
            if wrong is not None:
                self._told.add("both")
                yield _sides_differ(sample, client, server, wrong, at)
                return


@dataclass(frozen=True)
class WrongByte:
    """The first place of a request that the reader takes for something else than the writer meant."""

    place: int
    """In the header."""
    size: int
    meant: str
    read: str
    refusal: str = ""
    """Why the reader ends the connection at it, if it does."""


def first_wrong_byte(writing: Sequence[Release], reading: Sequence[Release], header: bytes) -> WrongByte | None:
    """Where a request means something else to every possible reader than to every possible writer; None if it need not.

    Of those that are possible, the two that agree longest are taken, since nothing is known that speaks against them.
    """
    if set(writing) & set(reading):
        return None
    pairs = ((writer, reader) for writer in _newest(writing) for reader in _newest(reading))
    found = [_wrong_byte(writer, reader, header) for writer, reader in pairs]
    wrong = [one for one in found if one is not None]
    return max(wrong, key=lambda one: one.place) if wrong and len(wrong) == len(found) else None


def _newest(releases: Sequence[Release]) -> list[Release]:
    """The newest release of each generation that occurs."""
    left = set(releases)
    found = ([release for release in generation.releases if release in left] for generation in GENERATIONS)
    return [members[-1] for members in found if members]


def _wrong_byte(writer: Release, reader: Release, header: bytes) -> WrongByte | None:
    one, other = _spans(writer, header), _spans(reader, header)
    for place in sorted({*one, *other}):
        meant, read = _covering(one, place), _covering(other, place)
        if meant is None and read is not None and read.missing:
            meant = _Span(place, 1, "the end", "of the key")
        if meant is None or read is None or _same(meant, read):
            continue
        size = min(meant.offset + meant.size, read.offset + read.size) - place
        return WrongByte(place, max(1, size), meant.words, read.words, _refusal(reader, header))
    return None


def _refusal(reader: Release, header: bytes) -> str:
    """Why a server of a release ends the connection at a header; empty if it does not, or waits for more."""
    size = lm_profile(reader).header.request_size
    if len(header) < size:
        return ""
    found = taken(next(generation for generation in GENERATIONS if reader in generation.releases), header[:size])
    return found if isinstance(found, str) else ""


@dataclass(frozen=True)
class _Span:
    offset: int
    size: int
    name: str
    value: str
    missing: bool = False
    """It had to be there, and is not."""

    @property
    def words(self) -> str:
        return f"{self.name} {self.value}"


def _spans(release: Release, header: bytes) -> dict[int, _Span]:
    """The fields of a request header by their offsets, the key by its parts."""
    layout = lm_profile(release).header
    begin = layout.request_size - KEY_FIELD_SIZE
    found = {}
    for one in describe_request(lm_profile(release), header):
        if one.name != "key":
            value = f"{one.value} ({one.meaning})" if one.meaning else str(one.value)
            found[one.offset] = _Span(one.offset, one.size, one.name, value)
    text = header[begin : begin + KEY_FIELD_SIZE].decode(errors="surrogateescape").rstrip(" ")
    for part in key_parts(release, text):
        offset = begin + part.offset
        size = max(1, len(part.text.encode(errors="surrogateescape")))
        value = repr(part.text) + (f" (not {part.expected})" if part.expected else "")
        found.setdefault(offset, _Span(offset, size, part.name, value, missing=not part.text and bool(part.expected)))
    return found


def _covering(spans: dict[int, _Span], place: int) -> _Span | None:
    return next((span for span in spans.values() if span.offset <= place < span.offset + span.size), None)


def _same(meant: _Span, read: _Span) -> bool:
    """Whether it makes no difference: the same thing, or two fields that are both zero."""
    if meant.name == read.name:
        return meant.value == read.value
    zero = ("0", "0 (None)")
    return meant.offset == read.offset and meant.value in zero and read.value in zero


def _sides_differ(first: Exchange, client: Guess, server: Guess, wrong: WrongByte, at: float) -> Finding:
    summary = (
        f"the client seems to be {client.words}, the server {server.words}; of {first.name}, byte {wrong.place} is the first "
        f"that they read differently: {wrong.meant} to the client, {wrong.read} to the server"
    )
    sizes = [lm_profile(guess.candidates[-1]).header.reply_size for guess in (client, server)]
    if sizes[0] != sizes[1]:
        summary += f"; of a reply the client reads {sizes[0]} bytes, and the server sends {sizes[1]}"
    if wrong.refusal:
        summary += f"; the server refuses it: {wrong.refusal}"
    return Finding(
        LM_RULES["sides-differ"],
        first.connection,
        at,
        "client",
        summary,
        offset=first.offset + wrong.place,
        field=wrong.meant.split(" ")[0],
        expected=wrong.read,
        got=wrong.meant,
        frame=Frame(f"{first.name}, {len(first.header)} bytes", first.header, ((wrong.place, wrong.size),)),
        exchange=first.number,
    )
