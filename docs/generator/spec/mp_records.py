"""Records of the multiprocess wire: members in their order, with type, default and releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from docs.generator.spec.mp_operations import FIRST
from docs.generator.spec.words import code, spanned, spans
from docs.generator.table import table
from wire.mp.records import ENUMERATIONS, KEY_RECORD, MAPS, RECORDS, Field
from wire.mp.values import SALT_FORBIDDEN, SALT_LIMIT, to_json
from wire.release import KNOWN_RELEASES, Release

REQUIRED: Final = "must be there"
LAST_OF: Final = {"IPCCacheEngineKey": "0.5.0", "RegisterNonGpuContextPayload": "0.5.0", "RegisterNonGpuContextResponse": "0.5.0"}
"""Records that the release named, and later ones, have under another name."""


def records() -> str:
    """Every record, member by member."""
    return table(("record", "releases", "member", "type", "where it is missing"), _records())


def _records() -> Iterator[tuple[str, ...]]:
    for name in RECORDS:
        for held in fields(name):
            for type_, default, releases in _forms(name, held):
                yield code(name), spans(releases), code(held), type_, default


def releases_of(name: str) -> list[str]:
    """The releases that have a record of this name."""
    begin = next(span.first for span, _ in RECORDS[name].rows())
    end = Release.parse(LAST_OF[name]) if name in LAST_OF else None
    return [text for text in KNOWN_RELEASES if begin <= Release.parse(text) and (end is None or Release.parse(text) < end)]


def fields(name: str) -> list[str]:
    """Every member that a record ever had, in the order of the wire."""
    found: list[str] = []
    for _, held in RECORDS[name].rows():
        at = 0
        for field in held:
            if field.name in found:
                at = found.index(field.name) + 1
            else:
                found.insert(at, field.name)
                at += 1
    return found


def _forms(name: str, member: str) -> Iterator[tuple[str, str, list[str]]]:
    """Type and default of a member with the releases in which it has them."""
    found: dict[tuple[str, str], list[str]] = {}
    for text in releases_of(name):
        for field in RECORDS[name][Release.parse(text)]:
            if field.name == member:
                found.setdefault((code(field.type), _default(field)), []).append(text)
    for (type_, default), releases in found.items():
        yield type_, default, releases


def _default(field: Field) -> str:
    return REQUIRED if field.required else code(_shown(field.default))


def _shown(value: Any) -> str:
    if value is None:
        return "nil"
    if value == b"":
        return "no bytes"
    plain = to_json(value)
    return '""' if plain == "" else str(plain).lower() if isinstance(plain, bool) else str(plain)


def key_record() -> str:
    """What the key record is called."""
    rows = [(spanned(span, first=FIRST), code(name)) for span, name in KEY_RECORD.rows()]
    return table(("releases", "name of the key record"), rows)


def enumerations() -> str:
    """Texts of each enumeration, and maps without members of their own."""
    rows = [
        (code(name), spanned(span, first=FIRST), ", ".join(map(code, values)))
        for name, held in ENUMERATIONS.items()
        for span, values in held.rows()
    ]
    rows += [(code(name), "where it is a payload", "a map in which every member may be missing") for name in MAPS]
    return table(("type", "releases", "values"), rows)


def salts() -> str:
    """What a salt must not be."""
    shown = ", ".join("NUL" if each == "\0" else code(each) for each in SALT_FORBIDDEN)
    return table(("of a `cache_salt`", ""), [("characters that it has not", shown), ("characters at most", str(SALT_LIMIT))])
