"""Whether something is there, also for names that no file can have: too long ones are simply not there."""

from __future__ import annotations

import os
from pathlib import Path


def exists(path: Path | str) -> bool:
    """Whether there is a file, a folder or something else of that name."""
    return os.path.exists(path)  # noqa: PTH110  # pathlib raises where a name is too long


def is_file(path: Path | str) -> bool:
    """Whether there is a file of that name."""
    return os.path.isfile(path)  # noqa: PTH113  # likewise
