"""Defects that show when the plugin's process is killed, or the power goes, and the plugin is opened again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import threading
import time
from pathlib import Path
from typing import Final

from harness.mutants.l2.folders import OverFolder
from harness.mutants.marks import l2_mutant
from harness.reference.l2.folder import OBJECTS, WRITING, ObjectFolder, place_of
from harness.reference.l2.leases import Lease, Leased, leased
from harness.reference.l2.manifest import Manifest
from harness.reference.l2.outcomes import Outcome

GATHER: Final = 0.25
"""Seconds for which writes are gathered."""
INDEX: Final = "index.json"


@l2_mutant(
    "l2-acknowledged-before-written",
    stands_for="Writing behind: objects are gathered in memory, which makes stores fast, and written later.",
    found_by=("l2.durability.kill-between-operations", "l2.durability.random-kills"),
)
class WritesBehind(OverFolder):
    """Says that an object is stored while it is still in memory alone."""

    class Folder(ObjectFolder):
        """Gathers what is stored for a moment; loads find it there."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            super().__init__(root, fragment_size=fragment_size, durable=durable)
            self._gathered: dict[str, tuple[bytes, float]] = {}
            self._guard = threading.Lock()
            self._ended = threading.Event()
            self._writer_thread = threading.Thread(target=self._write_behind, daemon=True)
            self._writer_thread.start()

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """Store an object, with the defect."""
            if self._usable(key, source.size):
                return Outcome.DEDUPLICATED
            with self._guard:
                self._gathered[key] = (source.piece(0, source.size), time.monotonic() + GATHER)
            return Outcome.STORED

        def _load(self, key: str, target: Leased) -> Outcome:
            with self._guard:
                held = self._gathered.get(key)
            if held is None or len(held[0]) != target.size:
                return super()._load(key, target)
            target.fill(held[0])
            return Outcome.LOADED

        def _usable(self, key: str, size: int | None = None) -> bool:
            with self._guard:
                held = self._gathered.get(key)
            return (held is not None and size in {None, len(held[0])}) or super()._usable(key, size)

        def delete(self, key: str, _until: float = 0.0) -> Outcome:
            """Delete an object, with the defect."""
            with self._guard:
                held = self._gathered.pop(key, None)
            outcome = super().delete(key)
            return Outcome.DELETED if held is not None else outcome

        def close(self) -> None:
            """Leave the folder, with the defect."""
            self._ended.set()
            self._writer_thread.join()
            super().close()

        def _write_behind(self) -> None:
            while not self._ended.wait(GATHER / 5):
                self._flush(time.monotonic())
            self._flush(float("inf"))

        def _flush(self, now: float) -> None:
            with self._guard:
                due = [(key, data) for key, (data, when) in self._gathered.items() if when <= now]
            for key, data in due:
                with self._locks.of(key):
                    self._write(key, leased(Lease(), [memoryview(data)])[0])
                with self._guard:
                    self._gathered.pop(key, None)


@l2_mutant(
    "l2-promises-without-sync",
    stands_for="A promise to survive a loss of power, and a sync that was taken out because it was slow.",
    found_by=("l2.durability.power-loss-costs-nothing",),
)
class PromisesWithoutSync(OverFolder):
    """Never waits for the disk, and says that what it stored survives a loss of power."""

    class Folder(ObjectFolder):
        """Leaves it to the kernel."""

        def _write_file(self, path: Path, data: bytes) -> None:
            path.write_bytes(data)

        def _sync(self, folder: Path) -> None:
            """Does nothing."""


@l2_mutant(
    "l2-lengths-without-sync",
    stands_for="A rename that is taken for a promise that the bytes behind the name are on the disk.",
    found_by=("l2.durability.power-loss[*",),
)
class TrustsLengthsWithoutSync(OverFolder):
    """Never waits for the disk, and takes a fragment of the right length for whole."""

    lmconform_durability = "process"

    class Folder(PromisesWithoutSync.Folder):
        """Reads without checksums."""

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            data = b"".join(path.read_bytes() for path in sorted(place.glob("fragment-*")))
            return data if len(data) == manifest.size else super()._bytes(place, manifest)


@l2_mutant(
    "l2-empties-the-folder",
    stands_for="A cache that begins anew because that is simpler than to look at what is there.",
    found_by=("l2.durability.kill-between-operations", "l2.durability.close-and-open-again"),
)
class EmptiesTheFolder(OverFolder):
    """Removes everything in its folder when it is opened."""

    class Folder(ObjectFolder):
        """Begins anew."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            shutil.rmtree(root / OBJECTS, ignore_errors=True)
            super().__init__(root, fragment_size=fragment_size, durable=durable)


@l2_mutant(
    "l2-cleans-up-at-close",
    stands_for="A cache that takes its files for temporary ones, and removes them when it ends in good order.",
    found_by=("l2.durability.close-and-open-again",),
)
class CleansUpAtClose(OverFolder):
    """Removes everything in its folder when it is closed."""

    class Folder(ObjectFolder):
        """Leaves nothing."""

        def close(self) -> None:
            """Leave the folder, with the defect."""
            super().close()
            shutil.rmtree(self._root / OBJECTS, ignore_errors=True)


@l2_mutant(
    "l2-stumbles-over-leftovers",
    stands_for="A folder for what is being written that is made at the start, and must not be there.",
    found_by=("l2.durability.kill-between-operations",),
)
class StumblesOverLeftovers(OverFolder):
    """Cannot be opened where a process before was killed."""

    class Folder(ObjectFolder):
        """Marks its folder as used, and takes the mark of a dead process for that of a living one."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            super().__init__(root, fragment_size=fragment_size, durable=durable)
            self._mark = root / "in-use"
            with self._mark.open("x"):
                pass

        def close(self) -> None:
            """Leave the folder, with the defect."""
            self._mark.unlink()
            super().close()


@l2_mutant(
    "l2-leftovers-block-the-key",
    stands_for="Temporary files that are named after the key and made exclusively.",
    found_by=("l2.durability.kill-in-a-store",),
)
class LeftoversBlockTheKey(OverFolder):
    """Cannot store an object again whose first store was killed."""

    class Folder(ObjectFolder):
        """Writes each object in a place that its key names, and that must not be there."""

        def _tidy(self) -> None:
            """Leaves everything as it is."""

        def _write(self, key: str, source: Leased) -> Outcome:
            corner = self._root / WRITING / f"of-{hashlib.sha256(key.encode()).hexdigest()}"
            corner.mkdir()
            self._write_object(corner, key, source)
            return self._show(corner, key, source.size)


@l2_mutant(
    "l2-index-in-place",
    stands_for="One file with the names of all objects, written anew with each change.",
    found_by=("l2.durability.kill-in-a-store[*-within-a-write]", "l2.durability.kill-in-a-delete"),
)
class KeepsAnIndexInPlace(OverFolder):
    """Finds its objects by an index that it cuts to nothing before it writes it again."""

    class Folder(ObjectFolder):
        """Knows what the index knows."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            super().__init__(root, fragment_size=fragment_size, durable=durable)
            self._index_lock = threading.Lock()
            self._names: set[str] = set()
            with contextlib.suppress(FileNotFoundError, ValueError):
                self._names = set(json.loads((root / INDEX).read_bytes()))

        def _show(self, corner: Path, key: str, size: int) -> Outcome:
            outcome = super()._show(corner, key, size)
            self._note(key, there=True)
            return outcome

        def delete(self, key: str, _until: float = 0.0) -> Outcome:
            """Delete an object, with the defect."""
            outcome = super().delete(key)
            self._note(key, there=False)
            return outcome

        def _manifest(self, place: Path, key: str) -> Manifest | None:
            return super()._manifest(place, key) if key in self._names else None

        def _note(self, key: str, *, there: bool) -> None:
            with self._index_lock:
                (self._names.add if there else self._names.discard)(key)
                (self._root / INDEX).write_text(json.dumps(sorted(self._names)))


@l2_mutant(
    "l2-moves-while-opening",
    stands_for="A new layout for the folder, into which old objects are moved at the first start.",
    found_by=("l2.durability.kill-in-an-opening",),
)
class MovesWhileOpening(OverFolder):
    """Moves its objects aside when it is opened and brings them back one by one; what is aside is removed at the next start."""

    class Folder(ObjectFolder):
        """Rebuilds."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            aside, objects = root / "aside", root / OBJECTS
            shutil.rmtree(aside, ignore_errors=True)
            if objects.exists():
                objects.rename(aside)
            super().__init__(root, fragment_size=fragment_size, durable=durable)
            if aside.exists():
                for place in sorted(aside.iterdir()):
                    place.rename(objects / place.name)
                aside.rmdir()


@l2_mutant(
    "l2-second-store-replaces",
    stands_for="A store that makes room before it writes, where the same object is there already.",
    found_by=("l2.durability.kill-in-a-second-store",),
)
class SecondStoreReplaces(OverFolder):
    """Removes an object that is stored again, and then writes it again."""

    class Folder(ObjectFolder):
        """Makes room first."""

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """Store an object, with the defect."""
            self._take_away(place_of(self._root, key))
            return super().store(key, source)
