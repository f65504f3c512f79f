"""How a program and what it wrote are quoted in a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_TAIL_LINES: Final = 15


def decoded(output: bytes) -> str:
    """What a program wrote, as text whatever it is."""
    return output.decode("utf-8", errors="replace")


def quoted(argv: Sequence[str]) -> str:
    """A command as a message names it."""
    return f"`{' '.join(argv)}`"


def last_words(text: str) -> str:
    """The last lines of what a program wrote, or its lines that say ERROR, as an indented block to end a message with."""
    lines = text.rstrip().splitlines()
    lines = [line for line in lines if line.startswith("ERROR")] or lines[-_TAIL_LINES:]
    return "".join(["; its last words:", *(f"\n    {line}" for line in lines)]) if lines else ""
