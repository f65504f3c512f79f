"""Where the bytes of an object lie: what a store changed in the folder, whatever the plugin's layout is."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

SEEN: Final = 64
"""Bytes by which those of an object are found in a file."""
LARGEST: Final = 256 << 20
"""Bytes of a file that is looked at: the harness holds all of them in memory, twice."""


@dataclass(frozen=True)
class Piece:
    """A part of a file that a store wrote."""

    path: Path
    start: int
    stop: int
    own: bool
    """The file was not there before: it belongs to the object alone."""
    size: int
    """Bytes of the whole file."""

    @property
    def at_end(self) -> bool:
        """Nothing stands behind it."""
        return self.stop == self.size


def narrowed(piece: Piece, content: bytes) -> Piece | None:
    """The stretch of a shared file in which bytes of an object stand as they are; None where none do.

    What else a store wrote there, such as an index, a log or pages of a database, may be that of other objects as well.
    """
    if piece.own:
        return piece
    there = piece.path.read_bytes()
    for part in (2, 4, 1):  # where one place lies at the border of a page, another does not
        place = len(content) * part // 5
        found = there.find(content[place : place + SEEN], piece.start, piece.stop)
        if found >= 0:
            before = _alike(content[:place][::-1], there[:found][::-1])
            return replace(piece, start=found - before, stop=found + _alike(content[place:], there[found:]))
    return None


def folders(folder: Path) -> list[Path]:
    """A folder and all folders in it, besides those that links lead to: what is behind a link is not the plugin's to lose."""
    if folder.is_symlink():
        return []
    return [Path(place) for place, _, _ in os.walk(folder)]


def files(folder: Path) -> dict[Path, bytes]:
    """What every file of a folder holds, besides those that have another name outside of it, and those over :data:`LARGEST`."""
    there: dict[Path, os.stat_result] = {}
    for place in folders(folder):
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            there |= {Path(entry.path): entry.stat() for entry in entries if entry.is_file(follow_symlinks=False)}
    names = Counter((facts.st_dev, facts.st_ino) for facts in there.values())
    found = {}
    for path, facts in sorted(there.items()):
        with contextlib.suppress(OSError):
            if facts.st_nlink <= names[facts.st_dev, facts.st_ino] and facts.st_size <= LARGEST:
                found[path] = path.read_bytes()
    return found


def pieces_of(folder: Path, store: Callable[[], object]) -> Sequence[Piece]:
    """What a store of one object writes; nothing else may be under way."""
    before = files(folder)
    store()
    return changed(before, files(folder))


def changed(before: Mapping[Path, bytes], after: Mapping[Path, bytes]) -> Sequence[Piece]:
    """The parts of files that are new or different; of each file the stretch from the first difference to the last."""
    found = []
    for path, content in after.items():
        old = before.get(path)
        if old is None:
            if content:
                found.append(Piece(path, 0, len(content), own=True, size=len(content)))
        elif old != content:
            start, stop = _stretch(old, content)
            if start < stop:
                found.append(Piece(path, start, stop, own=False, size=len(content)))
    return found


def _alike(one: bytes, two: bytes) -> int:
    """How many of the first bytes are the same."""
    return next(
        (place for place, (mine, theirs) in enumerate(zip(one, two, strict=False)) if mine != theirs), min(len(one), len(two))
    )


def _stretch(old: bytes, new: bytes) -> tuple[int, int]:
    start = next((place for place, (one, two) in enumerate(zip(old, new, strict=False)) if one != two), min(len(old), len(new)))
    if len(old) != len(new):
        return start, len(new)
    stop = len(new)
    while stop > start and old[stop - 1] == new[stop - 1]:
        stop -= 1
    return start, stop
