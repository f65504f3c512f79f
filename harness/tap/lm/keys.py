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
_NUMBER_LIKE: Final = re.compile(r"[+-]?(0x)?[0-9a-fA-F]+")
_SMALL: Final = re.compile(r"[0-9+_ -]{1,6}", re.ASCII)
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
    parts = key_parts(known[-1] if known else nearest(text), text)[: text.count("@") + 1]
    return "@".join(_redacted(part, pseudonyms) for part in parts)


@functools.lru_cache(_REMEMBERED)
def nearest(text: str) -> Release:
    """The release with whose grammar a key has the most in common."""

    def fits(release: Release) -> tuple[int, int]:
        wrong = sum(bool(part.expected) for part in key_parts(release, text))
        needed = 4 + KEY_GRAMMARS[release].prefix + (KEY_GRAMMARS[release].dtype_names is not None)
        return -wrong, -abs(needed - text.count("@") - 1)

    return max(reversed(RELEASES), key=fits)


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


def _redacted(part: Part, pseudonyms: Pseudonyms) -> str:
    if part.text in _ENGINES or _stays(part):
        return part.text
    if part.name == "hash" and _NUMBER_LIKE.fullmatch(part.text):
        prefix = "0x" if part.text.startswith("0x") else ""
        return prefix + pseudonyms.number(part.text.removeprefix(prefix), what="hash")
    if part.name == "tag":
        name, percent, value = part.text.partition("%")
        prefix = TAG_PREFIX if name.startswith(TAG_PREFIX) else ""
        shown = prefix + pseudonyms.name(name.removeprefix(prefix), what="tag")
        return shown + percent + pseudonyms.name(value, what="value")
    return pseudonyms.name(part.text, what=part.name)


def _stays(part: Part) -> bool:
    """Numbers and dtypes tell nothing of a prompt; where one has to be and something else is, that may be anything."""
    if part.name in {"world size", "worker id", "layer"}:
        return not part.expected or bool(_SMALL.fullmatch(part.text))
    return part.name == "dtype" and not part.expected
