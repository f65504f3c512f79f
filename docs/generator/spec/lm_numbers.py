"""The numbers of the ``lm://`` wire and what they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.generator.spec.words import code, joint, since, spanned
from docs.generator.table import table
from wire.lm.enums import CODES, COMMANDS, DTYPE_ALIASES, DTYPES, FORMATS, ITEM_SIZES, LOCATIONS
from wire.lm.profile import HEADER_LAYOUTS, HIGHEST_FORMATS, SHORT_SHAPES, STRICT_ENUMS
from wire.lm.shapes import RANK
from wire.release import Release

_NONE: Final = "none"


def commands() -> str:
    """Commands of a request."""
    return table(("number", "command", "releases"), [(str(number), code(name), "all") for name, number in COMMANDS.items()])


def codes() -> str:
    """Codes of a reply."""
    return table(("number", "code", "releases"), [(str(number), code(name), "all") for name, number in CODES.items()])


def formats() -> str:
    """Memory formats with the release that brought each."""
    begin: dict[int, Release] = {}
    for span, highest in HIGHEST_FORMATS.rows():
        for number in FORMATS.values():
            if number <= highest:
                begin.setdefault(number, span.first)
    rows = [(str(number), code(name), since(begin[number])) for name, number in FORMATS.items()]
    return table(("number", "format", "releases"), rows)


def dtypes() -> str:
    """Element types, with the number that is read and never written."""
    return table(("number", "dtype", "bytes of an element", "an encoder", "a decoder"), _dtypes())


def _dtypes() -> Iterator[tuple[str, ...]]:
    names = {number: name for name, number in DTYPES.items()}
    for number in sorted({*names, *DTYPE_ALIASES}):
        name = names.get(number, DTYPE_ALIASES.get(number))
        size = str(ITEM_SIZES[name]) if name is not None else "-"
        yield str(number), code(name) if name else _NONE, size, "writes it" if number in names else "never writes it", "reads it"


def locations() -> str:
    """Locations, which the older headers have no field for."""
    first = next(span.first for span, layout in HEADER_LAYOUTS.rows() if "location" in layout.request)
    rows = [(str(number), code(name) if name else _NONE, since(first)) for name, number in LOCATIONS.items()]
    return table(("number", "location", "releases"), rows)


def generations() -> str:
    """All releases in the ranges in which the frames are the same."""
    head = ("releases", "request header", "reply header", "formats", "command or code outside the table", "dimensions of a shape")
    return table(head, _generations())


def _generations() -> Iterator[tuple[str, ...]]:
    for span, release in joint(HEADER_LAYOUTS, HIGHEST_FORMATS, STRICT_ENUMS, SHORT_SHAPES):
        layout = HEADER_LAYOUTS[release]
        yield (
            spanned(span),
            f"{layout.request_size} bytes",
            f"{layout.reply_size} bytes",
            f"0 to {HIGHEST_FORMATS[release]}",
            "refused" if STRICT_ENUMS[release] else "read as it is",
            f"1 to {RANK}" if SHORT_SHAPES[release] else f"exactly {RANK}",
        )
