"""Headers of ``lm://`` and RemoteMetadata: offset, size, type and values of each field, for every layout that there ever was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from docs.generator.spec.words import code, spanned
from docs.generator.table import table
from wire.lm.metadata import metadata_size
from wire.lm.profile import HEADER_LAYOUTS, KEY_FIELD_SIZE, METADATA_GROUPS, HeaderLayout

WORD: Final = "int32"
WORD_SIZE: Final = 4
"""Bytes of it."""
KEY_TYPE: Final = "text"

_HOLDS: Final = {
    "command": "[command](#commands)",
    "code": "[code](#codes-of-a-reply)",
    "length": "bytes of payload behind the header",
    "format": "[memory format](#formats)",
    "dtype": "[element type](#dtypes)",
    "location": "[location](#locations)",
    "shape0": "first dimension",
    "shape1": "second dimension, or 0",
    "shape2": "third dimension, or 0",
    "shape3": "fourth dimension, or 0",
    "key": "the key string in UTF-8, then spaces to the end",
}
_ABSENT: Final = "-"
_TOTAL: Final = "**in all**"


def request_header() -> str:
    """The request header, one column of offsets for each layout."""
    return _header(lambda layout: layout.request, lambda layout: layout.request_size, key=True)


def reply_header() -> str:
    """The reply header, likewise."""
    return _header(lambda layout: layout.reply, lambda layout: layout.reply_size, key=False)


def _header(fields: Callable[[HeaderLayout], tuple[str, ...]], size: Callable[[HeaderLayout], int], *, key: bool) -> str:
    layouts = [(span, fields(layout), size(layout)) for span, layout in HEADER_LAYOUTS.rows()]
    head = ["field", *(f"offset, {spanned(span)}" for span, _, _ in layouts), "size", "type", "holds"]
    names = max((names for _, names, _ in layouts), key=len)
    rows = []
    for name in names:
        places = [str(WORD_SIZE * held.index(name)) if name in held else _ABSENT for _, held, _ in layouts]
        rows.append([code(name), *places, str(WORD_SIZE), WORD, _HOLDS[name]])
    if key:
        starts = [str(WORD_SIZE * len(held)) for _, held, _ in layouts]
        rows.append([code("key"), *starts, str(KEY_FIELD_SIZE), KEY_TYPE, _HOLDS["key"]])
    rows.append([_TOTAL, *(f"**{total}**" for _, _, total in layouts), "", "", "bytes in all"])
    return table(head, rows)


def metadata() -> str:
    """RemoteMetadata: the two words in front and the five of each group."""
    size, first, group = str(WORD_SIZE), WORD_SIZE * 2, WORD_SIZE * 5
    rows = [
        (code("length"), "0", size, WORD, "bytes of the value behind it"),
        (code("format"), size, size, WORD, _HOLDS["format"]),
    ]
    for index, name in enumerate(("dtype", "shape0", "shape1", "shape2", "shape3")):
        rows.append((code(name), f"{first + WORD_SIZE * index} + {group} g", size, WORD, _HOLDS[name]))
    total = f"**{metadata_size(0)} + {metadata_size(1) - metadata_size(0)} n**"
    rows.append((_TOTAL, total, "", "", "bytes in all, for n groups"))
    return table(("field", "offset, group g from 0", "size", "type", "holds"), rows)


def metadata_groups() -> str:
    """How many groups a RemoteMetadata may have."""
    return table(("releases", "groups", "bytes"), _groups())


def _groups() -> Iterator[tuple[str, str, str]]:
    for span, several in METADATA_GROUPS.rows():
        size = f"{metadata_size(0)} + {metadata_size(1) - metadata_size(0)} n" if several else str(metadata_size(1))
        yield spanned(span), "n, as both programs were told" if several else "1", size
