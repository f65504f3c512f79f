"""How a release writes key strings: which parts stand in which order, and how each is written."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from reports.drift.observe.evidence import Evidence
from reports.drift.observe.layout import MOST

Key = Mapping[str, Any]
"""A key of the client protocol: model, world_size, worker_id, chunk_hash, dtype, fmt, layer, tags."""

PLAIN_ROLES: Final = ("fmt", "model", "world_size", "worker_id")
"""Parts that are written as their value."""

INTEGER_STYLES: Final[Mapping[str, Callable[[int], str]]] = MappingProxyType(
    {
        "in hexadecimal": lambda value: f"{value:x}",
        "in decimal": str,
        "in 16 hexadecimal digits": lambda value: f"{value & (2**64 - 1):016x}",
        "in 64 hexadecimal digits": lambda value: f"{value & (2**256 - 1):064x}",
        "in hexadecimal behind 0x": hex,
    }
)
"""How an integer hash may be written, by name."""
BYTES_STYLES: Final[Mapping[str, Callable[[bytes], str]]] = MappingProxyType(
    {
        "in hexadecimal": bytes.hex,
        "as Python prints bytes": repr,
        "as an integer in hexadecimal": lambda value: f"{int.from_bytes(value, 'big'):x}",
    }
)
"""How a hash of bytes may be written, by name."""
REFUSED: Final = "refused"
OPAQUE: Final = "as opaque text"
"""The hash is text already."""
PART_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {"world_size": "world", "worker_id": "worker", "chunk_hash": "hash", "tail": "layer and tags", "?": "unknown"}
)
"""Roles as people call them; others by their own name."""


@dataclass(frozen=True)
class KeyString:
    """The key string of a release.

    ``parts`` are roles (``fmt``, ``model``, ``world_size``, ``worker_id``, ``chunk_hash``, ``dtype``), or ``'text'`` in quotes
    for a part that is always the same, or ``?`` for one that follows nothing known. A layer and tags, where they can be written,
    follow in this order.
    """

    separator: str
    parts: tuple[str, ...]
    integers: str | None
    """Name of the style; None where integer hashes were not asked for or follow no style known here."""
    digests: str | None
    text_hash: bool
    dtypes: Mapping[str, str]
    """torch name to the name in the key."""
    layer: bool | None
    """A layer follows as a decimal number; None where it was not asked for."""
    tags: bool | None
    """Tags follow as ``name%value``; None where they were not asked for."""

    @property
    def pattern(self) -> str:
        """The string as a pattern, such as ``model@world@worker@hash@dtype``."""
        return self.separator.join(PART_WORDS.get(part, part) for part in self.parts)

    @property
    def hash_style(self) -> str:
        """How a hash is written that is no digest."""
        return OPAQUE if self.text_hash else self.integers or "in a way that no style here matches"

    def part(self, role: str, value: Any) -> str | None:
        """One part as it is written; None if that is not known."""
        if role in PLAIN_ROLES:
            return None if value is None else str(value)
        if role == "chunk_hash":
            return self._hash(value)
        if role == "dtype":
            return self.dtypes.get(value)
        return role[1:-1] if role.startswith("'") else None

    def write(self, key: Key) -> str | None:
        """The key string; None where the parts that were inferred do not suffice."""
        found = [self.part(role, key.get(role)) for role in self.parts]
        if key["layer"] is not None:
            found.append(str(key["layer"]) if self.layer else None)
        if key["tags"] and not self.tags:
            return None
        found += [f"{name}%{value}" for name, value in key["tags"]]
        return None if None in found else self.separator.join(part for part in found if part is not None)

    def split(self, text: str) -> dict[str, str] | None:
        """A key string by role, what follows as ``tail`` with the separator in front; None if it has too few parts."""
        words = text.strip().split(self.separator)
        if len(words) < len(self.parts):
            return None
        found = dict(zip(self.parts, words, strict=False))
        return {**found, "tail": "".join(self.separator + word for word in words[len(self.parts) :])}

    def _hash(self, value: Mapping[str, str]) -> str | None:
        if "text" in value:
            return value["text"] if self.text_hash else None
        if "bytes" in value:
            style = BYTES_STYLES.get(self.digests or "")
            return style(bytes.fromhex(value["bytes"])) if style else None
        number = INTEGER_STYLES.get(self.integers or "")
        return number(int(value["int"])) if number else None


def infer_key_string(evidence: Evidence) -> KeyString | None:
    """What the captured ``format_key`` vectors have in common; None if they follow no such pattern."""
    written = [(vector.args["key"], ok["text"]) for vector, ok in evidence.answered("format_key") if isinstance(ok["text"], str)]
    separator = _separator(written)
    if separator is None:
        return None
    plain = [(key, text.split(separator)) for key, text in written if separator not in (key["model"] + (key["fmt"] or ""))]
    base = [(key, words) for key, words in plain if key["layer"] is None and not key["tags"] and "bytes" not in key["chunk_hash"]]
    widths = Counter(len(words) for _, words in base)
    width = widths.most_common(1)[0][0] if widths else 0
    base = [(key, words) for key, words in base if len(words) == width]
    if not base:
        return None
    integers = _style(base, width)
    parts, dtypes = _parts(base, width, integers)
    text_hash = any("text" in key["chunk_hash"] for key, _ in base)
    sketch = KeyString(separator, parts, integers, None, text_hash, dtypes, layer=None, tags=None)
    digests = _digests(evidence, sketch)
    return KeyString(
        separator,
        parts,
        integers,
        digests,
        text_hash,
        dtypes,
        layer=_layer(evidence, plain, sketch),
        tags=_tags(evidence, plain, sketch),
    )


def _separator(written: Sequence[tuple[Key, str]]) -> str | None:
    """What stands between the model and the world size."""
    for key, text in written:
        model, world = str(key["model"]), str(key["world_size"])
        if len(model) > 1 and model in text:
            rest = text[text.index(model) + len(model) :]
            found = rest[: rest.index(world)] if world in rest else ""
            if 0 < len(found) <= 3:
                return found
    return None


def _style(base: Sequence[tuple[Key, list[str]]], width: int) -> str | None:
    """The one style of integers that, at one position, gives every captured part."""
    samples = [(int(key["chunk_hash"]["int"]), words) for key, words in base if "int" in key["chunk_hash"]]
    for name, style in INTEGER_STYLES.items():
        if any(_mostly(words[place] == style(value) for value, words in samples) for place in range(width)):
            return name
    return None


def _mostly(found: Iterable[bool]) -> bool:
    """Whether enough of the samples agree; there must be some."""
    counts = Counter(found)
    return bool(counts) and counts[True] >= MOST * counts.total()


def _parts(base: Sequence[tuple[Key, list[str]]], width: int, integers: str | None) -> tuple[tuple[str, ...], dict[str, str]]:
    """The role of every position, and the names of dtypes."""
    places: dict[int, str] = {}
    expected: list[tuple[str, Callable[[Key], str | None]]] = [
        (role, functools.partial(_plain_part, role)) for role in PLAIN_ROLES if any(key[role] is not None for key, _ in base)
    ]
    expected.append(("chunk_hash", lambda key: _expected_hash(key, integers)))
    for role, part in expected:
        for place in range(width):
            if place not in places and _mostly(words[place] == part(key) for key, words in base):
                places[place] = role
                break
    dtypes: dict[str, str] = {}
    for place in [place for place in range(width) if place not in places]:
        column = Counter(words[place] for _, words in base)
        names = _function([(key["dtype"], words[place]) for key, words in base])
        if names and "dtype" not in places.values() and None not in names and len(column) > 1:
            places[place] = "dtype"
            dtypes = names
        else:
            usual, number = column.most_common(1)[0]
            places[place] = f"'{usual}'" if number >= MOST * column.total() else "?"
    return tuple(places[place] for place in range(width)), dtypes


def _plain_part(role: str, key: Key) -> str:
    return str(key[role])


def _expected_hash(key: Key, integers: str | None) -> str | None:
    value = key["chunk_hash"]
    if "text" in value:
        return str(value["text"])
    return INTEGER_STYLES[integers](int(value["int"])) if integers else None


def _function(pairs: Sequence[tuple[Any, str]]) -> dict[Any, str]:
    """The usual image of each value; empty if too many pairs have another one."""
    images: dict[Any, Counter[str]] = {}
    for value, image in pairs:
        images.setdefault(value, Counter())[image] += 1
    found = {value: counter.most_common(1)[0][0] for value, counter in images.items()}
    return found if _mostly(found[value] == image for value, image in pairs) else {}


def _digests(evidence: Evidence, sketch: KeyString) -> str | None:
    """How a hash of bytes is written: a style, refused, or None where it was not asked or no style fits."""
    asked = [vector for vector in evidence.of("format_key") if "bytes" in vector.args["key"]["chunk_hash"]]
    if asked and all(vector.ok is None for vector in asked):
        return REFUSED
    for name in BYTES_STYLES:
        styled = KeyString(sketch.separator, sketch.parts, sketch.integers, name, sketch.text_hash, sketch.dtypes, None, None)
        if asked and all(vector.ok is not None and styled.write(vector.args["key"]) == vector.ok["text"] for vector in asked):
            return name
    return None


def _layer(evidence: Evidence, plain: Sequence[tuple[Key, list[str]]], sketch: KeyString) -> bool | None:
    asked = [vector for vector in evidence.of("format_key") if vector.args["key"]["layer"] is not None]
    if not asked:
        return None
    found = [(key, words) for key, words in plain if key["layer"] is not None and not key["tags"]]
    return _mostly(words[len(sketch.parts) :] == [str(key["layer"])] for key, words in found)


def _tags(evidence: Evidence, plain: Sequence[tuple[Key, list[str]]], sketch: KeyString) -> bool | None:
    asked = [vector for vector in evidence.of("format_key") if vector.args["key"]["tags"]]
    if not asked:
        return None
    found = [(key, words) for key, words in plain if key["tags"] and key["layer"] is None]
    return _mostly(words[len(sketch.parts) :] == [f"{name}%{value}" for name, value in key["tags"]] for key, words in found)
