"""Key strings as each release would write them, part by part, and pseudonyms for them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from harness.tap.guess import RELEASES
from harness.tap.pseudonyms import Pseudonyms
from wire.keys import KEY_GRAMMARS, TAG_PREFIX, KeyGrammar
from wire.release import Release

_NUMBER: Final = re.compile(r"0|[1-9][0-9]*")
_HASHES: Final = {
    "text": re.compile(r"[^@]+"),
    "decimal": re.compile(r"-?(0|[1-9][0-9]*)"),
    "decimal-read-as-hex": re.compile(r"-?(0|[1-9][0-9]*)"),
    "hex": re.compile(r"-?(0|[1-9a-f][0-9a-f]*)"),
}
_HASH_WORDS: Final = {
    "text": "text",
    "decimal": "a decimal number",
    "decimal-read-as-hex": "a decimal number",
    "hex": "a number in lower-case hexadecimal",
}
_DIGEST: Final = re.compile(r"([0-9a-f]{2})+")
_LONG_NUMBER: Final = re.compile(r"[+-]?(0x)?[0-9a-fA-F_]{5,}")
_ENGINES: Final = frozenset({"vllm", "sglang", "huggingface"})
_REMEMBERED: Final = 4096


@dataclass(frozen=True)
class Part:
    """A stretch of a key string between two ``@``."""

    name: str
    """engine, model, world size, worker id, hash, dtype, layer or tag."""
    offset: int
    """In bytes of UTF-8, from the beginning of the key."""
    text: str
    expected: str = ""
    """What had to stand here, if this is none; empty if it is one."""


@functools.lru_cache(_REMEMBERED)
def key_parts(release: Release, text: str) -> tuple[Part, ...]:
    """The parts as a release would read them, those that are missing at the end."""
    grammar = KEY_GRAMMARS[release]
    names = [*(["engine"] if grammar.prefix else []), "model", "world size", "worker id", "hash"]
    names += ["dtype"] if grammar.dtype_names is not None else []
    found = []
    offset = 0
    for index, piece in enumerate(text.split("@")):
        name = names[index] if index < len(names) else _behind(piece, first=index == len(names))
        found.append(Part(name, offset, piece, _fault(grammar, name, piece)))
        offset += len(piece.encode(errors="surrogateescape")) + 1
    found += [Part(name, offset - 1, "", f"'@' and the {name}") for name in names[len(found) :]]
    return tuple(found)


@functools.lru_cache(_REMEMBERED)
def writers(text: str) -> tuple[Release, ...]:
    """The releases that write such a key, oldest first."""
    return tuple(release for release in RELEASES if not any(part.expected for part in key_parts(release, text)))


def redact_key(text: str, pseudonyms: Pseudonyms) -> str:
    """A key of the same grammar and the same number of bytes; numbers, dtype and a known engine stay."""
    known = writers(text)
    parts = key_parts(known[-1], text) if known else tuple(Part(_looks(piece), 0, piece) for piece in text.split("@"))
    return "@".join(_redacted(part, pseudonyms) for part in parts)


def _behind(piece: str, *, first: bool) -> str:
    return "layer" if first and piece.isascii() and piece.isdigit() else "tag"


def _fault(grammar: KeyGrammar, name: str, text: str) -> str:
    if name in {"world size", "worker id", "layer"}:
        return "" if _NUMBER.fullmatch(text) else "a decimal number"
    if name == "hash":
        good = _HASHES[grammar.hash_style].fullmatch(text) or (grammar.digests and _DIGEST.fullmatch(text))
        return "" if good else _HASH_WORDS[grammar.hash_style]
    if name == "dtype":
        names = sorted(set((grammar.dtype_names or {}).values()))
        return "" if text in names else f"one of {', '.join(names)}"
    if name == "tag":
        if not grammar.tags:
            return "the end of the key"
        return "" if "%" in text else "a tag, name%value"
    return "" if text else f"the {name}"


def _looks(piece: str) -> str:
    """What a part of a key of no grammar may be, for its pseudonym."""
    if piece.isascii() and piece.isdigit() and len(piece) < 5:
        return "world size"
    if _LONG_NUMBER.fullmatch(piece):
        return "hash"
    if any(piece in (row.dtype_names or {}).values() for _, row in KEY_GRAMMARS.rows()):
        return "dtype"
    return "tag" if "%" in piece else "model"


def _redacted(part: Part, pseudonyms: Pseudonyms) -> str:
    if part.name in {"world size", "worker id", "layer", "dtype"} or part.text in _ENGINES:
        return part.text
    if part.name == "hash":
        prefix = "0x" if part.text.startswith("0x") else ""
        digits = part.text.removeprefix(prefix)
        if _LONG_NUMBER.fullmatch(digits) or _DIGEST.fullmatch(digits) or _HASHES["hex"].fullmatch(digits):
            return prefix + pseudonyms.number(digits, what="hash")
        return pseudonyms.name(part.text, what="hash")
    if part.name == "tag":
        name, percent, value = part.text.partition("%")
        prefix = TAG_PREFIX if name.startswith(TAG_PREFIX) else ""
        shown = prefix + pseudonyms.name(name.removeprefix(prefix), what="tag")
        return shown + percent + pseudonyms.name(value, what="value")
    return pseudonyms.name(part.text, what=part.name)
