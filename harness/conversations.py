"""Which captured conversations are demanded of a server that is not the real one, and how they are held with it.

A captured conversation shows what the real server does, odd things included. What a good request must bring is in
:func:`demanded`, what else a server should understand in :func:`understood`; the rest is up to the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fixturegen.corpus import Corpus, load_corpus
from fixturegen.player import Difference
from fixturegen.player import replay as play
from fixturegen.vector import Step, Transcript
from harness.case import Variant
from wire.errors import WireError
from wire.keys import KEY_GRAMMARS, format_key, parse_key
from wire.lm.enums import COMMANDS
from wire.lm.frames import header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release

PREFIX: Final = "lm.server."
_HEALTH: Final = f"{PREFIX}health"
_HIT: Final = "c8000000"

REQUIREMENT_OF: Final[Mapping[str, str]] = {
    "put-get": "SRV-LM-003",
    "put-silent": "SRV-LM-007",
    "get-miss": "SRV-LM-004",
    "exist-hit": "SRV-LM-005",
    "exist-miss": "SRV-LM-005",
    "health": "SRV-LM-006",
    "overwrite": "SRV-LM-009",
    "overwrite-shorter": "SRV-LM-009",
    "empty-value": "SRV-LM-011",
    "large-value": "SRV-LM-003",
    "two-connections": "SRV-LM-003",
    "value-outlives-connection": "SRV-LM-003",
    "get-length-ignored": "SRV-LM-013",
    "get-description-ignored": "SRV-LM-013",
    "header-dtype-not-in-key": "SRV-LM-003",
    "pipelined": "SRV-LM-008",
    "pipelined-put-get": "SRV-LM-008",
    "byte-by-byte-get": "SRV-LM-008",
    "byte-by-byte-put": "SRV-LM-008",
    "split-inside-fields": "SRV-LM-008",
    "half-header-waits": "SRV-LM-008",
    "put-header-split-from-payload": "SRV-LM-008",
    "length-disagrees-with-shape": "SRV-LM-011",
    "reset-in-payload": "SRV-LM-024",
    "reset-in-payload-over-good": "SRV-LM-024",
    "key-full-field": "SRV-LM-012",
    "key-unicode": "SRV-LM-012",
}
"""Conversations of which every request is one that a client of the release can send, by what each of them is about."""

FAMILY_OF: Final[Mapping[str, str]] = {
    "echo-dtype-": "SRV-LM-011",
    "echo-format-": "SRV-LM-011",
    "echo-shape-": "SRV-LM-011",
    "echo-binary-shape-": "SRV-LM-011",
    "location-": "SRV-LM-011",
    "identity-": "SRV-LM-010",
}
"""The same for conversations that differ in one number or one part of a key, by how their names begin."""

LEFT_OUT: Final = frozenset({"echo-dtype-half", "echo-shape-extremes", "echo-binary-shape-extremes", "identity-tag-order"})
"""Of those families: a number that no real client writes, negative dimensions, and the same tags in another order."""

UNDERSTOOD: Final[Mapping[str, str]] = {
    "half-close-after-request": "SRV-LM-049",
    "half-close-before-reply": "SRV-LM-049",
    "half-close-at-once": "SRV-LM-049",
    "key-newline": "SRV-LM-050",
    "echo-dtype-half": "SRV-LM-051",
}
"""What a server should understand, beside spellings of a key."""

_SPELLING: Final = "spelling-"
OTHER_KEYS: Final = frozenset(
    {"hash-negative", "hash-decimal", "hash-256-bit", "layer-0", "layer-31", "layer-tag", "tag", "tag-order"}
)
OTHER_DTYPES: Final = "dtype-"
"""Of spellings that miss, those of other keys that clients write, and how the names of more begin; nobody writes the rest."""


def demanded(release: Release) -> list[Variant]:
    """Variants: the conversations that a server must hold as the real one did."""
    return [_variant(found) for found in load_corpus(release).transcripts if requirement_of(release, found) in MUST]


def understood(release: Release) -> list[Variant]:
    """Variants: the conversations that a server should hold as the real one did."""
    return [_variant(found) for found in load_corpus(release).transcripts if requirement_of(release, found) in SHOULD]


def requirement_of(release: Release, transcript: Transcript) -> str | None:
    """What a conversation is about; None where nothing is demanded of any server but the real one."""
    name = transcript.id.removeprefix(PREFIX)
    if name in LEFT_OUT | UNDERSTOOD.keys():
        return UNDERSTOOD.get(name)
    if _is_refused(transcript):
        return None
    if name.startswith(_SPELLING):
        return _requirement_of_spelling(release, transcript)
    family = next((requirement for start, requirement in FAMILY_OF.items() if name.startswith(start)), None)
    return REQUIREMENT_OF.get(name, family)


def _is_refused(transcript: Transcript) -> bool:
    """Whether the real server ended a connection of itself: a request was none that the release can write."""
    half_closed: set[str] = set()
    for step in transcript.steps:
        if step.do == "half-close":
            half_closed.add(step.connection)
        elif step.do == "receive" and step.values["got"]["closed"] and step.connection not in half_closed:
            return True
    return False


def _requirement_of_spelling(release: Release, transcript: Transcript) -> str | None:
    """The last answer tells whether it is the same key; if not, and if clients write it, it must be another."""
    stored, asked = (transcript.steps[place].payload() for place in (1, -3))
    answer = transcript.steps[-1].values["got"].get("bytes", "")
    begin, size = lm_profile(release).header.request_size - KEY_FIELD_SIZE, KEY_FIELD_SIZE
    if answer.startswith(_HIT):
        same = stored[begin : begin + size] == asked[begin : begin + size]
        return "SRV-LM-003" if same else "SRV-LM-050"
    name = transcript.id.removeprefix(PREFIX + _SPELLING)
    known = name in OTHER_KEYS or name.startswith(OTHER_DTYPES)
    return "SRV-LM-010" if answer and known and _can_be_written(release, asked) else None


def _can_be_written(release: Release, header: bytes) -> bool:
    text = header[-KEY_FIELD_SIZE:].decode(errors="replace").rstrip(" ")
    try:
        return format_key(release, parse_key(release, text)) == text
    except WireError:
        return False


SHOULD: Final = ("SRV-LM-049", "SRV-LM-050", "SRV-LM-051")
MUST: Final = tuple(sorted({*REQUIREMENT_OF.values(), *FAMILY_OF.values()}))


def _variant(transcript: Transcript) -> Variant:
    return Variant(transcript.id, transcript)


def hold(release: Release, host: str, port: int, transcript: Transcript, corpus: Corpus, model: str) -> list[Difference]:
    """Hold a conversation under keys of its own, and then ask for HEALTH on each connection; the differences.

    Unless it is about that, no connection is closed on one side only: a server need not know that.
    """
    steps = list(_under_model(lm_profile(release), transcript, model))
    if transcript.id.removeprefix(PREFIX) not in UNDERSTOOD:
        steps = list(_without_half_closes(steps))
    health = next(found for found in corpus.transcripts if found.id == _HEALTH)
    return play(host, port, replace(transcript, steps=[*steps, *_farewell(steps, health)]))


def _farewell(steps: list[Step], health: Transcript) -> Iterator[Step]:
    """HEALTH on every connection that is open, and its captured reply: whatever came too much shows in front of it."""
    send, receive = health.steps[1:3]
    is_open: dict[str, bool] = {}
    for step in steps:
        is_open[step.connection] = step.do not in {"close", "reset", "half-close"} and is_open.get(step.connection, True)
    for connection in (name for name, found in is_open.items() if found):
        yield replace(send, connection=connection)
        yield replace(receive, connection=connection)


def _without_half_closes(steps: list[Step]) -> Iterator[Step]:
    """A half-close is left out where a reply is due behind it, and is a close where none is."""
    ended: set[str] = set()
    for place, step in enumerate(steps):
        if step.do == "half-close":
            got = next(later.values["got"] for later in steps[place:] if later.do == "receive")
            ended.add(step.connection)
            if not _has_bytes(got):
                yield replace(step, do="close")
        elif step.do == "receive" and step.connection in ended:
            got = step.values["got"]
            if _has_bytes(got):
                yield replace(step, values={"got": {**got, "closed": False}})
        else:
            yield step


def _has_bytes(got: Mapping[str, Any]) -> bool:
    return bool(got.get("bytes") or got.get("length"))


def _under_model(profile: LmProfile, transcript: Transcript, model: str) -> Iterator[Step]:
    """The steps with model names that no other conversation has, in every key of every header, however it is cut."""
    streams: dict[str, bytearray] = {}
    for step in transcript.steps:
        if step.do == "send":
            streams.setdefault(step.connection, bytearray()).extend(step.payload())
    for stream in streams.values():
        _rename(profile, stream, model)
    sent = dict.fromkeys(streams, 0)
    for step in transcript.steps:
        if step.do != "send" or "bytes" not in step.values:
            if step.do == "send":
                sent[step.connection] += len(step.payload())
            yield step
            continue
        begin = sent[step.connection]
        end = sent[step.connection] = begin + len(step.payload())
        yield replace(step, values={**step.values, "bytes": streams[step.connection][begin:end].hex()})


def _rename(profile: LmProfile, stream: bytearray, model: str) -> None:
    """In place: each header that is there as a whole gets a key of the same conversation under another name."""
    place, size = 0, profile.header.request_size
    while place + size <= len(stream):
        numbers = header_numbers(profile.header.request, bytes(stream[place : place + size]))
        field = slice(place + size - KEY_FIELD_SIZE, place + size)
        stream[field] = _renamed(profile.release, bytes(stream[field]), model)
        place += size + (max(0, numbers["length"]) if numbers["command"] == COMMANDS["PUT"] else 0)


def _renamed(release: Release, field: bytes, model: str) -> bytes:
    """A key field with the model name behind another, or under it where there is no room for both."""
    parts = field.decode().split("@")
    place = int(KEY_GRAMMARS[release].prefix)
    name = parts[place]
    begin = len(name) - len(name.lstrip()) if place == 0 else 0
    for made in (f"{model}/{name[begin:]}", f"{model}{name[begin + len(model) :]}"):
        parts[place] = name[:begin] + made
        text = "@".join(parts).rstrip(" ").encode()
        if len(text) <= KEY_FIELD_SIZE:
            return text.ljust(KEY_FIELD_SIZE)
    raise AssertionError(f"no room for {model!r} in {field!r}")
