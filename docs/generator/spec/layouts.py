"""Axes of a chunk, format by format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from docs.generator.spec.words import code
from docs.generator.table import table
from wire.layouts import CARRIERS, LAYOUTS
from wire.lm.enums import BINARY_FORMATS, FORMATS

_SIZES: Final = {"kv": "2", "layer": "layers", "token": "tokens", "hidden": "hidden"}
_HOLDS: Final = {
    "KV_2LTD": "K of all layers, then V of all layers",
    "KV_T2D": "one layer: for each token its K, then its V",
    "KV_2TD": "one layer: K of all tokens, then V of all tokens",
    "KV_MLA_FMT": "for each layer the latent vector of each token",
}
_NOT_CUT: Final = {"EC_TD": "encoder cache", "HS_TD": "hidden states"}


def axes() -> str:
    """Shape and meaning of the bytes of each format, with the paged memory that they are cut from."""
    return table(("format", "shape of a chunk, the outermost axis first", "the bytes hold", "cut from paged memory"), _axes())


def _axes() -> Iterator[tuple[str, ...]]:
    for name in FORMATS:
        if name in LAYOUTS:
            layout = LAYOUTS[name]
            sizes = [_SIZES[axis] for axis in layout.axes]
            if layout.latent:
                sizes = ["1" if size == "2" else "head_size" if size == "hidden" else size for size in sizes]
            yield code(name), code(f"[{', '.join(sizes)}]"), _HOLDS[name], code(f"[{', '.join(layout.paged_axes)}]")
        elif name in BINARY_FORMATS:
            yield code(name), code("[bytes, 0, 0, 0]"), "anything", "no"
        elif name in _NOT_CUT:
            yield code(name), code("[tokens, hidden]"), _NOT_CUT[name], "no"


def elements() -> str:
    """Bytes of an element."""
    rows: dict[int, list[str]] = {}
    for dtype, carried in CARRIERS.items():
        rows.setdefault(carried.itemsize, []).append(code(dtype))
    return table(("bytes of an element, little-endian", "dtypes"), [(str(size), ", ".join(rows[size])) for size in sorted(rows)])
