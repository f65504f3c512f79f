"""Pickles that would do something if they were loaded: make a folder, which tells that they were."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Final

from wire.mp.pickled_chunks import Chunk, write_chunks


class _MakesFolder:
    """Loaded, it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        import os

        return os.mkdir, (str(self._folder),)


def makes_folder(folder: Path) -> bytes:
    """A pickle that makes a folder when it is loaded."""
    return pickle.dumps(_MakesFolder(folder), protocol=4)


def among_chunks(folder: Path, chunk: Chunk) -> bytes:
    """A list of a plain tensor and of what makes a folder, so that it begins as chunks do."""
    plain = write_chunks([chunk])
    evil = pickle.dumps(_MakesFolder(folder), protocol=2)[2:-1]  # without its head and its end
    assert plain.endswith(_APPENDED)
    return _without_frames(plain[: -len(_APPENDED)]) + _APPENDED[:1] + evil + _APPENDED


_APPENDED: Final = b"a."
"""The end of a list of one element, and of the pickle."""


def _without_frames(data: bytes) -> bytes:
    """A pickle of protocol 4 whose first frame, which would be too short now, is no frame any more."""
    head, frame = 2, 9
    return data[:head] + data[head + frame :] if data[head : head + 1] == b"\x95" else data
