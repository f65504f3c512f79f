"""How it is shown what became of a thing since the generation before: a hatch, a tone and a letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reports.pictures.drawing import Hatch
from reports.pictures.frames import Fate


@dataclass(frozen=True)
class FateMark:
    """Letter, hatch and tone of a fate."""

    letter: str
    hatch: Hatch | None
    tone: str


MARKS: Final[Mapping[Fate, FateMark]] = {
    Fate.SAME: FateMark("", None, "dim"),
    Fate.MOVED: FateMark("M", "moved", "warn"),
    Fate.ADDED: FateMark("A", "added", "good"),
    Fate.REMOVED: FateMark("R", "removed", "bad"),
    Fate.RESIZED: FateMark("S", "resized", "odd"),
}
"""In frames ``resized`` is another size, elsewhere another type."""
