"""What crossed the wire while a case ran, for the explanation of its failure."""

from __future__ import annotations

from harness.tape.tapes import TAPES, Tapes

__all__ = ["TAPES", "Tapes"]
