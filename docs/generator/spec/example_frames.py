"""Captured headers of ``lm://``, field by field."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from docs.generator.spec.annotated import Part, annotated, several
from docs.generator.spec.corpus import captured, conversation_place, place, transcript, vector
from docs.generator.spec.words import spanned
from fixturegen.vector import Vector
from wire.errors import DecodeError
from wire.lm.enums import name_of
from wire.lm.profile import HEADER_LAYOUTS, KEY_FIELD_SIZE, HeaderLayout, lm_profile
from wire.release import Release, ReleaseRange

_PUT: Final = "lm.request.sent.put-kv-2ltd-float16"
_GET: Final = "lm.request.sent.get"
_SHORT: Final = "lm.request.sent.put-kv-t2d-float16"
_NAMED: Final = frozenset({"command", "code", "format", "dtype", "location"})


def requests() -> str:
    """A PUT in each layout of the header, and a GET."""
    examples = [
        _example(f"A PUT, {spanned(span)}, here of {release}", release, vector(release, _PUT)) for span, _, release in layouts()
    ]
    newest = captured()[-1]
    examples.append(_example(f"A GET of {newest}: it describes nothing (LM-GET-001)", newest, vector(newest, _GET)))
    examples.append(
        _example(
            f"A PUT of a shape of three dimensions, of {newest}: the fourth is a zero (LM-REQ-010)",
            newest,
            vector(newest, _SHORT),
        )
    )
    return several(examples)


def layouts() -> Iterator[tuple[ReleaseRange, HeaderLayout, str]]:
    """Every header layout with the newest captured release that has it."""
    for span, layout in HEADER_LAYOUTS.rows():
        yield span, layout, [text for text in captured() if Release.parse(text) in span][-1]


def _example(title: str, release: str, found: Vector) -> tuple[str, str]:
    data = bytes.fromhex(found.answer["bytes"]["hex"])
    return f"{title} ({place(release, found)}):", annotated(request_parts(release, data))


def replies() -> str:
    """A hit and a miss in each layout of the reply."""
    examples = []
    for span, _, release in layouts():
        for title, identity in (("A hit", "lm.server.put-get"), ("A miss", "lm.server.get-miss")):
            steps = transcript(release, identity).steps
            data = next(bytes.fromhex(got) for step in steps if step.do == "receive" and (got := step.values["got"].get("bytes")))
            size = HEADER_LAYOUTS[Release.parse(release)].reply_size
            parts = [*reply_parts(release, data[:size])]
            if data[size:]:
                parts.append(Part(data[size:], "payload", f"{len(data[size:])} bytes as they were stored"))
            where = conversation_place(release, identity)
            examples.append((f"{title}, {spanned(span)}, here of {release} ({where}):", annotated(parts)))
    return several(examples)


def metadata() -> str:
    """RemoteMetadata of one group and of two."""
    newest = captured()[-1]
    examples = []
    for title, identity in (("One group", "lm.metadata.encode.one-kv-2ltd"), ("Two groups", "lm.metadata.encode.groups2-0")):
        found = vector(newest, identity)
        data = bytes.fromhex(found.answer["bytes"]["hex"])
        groups = (len(data) // 4 - 2) // 5
        names = ["length", "format"]
        names += [
            f"{name} of group {group}" for group in range(groups) for name in ("dtype", "shape0", "shape1", "shape2", "shape3")
        ]
        examples.append((f"{title}, of {newest} ({place(newest, found)}):", annotated(_words(names, data))))
    return several(examples)


def request_parts(release: str, data: bytes) -> list[Part]:
    """A request header in its fields."""
    fields = lm_profile(Release.parse(release)).header.request
    key = data[4 * len(fields) : 4 * len(fields) + KEY_FIELD_SIZE]
    text = key.rstrip(b" ")
    return [
        *_words(fields, data),
        Part(text, "key", text.decode(errors="backslashreplace")),
        Part(key[len(text) :], "", f"{KEY_FIELD_SIZE - len(text)} spaces, to the end of the key field"),
    ]


def reply_parts(release: str, data: bytes) -> list[Part]:
    """A reply header in its fields."""
    return list(_words(lm_profile(Release.parse(release)).header.reply, data))


def _words(names: Sequence[str], data: bytes) -> Iterator[Part]:
    for index, name in enumerate(names):
        (number,) = struct.unpack_from("<i", data, 4 * index)
        yield Part(data[4 * index : 4 * index + 4], name, _meaning(name.partition(" ")[0], number))


def _meaning(field: str, number: int) -> str:
    if field not in _NAMED:
        return str(number)
    try:
        return f"{number}, {name_of(field, number) or 'none'}"
    except DecodeError:
        return f"{number}, outside the table"
