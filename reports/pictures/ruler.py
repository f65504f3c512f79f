"""Bytes of a frame to scale: boxes for fields on a ruler, with a visible break where a field is too long to be drawn whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BYTE: Final = 18.0
"""CSS pixels of one byte."""
GAP: Final = 30.0
"""CSS pixels of a break, where the ruler leaves bytes out."""


@dataclass(frozen=True)
class Ruler:
    """Where bytes stand: ``origin`` is byte 0; bytes from ``cut`` to ``resume`` are left out, if it has a break."""

    origin: float
    cut: int | None = None
    resume: int = 0
    byte: float = BYTE

    def x(self, offset: int) -> float:
        """The left edge of a byte; a byte that is left out stands at the break."""
        if self.cut is None or offset <= self.cut:
            return self.origin + offset * self.byte
        shown = max(offset - self.resume, 0)
        return self.origin + self.cut * self.byte + GAP + shown * self.byte

    def shows(self, offset: int) -> bool:
        """Whether a byte is drawn."""
        return self.cut is None or offset < self.cut or offset >= self.resume

    def pieces(self, offset: int, size: int) -> list[tuple[int, int]]:
        """The stretches of a field that are drawn: offset and size of each."""
        end = offset + size
        if self.cut is None or end <= self.cut or offset >= self.resume:
            return [(offset, size)]
        return [(first, last - first) for first, last in ((offset, self.cut), (self.resume, end)) if last > first]

    def broken(self, offset: int, size: int) -> bool:
        """Whether a field crosses the break."""
        return len(self.pieces(offset, size)) > 1
