"""Key strings as they were captured, cut into their parts by the grammar of the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fixturegen.corpus import captured_releases, load_corpus
from reports.pictures.releases import KNOWN, members
from wire.keys import KEY_GRAMMARS, KeyGrammar
from wire.mp.objects import OBJECT_GROUPS, SALTS
from wire.release import Release

LAYERED: Final = ("lm.key.format.layer-tag", "lm.key.format.layer-31", "lm.key.format.plain")
"""Captured keys with as many parts as there can be, the best first."""
NAMED: Final = ("mp.objects.range.salt", "mp.objects.range.two-chunks")

_STYLES: Final = {
    "text": "the hash is text: the digits of a sha256",
    "decimal": "the hash is a number, written and read in decimal",
    "decimal-read-as-hex": "the hash is still written in decimal, but read in base 16",
    "hex": "the hash is written and read in hexadecimal",
}


@dataclass(frozen=True)
class Part:
    """One part of a key string."""

    kind: str
    text: str


@dataclass(frozen=True)
class Spelling:
    """How some releases spell a key, by one that was captured."""

    releases: tuple[str, ...]
    vector: str
    captured: str
    """The release of the capture."""
    text: str
    parts: tuple[Part, ...]
    changes: tuple[str, ...]
    """What is so from the first of these releases on."""


def key_spellings() -> tuple[Spelling, ...]:
    """Key strings of ``lm://``, one for each grammar.

    Raises:
        CorpusError: a capture is damaged.
        LookupError: none of the keys was captured for a grammar.
    """
    found: list[Spelling] = []
    before: KeyGrammar | None = None
    for range_, grammar in KEY_GRAMMARS.rows():
        releases = members(range_)
        vector, release, text = _captured(releases, LAYERED)
        parts = tuple(_parts(grammar, text))
        found.append(Spelling(releases, vector, release, text, parts, tuple(_changes(before, grammar))))
        before = grammar
    return tuple(found)


def _captured(releases: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, str, str]:
    for release in reversed(releases):
        texts = _texts(release)
        for name in names:
            if name in texts:
                return name, release, texts[name]
    raise LookupError(f"none of {', '.join(names)} was captured from {', '.join(releases)}")


def _texts(release: str) -> Mapping[str, str]:
    parsed = Release.parse(release)
    if parsed not in captured_releases():
        return {}
    vectors = load_corpus(parsed).vectors["format_key"]
    return {vector.id: str(vector.ok["text"]) for vector in vectors if vector.ok is not None}


def _parts(grammar: KeyGrammar, text: str) -> Iterator[Part]:
    kinds = [*(["fmt"] if grammar.prefix else []), "model", "world", "worker", "hash"]
    kinds += ["dtype"] if grammar.dtype_names is not None else []
    words = text.split("@")
    for kind, word in zip(kinds, words, strict=False):
        yield Part(kind, word)
    for word in words[len(kinds) :]:
        yield Part("layer" if word.isdigit() else "tag", word)


def _changes(before: KeyGrammar | None, after: KeyGrammar) -> Iterator[str]:
    if before is None:
        yield _STYLES[after.hash_style]
        return
    if before.prefix and not after.prefix:
        yield "the engine's name is gone"
    if before.dtype_names is None and after.dtype_names is not None:
        yield "the dtype joins the key"
    if before.hash_style != after.hash_style:
        yield _STYLES[after.hash_style]
    if after.tags and not before.tags:
        yield "tags may follow"
    if before.tags_become_settings != after.tags_become_settings:
        yield "tags that are read become settings" if after.tags_become_settings else "tags that are read stay tags"
    if after.digests and not before.digests:
        yield "digests can be written as well"
    if before.dtype_names and after.dtype_names and before.dtype_names != after.dtype_names:
        names = [name for dtype, name in after.dtype_names.items() if before.dtype_names.get(dtype) != name]
        yield f"each float8 type has a name of its own: {', '.join(names)} are new"
    if after.server_layers and not before.server_layers:
        yield "servers take keys of layers"


def object_spellings() -> tuple[Spelling, ...]:
    """Names of objects of the multiprocess server, one for each way to spell them, from the first release that was asked for any.

    Raises:
        CorpusError: a capture is damaged.
    """
    found: list[Spelling] = []
    for release in KNOWN:
        named = _names(release)
        if named is None:
            continue
        shape = (OBJECT_GROUPS[release], SALTS[release])
        if found and _shape(found[-1]) == shape:
            found[-1] = Spelling((*found[-1].releases, str(release)), *_told(found[-1]))
            continue
        vector, text = named
        changes = ["model, rank and hash"] if not found else []
        changes += ["a salt may follow"] if found and shape[1] and not _shape(found[-1])[1] else []
        changes += ["the object group joins the name"] if found and shape[0] and not _shape(found[-1])[0] else []
        kinds = ["model", "rank", *(["group"] if shape[0] else []), "hash", "salt"]
        parts = tuple(Part(kind, word) for kind, word in zip(kinds, text.split("@"), strict=False))
        found.append(Spelling((str(release),), vector, str(release), text, parts, tuple(changes)))
    return tuple(found)


def _told(spelling: Spelling) -> tuple[str, str, str, tuple[Part, ...], tuple[str, ...]]:
    return spelling.vector, spelling.captured, spelling.text, spelling.parts, spelling.changes


def _shape(spelling: Spelling) -> tuple[bool, bool]:
    release = Release.parse(spelling.releases[0])
    return OBJECT_GROUPS[release], SALTS[release]


def _names(release: Release) -> tuple[str, str] | None:
    """The first name of the best vector of a release that has names; None for a release without."""
    if release not in captured_releases(protocol="mp"):
        return None
    vectors = load_corpus(release, protocol="mp").vectors.get("mp_object_keys", ())
    texts = {vector.id: vector.ok["names"] for vector in vectors if vector.ok is not None and vector.ok.get("names")}
    return next(((name, str(texts[name][0])) for name in NAMED if name in texts), None)
