"""What a disk holds after the power went: only what was made durable is certain.

A machine that loses power, unlike a program that is killed, loses what the kernel had not written yet. A file that was written
and not synced may have its new length and zeros instead of its bytes, or end early, although its name, or its new name after a
rename, is there. Names that were made, given or removed since their folder was synced may be gone or back: some number of the
last ones, since a file system keeps such changes in order. So a sync of a folder makes durable what was done to its names, and to
any names before that.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from harness.l2.calls.call import FileCall
from harness.l2.calls.table import CUTS, LINKS, MAKES, OPENS, REMOVES, RENAMES, SYNCS, WRITES

Inode = tuple[int, int]
_PAGE: Final = 4096


@dataclass
class _Name:
    """A change of a name that is not durable yet, and how it is undone."""

    folder: Path
    """Once this is synced, so is the change."""
    undo: Callable[[], None]


@dataclass
class Disk:
    """What was not made durable yet of a folder.

    ``attic`` is a folder beside it, on the same file system, for what was removed.
    """

    folder: Path
    attic: Path
    _from: dict[Inode, int] = field(default_factory=dict)
    """Files that were written: the lowest offset since their last sync."""
    _names: list[_Name] = field(default_factory=list)
    _kept: int = 0

    def before(self, call: FileCall) -> None:
        """Take note of a call that is about to happen."""
        if call.name in SYNCS:
            self._synced(call)
        elif call.name in {"sync", "syncfs"}:
            self._from.clear()
            self._names.clear()
        elif call.name in WRITES | CUTS:
            self._written(call, call.offset())
        elif call.name in OPENS:
            self._opened(call)
        elif call.name in MAKES and not call.path.exists():
            self._name(call.path.parent, lambda: shutil.rmtree(call.path))
        elif call.name in LINKS and call.to is not None and not os.path.lexists(call.to):
            self._name(call.to.parent, call.to.unlink)
        elif call.name in RENAMES and os.path.lexists(call.path):
            self._renamed(call)
        elif call.name in REMOVES and os.path.lexists(call.path):
            self._removed(call.path)

    def lose_power(self, random: Random, *, names: bool = True) -> list[str]:
        """Do to the folder what a loss of power may do to it; in words, for reports. No process may have it open any more.

        With ``names=False`` every name survives, as where each change of a name is durable at once.
        """
        done = []
        if names and self._names:
            first = random.randint(0, len(self._names))
            for name in reversed(self._names[first:]):
                with contextlib.suppress(OSError):
                    name.undo()
            if first < len(self._names):
                done.append(f"the last {len(self._names) - first} of {len(self._names)} changes of names did not happen")
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                start = self._from.get(_inode(path.stat()))
                words = _lose(path, start, random) if start is not None else None
                if words is not None:
                    done.append(f"{path.relative_to(self.folder)}: {words}")
        self.settle()
        return done

    def settle(self) -> None:
        """Forget everything: what lies there now is on the disk."""
        self._from.clear()
        self._names.clear()
        shutil.rmtree(self.attic, ignore_errors=True)
        self._kept = 0

    def _name(self, folder: Path, undo: Callable[[], None]) -> None:
        self._names.append(_Name(folder, undo))

    def _synced(self, call: FileCall) -> None:
        status = call.status()
        if status is not None:
            self._from.pop(_inode(status), None)
        durable = max((place for place, name in enumerate(self._names, 1) if name.folder == call.path), default=0)
        del self._names[:durable]

    def _written(self, call: FileCall, offset: int) -> None:
        status = call.status()
        if status is not None:
            inode = _inode(status)
            self._from[inode] = min(offset, self._from.get(inode, offset))

    def _opened(self, call: FileCall) -> None:
        if not os.path.lexists(call.path):
            if call.name == "creat" or call.flags & os.O_CREAT:
                self._name(call.path.parent, call.path.unlink)
        elif call.name == "creat" or call.flags & os.O_TRUNC:
            self._written(call, 0)

    def _renamed(self, call: FileCall) -> None:
        source, target = call.path, call.to
        assert target is not None
        replaced = self._keep(target)

        def undo() -> None:
            target.rename(source)
            if replaced is not None:
                replaced.rename(target)

        self._name(target.parent, undo)

    def _removed(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            self._name(path.parent, path.mkdir)
            return
        kept = self._keep(path)
        if kept is not None:
            self._name(path.parent, lambda: _back(kept, path))

    def _keep(self, path: Path) -> Path | None:
        """A second name for a file that is about to lose its own."""
        if not path.is_file() or path.is_symlink():
            return None
        self.attic.mkdir(parents=True, exist_ok=True)
        kept = self.attic / str(self._kept)
        self._kept += 1
        with contextlib.suppress(OSError):
            kept.hardlink_to(path)
            return kept
        return None


def _back(kept: Path, path: Path) -> None:
    kept.rename(path)


def _inode(status: os.stat_result) -> Inode:
    return status.st_dev, status.st_ino


def _lose(path: Path, start: int, random: Random) -> str | None:
    """Lose what was written to a file from an offset on, or a part of it; None if it happened to be on the disk."""
    size = path.stat().st_size
    start = min(start, size)
    if start == size:
        return None
    with path.open("r+b") as file:
        match random.choice(("nothing", "cut", "cut", "zeros", "zeros", "page")):
            case "cut":
                left = random.choice((start, random.randint(start, size - 1)))
                file.truncate(left)
                return f"ends after {left} of {size} bytes"
            case "zeros":
                first = random.choice((start, random.randint(start, size - 1)))
                file.seek(first)
                file.write(bytes(size - first))
                return f"zeros from byte {first} of {size} on"
            case "page":
                first = max(start, random.randrange(start, size) // _PAGE * _PAGE)
                count = min(_PAGE, size - first)
                file.seek(first)
                file.write(bytes(count))
                return f"zeros in bytes {first} to {first + count - 1} of {size}"
            case _:
                return None
