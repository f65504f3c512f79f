"""How a release reads key strings: what a server takes for a key, and which texts it refuses."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fixturegen.vector import Vector
from reports.drift.observe.keystring import KeyString

Base = Literal["text", "base 10", "base 16"]
Tags = Literal["refused", "kept", "lost"]

BASES: Final[tuple[Base, ...]] = ("base 16", "base 10", "text")
TAGS: Final[tuple[Tags, ...]] = ("kept", "refused", "lost")
SERVER_OP: Final = "parse_key_as_server"


@dataclass(frozen=True)
class KeyReader:
    """A reader of keys, inferred from what the real one made of captured texts."""

    strings: KeyString
    base: Base
    """How the hash is read."""
    dtypes: Mapping[str, str]
    """Name in the key to torch name."""
    layers: bool
    """A first part behind the fixed ones that is all digits is a layer."""
    tags: Tags
    reproduced: int = 0
    """How many of the captured texts this reader reads as the real one does."""
    asked: int = 0

    @property
    def faithful(self) -> bool:
        """It reads every captured text as the real reader does."""
        return self.asked > 0 and self.reproduced == self.asked

    def read(self, text: str) -> dict[str, Any] | None:
        """The key that a text names, in the form of the client protocol; None if it is refused."""
        words = text.strip().split(self.strings.separator)
        fixed = self.strings.parts
        if len(words) < len(fixed):
            return None
        found: dict[str, Any] = {"dtype": None, "fmt": None, "layer": None, "tags": []}
        try:
            for role, word in zip(fixed, words, strict=False):
                found.update(self._part(role, word))
            found.update(self._tail(words[len(fixed) :]))
        except (ValueError, KeyError):
            return None
        return found

    def identity(self, text: str) -> object | None:
        """Something that two texts share if and only if they name one key; None if the text is refused."""
        found = self.read(text)
        if found is None:
            return None
        return tuple((name, str(value)) for name, value in sorted(found.items()))

    def _part(self, role: str, word: str) -> dict[str, Any]:
        if role in {"world_size", "worker_id"}:
            return {role: int(word)}
        if role == "chunk_hash":
            return {
                role: {"text": word} if self.base == "text" else {"int": str(int(word, 10 if self.base == "base 10" else 16))}
            }
        if role == "dtype":
            return {role: self.dtypes[word]}
        if role.startswith("'"):
            if word != role[1:-1]:
                raise ValueError(word)
            return {}
        return {role: word}

    def _tail(self, words: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        rest = list(words)
        if rest and self.layers and rest[0].isdigit():
            found["layer"] = int(rest.pop(0))
        tags: dict[str, str] = {}
        for word in rest:
            name, separator, value = word.partition("%")
            if self.tags == "refused" or not separator:
                raise ValueError(word)
            tags[name] = value
        if tags and self.tags == "kept":
            found["tags"] = [list(tag) for tag in tags.items()]
        return found


def infer_key_reader(vectors: Sequence[Vector], strings: KeyString | None) -> KeyReader | None:
    """The reader that gives most of the captured outcomes; None if nothing was captured or key strings follow no pattern."""
    if strings is None or not vectors:
        return None
    dtypes = _dtype_names(vectors, strings)
    candidates = [
        KeyReader(strings, base, dtypes, layers, tags) for base, layers, tags in itertools.product(BASES, (True, False), TAGS)
    ]
    counts = [sum(reads_alike(candidate, vector) for vector in vectors) for candidate in candidates]
    best = counts.index(max(counts))
    found = candidates[best]
    return KeyReader(strings, found.base, dtypes, found.layers, found.tags, counts[best], len(vectors))


def reads_alike(reader: KeyReader, vector: Vector) -> bool:
    """Whether the inferred reader gives the captured outcome."""
    return reader.read(vector.args["text"]) == (None if vector.ok is None else vector.ok["key"])


def _dtype_names(vectors: Sequence[Vector], strings: KeyString) -> dict[str, str]:
    found = {}
    for vector in vectors:
        parts = strings.split(vector.args["text"])
        if vector.ok is not None and parts and "dtype" in parts:
            found[parts["dtype"]] = vector.ok["key"]["dtype"]
    return found
