"""How a release reads key strings: what a server takes for a key, and which texts it refuses."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal

from fixturegen.vector import Vector
from reports.drift.observe.keystring import KeyString

Base = Literal["text", "base 10", "base 16"]
Tags = Literal["refused", "kept", "lost"]

BASES: Final[tuple[Base, ...]] = ("base 16", "base 10", "text")
TAGS: Final[tuple[Tags, ...]] = ("kept", "refused", "lost")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"tail": ("layer", "tags")})
"""Role of a part to the members of a key that it gives; other parts give the member of their name."""
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
    exceptions: Mapping[tuple[str, str], Mapping[str, Any] | None] = field(default_factory=dict)
    """Role and text of a part that the real reader reads against these rules, to what it makes of it; None for a refusal."""

    def read(self, text: str) -> dict[str, Any] | None:
        """The key that a text names, in the form of the client protocol; None if it is refused."""
        parts = self.strings.split(text)
        if parts is None:
            return None
        found: dict[str, Any] = {"dtype": None, "fmt": None, "layer": None, "tags": []}
        try:
            for role, word in parts.items():
                exception = self.exceptions.get((role, word), {})
                if exception is None:
                    return None
                found.update(exception or (self._tail(word) if role == "tail" else self._part(role, word)))
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

    def _tail(self, text: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        rest = text.split(self.strings.separator)[1:]
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
    found = candidates[counts.index(max(counts))]
    return replace(found, exceptions=dict(_exceptions(found, vectors)))


def _exceptions(reader: KeyReader, vectors: Sequence[Vector]) -> Iterator[tuple[tuple[str, str], Mapping[str, Any] | None]]:
    """What the reader gets wrong, by the one part of the text that differs from most texts."""
    counts: dict[str, Counter[str]] = {}
    for vector in vectors:
        for role, part in (reader.strings.split(vector.args["text"]) or {}).items():
            counts.setdefault(role, Counter())[part] += 1
    usual = {role: counter.most_common(1)[0][0] for role, counter in counts.items()}
    for vector in vectors:
        parts = reader.strings.split(vector.args["text"])
        odd = [part for part in (parts or {}).items() if usual[part[0]] != part[1]]
        if len(odd) == 1 and not reads_alike(reader, vector):
            role = odd[0][0]
            made = None if vector.ok is None else {name: vector.ok["key"].get(name) for name in FIELDS.get(role, (role,))}
            yield odd[0], made


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
