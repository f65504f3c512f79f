"""A folder of objects: cut into fragments, with a manifest, shown by one rename."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.reference.l2.leases import Leased, LeaseEnded
from harness.reference.l2.locks import KeyLocks
from harness.reference.l2.manifest import Damaged, Manifest, check, spans
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.writer import Writer, remove

MANIFEST: Final = "manifest"
OBJECTS: Final = "objects"
WRITING: Final = "writing"
TRIES: Final = 3
"""A load begins again when the object was replaced while it was read; so often, then it is a miss."""
TAKEN: Final = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})
"""What a rename of a folder answers when something lies where it should go."""


def place_of(root: Path, key: str) -> Path:
    """The folder of an object: named by a hash, so that any key of any length makes a name on any file system."""
    return root / OBJECTS / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def fragment_name(number: int) -> str:
    """The file of a fragment inside the folder of its object."""
    return f"fragment-{number:05}"


class ObjectFolder:
    """Objects in a folder, which several processes of one machine may have open at a time.

    ``objects/HASH/`` holds ``fragment-00000`` and so on and ``manifest``. An object is written under ``writing/``, its manifest
    last, and one rename of its folder shows it whole: no reader ever sees a part, and of two writers one wins.
    """

    def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
        self._root = root
        self._fragment_size = fragment_size
        self._durable = durable
        self._locks = KeyLocks()
        (root / OBJECTS).mkdir(parents=True, exist_ok=True)
        self._writer = Writer(root / WRITING)
        self._tidy()

    def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
        """Keep the bytes of a buffer, unless the key is there with as many bytes.

        What is there and is not usable, or has another size, is replaced.
        """
        with self._locks.of(key):
            if self._usable(key, source.size):
                return Outcome.DEDUPLICATED
            try:
                return self._write(key, source)
            except (OSError, LeaseEnded):
                return Outcome.DROPPED

    def load(self, key: str, target: Leased, _until: float = 0.0) -> Outcome:
        """Write an object into a buffer, if it is whole and of its size."""
        try:
            for _ in range(TRIES):
                try:
                    return self._load(key, target)
                except Damaged:
                    if self._taken_away(key):
                        return Outcome.DAMAGED
        except (OSError, LeaseEnded):
            return Outcome.UNAVAILABLE
        return Outcome.MISSED

    def look(self, key: str, _until: float = 0.0) -> Outcome:
        """Whether there is a manifest with all its fragments; only a load reads them."""
        return Outcome.FOUND if self._usable(key) else Outcome.ABSENT

    def delete(self, key: str, _until: float = 0.0) -> Outcome:
        """Forget an object."""
        with self._locks.of(key):
            was_there = self._usable(key)
            self._take_away(place_of(self._root, key))
            return Outcome.DELETED if was_there else Outcome.NOT_DELETED

    def interrupt(self) -> None:
        """A disk cannot be interrupted."""

    def close(self) -> None:
        """Leave the folder to others."""
        self._writer.close()

    def _tidy(self) -> None:
        """Remove what killed processes left."""
        self._writer.sweep()

    def _load(self, key: str, target: Leased) -> Outcome:
        place = place_of(self._root, key)
        manifest = self._manifest(place, key)
        if manifest is None:
            return Outcome.MISSED
        if manifest.size != target.size:
            return Outcome.MISMATCHED
        target.fill(self._bytes(place, manifest))
        return Outcome.LOADED

    def _usable(self, key: str, size: int | None = None) -> bool:
        """Whether a manifest and all fragments are there, each as long as it should be, and the object of the size asked for."""
        place = place_of(self._root, key)
        try:
            manifest = self._manifest(place, key)
            if manifest is None or size not in {None, manifest.size}:
                return False
            return all(
                (place / fragment_name(number)).stat().st_size == stop - start
                for number, (start, stop) in enumerate(manifest.spans())
            )
        except (OSError, Damaged):
            return False

    def _manifest(self, place: Path, key: str) -> Manifest | None:
        """The manifest in the folder of an object; None if there is no such folder.

        Raises:
            Damaged: it is not what was written, or that of another key.
            OSError: the disk refused.
        """
        if not os.path.lexists(place):
            return None
        with _as_damage():
            manifest = Manifest.decode((place / MANIFEST).read_bytes())
        if manifest.key != key:
            raise Damaged("the manifest is that of another key")
        return manifest

    def _bytes(self, place: Path, manifest: Manifest) -> bytes:
        """The object, each fragment of it checked.

        Raises:
            Damaged: one is missing, too long, too short or altered.
            OSError: the disk refused.
        """
        fragments = []
        for number, ((start, stop), wanted) in enumerate(zip(manifest.spans(), manifest.checks, strict=True)):
            with _as_damage():
                data = (place / fragment_name(number)).read_bytes()
            if len(data) != stop - start or check(data) != wanted:
                raise Damaged(f"fragment {number} is not what was stored")
            fragments.append(data)
        return b"".join(fragments)

    def _taken_away(self, key: str) -> bool:
        """Remove an object that looked damaged; False if it was only replaced or deleted while it was read."""
        with self._locks.of(key):
            place = place_of(self._root, key)
            try:
                manifest = self._manifest(place, key)
                if manifest is not None:
                    self._bytes(place, manifest)
            except Damaged:
                self._take_away(place)
                return True
            return False

    def _write(self, key: str, source: Leased) -> Outcome:
        corner = self._writer.place()
        corner.mkdir()
        try:
            self._write_object(corner, key, source)
            return self._show(corner, key, source.size)
        finally:
            remove(corner)

    def _write_object(self, corner: Path, key: str, source: Leased) -> None:
        """Write the fragments, and the manifest when they are on the disk."""
        checks = []
        for number, (start, stop) in enumerate(spans(source.size, self._fragment_size)):
            data = source.piece(start, stop)
            checks.append(check(data))
            self._write_file(corner / fragment_name(number), data)
        self._write_file(corner / MANIFEST, Manifest(key, source.size, self._fragment_size, tuple(checks)).encode())
        self._sync(corner)

    def _show(self, corner: Path, key: str, size: int) -> Outcome:
        """Make a written object visible; another process may have been faster."""
        place = place_of(self._root, key)
        place.parent.mkdir(exist_ok=True)
        if not _renamed(corner, place):
            if self._usable(key, size):
                return Outcome.DEDUPLICATED
            self._take_away(place)
            if not _renamed(corner, place):
                return Outcome.DEDUPLICATED
        self._sync(place.parent)
        return Outcome.STORED

    def _take_away(self, place: Path) -> None:
        """Remove what lies at the place of an object: at once for those who look, and then from the disk."""
        if not os.path.lexists(place):
            return
        corner = self._writer.place()
        try:
            place.rename(corner)
        except FileNotFoundError:
            return
        remove(corner)

    def _write_file(self, path: Path, data: bytes) -> None:
        with path.open("xb") as file:
            file.write(data)
            if self._durable:
                file.flush()
                os.fsync(file.fileno())

    def _sync(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        if not self._durable:
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _renamed(corner: Path, place: Path) -> bool:
    """Whether a folder got its new name; False if something has that name."""
    try:
        corner.rename(place)
    except OSError as error:
        if error.errno in TAKEN:
            return False
        raise
    return True


@contextmanager
def _as_damage() -> Iterator[None]:
    """A file that is not there, or is no file, was taken away underneath."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise Damaged(str(error)) from error
