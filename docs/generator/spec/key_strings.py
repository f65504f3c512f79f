"""Key strings: the parts of each range of releases, how the hash is written and read, and the names of element types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from docs.generator.spec.words import code, spanned
from docs.generator.table import table
from wire.keys import KEY_GRAMMARS, HashStyle, KeyGrammar
from wire.release import RangeTable

SEPARATOR: Final = "@"
_WRITTEN: Final[Mapping[HashStyle, str]] = {
    "text": "as it is",
    "decimal": "signed decimal",
    "decimal-read-as-hex": "signed decimal",
    "hex": "signed hexadecimal",
}
_READ: Final[Mapping[HashStyle, str]] = {
    "text": "as it is",
    "decimal": "in base 10",
    "decimal-read-as-hex": "in base 16",
    "hex": "in base 16",
}


def grammar() -> str:
    """The parts of a key string, and what a release makes of its hash and its tags."""
    head = (
        "releases",
        "parts",
        "tags",
        "a hash that is a number is written",
        "a digest",
        "the hash is read",
        "a server takes layers",
    )
    return table(head, _grammar())


def _grammar() -> Iterator[tuple[str, ...]]:
    for span, held in KEY_GRAMMARS.rows():
        yield (
            spanned(span),
            code(SEPARATOR.join(parts(held))),
            "yes, read as settings" if held.tags_become_settings else "yes" if held.tags else "no",
            _WRITTEN[held.hash_style],
            "all of its digits" if held.digests else "cannot be written",
            _READ[held.hash_style],
            "yes" if held.server_layers else "no",
        )


def parts(held: KeyGrammar) -> list[str]:
    """Names of the fixed parts of a key string in their order; behind them follow a layer and tags."""
    found = ["model", "world_size", "worker_id", "chunk_hash"]
    return [*(["fmt"] if held.prefix else []), *found, *(["dtype"] if held.dtype_names is not None else [])]


def dtype_names() -> str:
    """The name of each element type in a key string, per range of releases that have one."""
    names: RangeTable[tuple[tuple[str, str], ...]] = RangeTable("names", *_named())
    columns = [(spanned(span), dict(held)) for span, held in names.rows()]
    rows = [[code(dtype), *(code(held[dtype]) for _, held in columns)] for dtype in columns[0][1]]
    return table(("dtype", *(f"name, {span}" for span, _ in columns)), rows)


def _named() -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    before: tuple[tuple[str, str], ...] | None = None
    for span, held in KEY_GRAMMARS.rows():
        if held.dtype_names is not None:
            found = tuple(held.dtype_names.items())
            if found != before:
                yield span.first.text, found
            before = found
