"""What this process asks of a client inside it, kept where another process can read it after this one died."""

from __future__ import annotations

import os
from typing import Final

SIZE: Final = 64
_NOTHING: Final = b"\0" * SIZE

_file: int | None = None


def write_to(descriptor: int) -> None:
    """Keep it in this file from now on."""
    global _file  # noqa: PLW0603  # one for each process, as its death is one
    _file = descriptor


def note(op: str) -> None:
    """An operation begins; an empty name stands for its end."""
    if _file is not None:
        os.pwrite(_file, op.encode()[:SIZE].ljust(SIZE, b"\0") if op else _NOTHING, 0)


def read(descriptor: int) -> str:
    """The operation that had begun, or an empty text."""
    return os.pread(descriptor, SIZE, 0).rstrip(b"\0").decode(errors="replace")
