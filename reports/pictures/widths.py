"""How wide text is, so that boxes and lines can be planned without a browser.

Widths are those of DejaVu Sans and DejaVu Sans Mono, the widest of the fonts that the theme may meet: what fits in them fits in
the others.
"""

from __future__ import annotations

import unicodedata
from typing import Final, Literal

Face = Literal["sans", "bold", "mono"]

_FIRST: Final = 32
_SANS: Final = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
    603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635,
    634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
_BOLD: Final = (
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696, 696, 696,
    696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850,
    733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675, 716, 593, 716, 678, 435, 716,
    712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
)  # fmt: skip
"""Thousandths of the font size, from the space on."""
_TABLES: Final = {"sans": _SANS, "bold": _BOLD}
MONO: Final = 0.6021
"""The width of every character of a monospaced font, as a share of its size."""
_OTHER: Final = 1.0
_WIDE: Final = frozenset({"W", "F"})
_MORE: Final = 1.2
"""Scripts whose characters are as wide as high come from fonts that nobody knows."""


def text_width(text: str, size: float, face: Face = "sans") -> float:
    """The width of a line of text, in the unit of ``size``."""
    return sum(_share(character, face) for character in text) * size


def _share(character: str, face: Face) -> float:
    if unicodedata.east_asian_width(character) in _WIDE:
        return _MORE
    if face == "mono":
        return MONO
    place = ord(character) - _FIRST
    table = _TABLES[face]
    return table[place] / 1000 if 0 <= place < len(table) else _OTHER


def shortened(text: str, width: float, size: float, face: Face = "sans") -> str:
    """The text, with a gap in its middle if it would be wider."""
    if text_width(text, size, face) <= width:
        return text
    for kept in range(len(text) - 1, 1, -1):
        head = (kept + 1) // 2
        made = f"{text[:head]}…{text[len(text) - (kept - head) :]}"
        if text_width(made, size, face) <= width:
            return made
    return "…"


def wrapped(text: str, width: float, size: float, face: Face = "sans") -> list[str]:
    """The text in lines, broken at spaces; a longer word stays whole."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size, face) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]
