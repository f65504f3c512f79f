"""Defects by which other bytes come back than were stored, or the same ones are written again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.mutants.l2.folders import OverFolder
from harness.mutants.marks import l2_mutant
from harness.reference.l2.folder import MANIFEST, ObjectFolder, fragment_name, place_of
from harness.reference.l2.leases import Leased
from harness.reference.l2.manifest import Damaged, Manifest, check, spans
from harness.reference.l2.outcomes import Outcome

BLOCK: Final = 4096
LARGEST: Final = 32 * 2**20


@l2_mutant(
    "l2-whole-blocks-only",
    stands_for="Transfers past the page cache, which take whole blocks, and a tail that nobody copies.",
    found_by=("l2.semantics.sizes", "l2.semantics.batch-of-sizes", "l2.histories.any-order"),
)
class LosesTheTail(OverFolder):
    """Brings zeros for what is behind the last whole block of 4096 bytes."""

    class Folder(ObjectFolder):
        """Pads what is short."""

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            data = super()._bytes(place, manifest)
            whole = len(data) // BLOCK * BLOCK
            return data[:whole] + bytes(len(data) - whole)


@l2_mutant(
    "l2-at-most-32-mib",
    stands_for="A limit of a wire or a queue beyond which a transfer is cut without a word.",
    found_by=("l2.semantics.large", "l2.native-submits.large-object"),
)
class CutsLargeObjects(OverFolder):
    """Brings zeros for what is behind the first 32 MiB."""

    class Folder(ObjectFolder):
        """Forgets the rest."""

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            data = super()._bytes(place, manifest)
            return data[:LARGEST] + bytes(max(0, len(data) - LARGEST))


@l2_mutant(
    "l2-written-every-time",
    stands_for="A store that does not look first.",
    found_by=("l2.overwriting.not-written-twice",),
)
class WritesEveryTime(OverFolder):
    """Writes an object that is there once more, and puts it in the place of the first."""

    class Folder(ObjectFolder):
        """Never sees what is there when it stores."""

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """With the defect."""
            with self._locks.of(key):
                self._take_away(place_of(self._root, key))
                return self._write(key, source)


@l2_mutant(
    "l2-fails-where-something-is",
    stands_for="Files that are made exclusively, and an error where one is there that nobody meant.",
    found_by=("l2.overwriting.again",),
)
class FailsWhereSomethingIs(OverFolder):
    """Says that a store failed whose object was there already."""

    class Folder(ObjectFolder):
        """Takes what is there for an error."""

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """With the defect."""
            outcome = super().store(key, source)
            return Outcome.DROPPED if outcome is Outcome.DEDUPLICATED else outcome


class _InPlace(ObjectFolder):
    """Writes into the folder of the object itself."""

    def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
        """With the defect."""
        place = place_of(self._root, key)
        place.mkdir(exist_ok=True)
        checks = []
        for number, (start, stop) in enumerate(spans(source.size, self._fragment_size)):
            data = source.piece(start, stop)
            checks.append(check(data))
            self._fragment(place / fragment_name(number), data)
        (place / MANIFEST).write_bytes(Manifest(key, source.size, self._fragment_size, tuple(checks)).encode())
        return Outcome.STORED

    def _fragment(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)


@l2_mutant(
    "l2-overwrites-in-place",
    stands_for="Files that are opened for writing under their final names.",
    found_by=("l2.durability.kill-in-a-second-store", "l2.overwriting.not-written-twice"),
)
class OverwritesInPlace(OverFolder):
    """Writes the fragments of an object over those that are there, and then the manifest."""

    Folder = _InPlace


@l2_mutant(
    "l2-fragments-kept-one-by-one",
    stands_for="Fragments that are taken for written because a file of that name is there.",
    found_by=("l2.overwriting.other-bytes", "l2.overwriting.at-once"),
)
class KeepsFragments(OverFolder):
    """Leaves each fragment that is there as it is, and writes a manifest for the new ones."""

    class Folder(_InPlace):
        """Looks for files, not for objects."""

        def _fragment(self, path: Path, data: bytes) -> None:
            if not path.exists():
                super()._fragment(path, data)


@l2_mutant(
    "l2-shorter-over-longer",
    stands_for="Files that are opened without being cut.",
    found_by=("l2.overwriting.other-size",),
)
class WritesShorterOverLonger(OverFolder):
    """Writes a shorter object over the beginning of a longer one, and takes the length of what lies there for its size."""

    class Folder(_InPlace):
        """Trusts files."""

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """With the defect."""
            place = place_of(self._root, key)
            old = place / MANIFEST
            before = Manifest.decode(old.read_bytes()) if old.exists() else None
            outcome = super().store(key, source)
            if before is not None and before.size > source.size:
                old.write_bytes(Manifest(key, before.size, before.fragment_size, before.checks).encode())
            return outcome

        def _fragment(self, path: Path, data: bytes) -> None:
            with path.open("r+b" if path.exists() else "xb") as file:
                file.write(data)

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            count = sum(1 for _ in manifest.spans())
            return b"".join((place / fragment_name(number)).read_bytes() for number in range(count))[: manifest.size]


@l2_mutant(
    "l2-index-read-once",
    stands_for="An index of the folder in memory, which is read when the plugin is opened.",
    found_by=("l2.semantics.other-instance",),
)
class ReadsTheIndexOnce(OverFolder):
    """Knows the objects that were there when it was opened, and its own."""

    class Folder(ObjectFolder):
        """Looks at the folder no more."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            super().__init__(root, fragment_size=fragment_size, durable=durable)
            self._known = set(place_of(root, "").parent.iterdir())

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """With the defect."""
            outcome = super().store(key, source)
            self._known.add(place_of(self._root, key))
            return outcome

        def _manifest(self, place: Path, key: str) -> Manifest | None:
            return super()._manifest(place, key) if not hasattr(self, "_known") or place in self._known else None


@l2_mutant(
    "l2-delete-leaves-the-manifest",
    stands_for="A delete that frees the space and forgets the entry.",
    found_by=("l2.deleting.gone",),
)
class LeavesTheManifest(OverFolder):
    """Removes the fragments of a deleted object and goes on saying that it is there."""

    class Folder(ObjectFolder):
        """Believes manifests."""

        def delete(self, key: str, _until: float = 0.0) -> Outcome:
            """With the defect."""
            found = list(place_of(self._root, key).glob("fragment-*"))
            for fragment in found:
                fragment.unlink()
            return Outcome.DELETED if found else Outcome.NOT_DELETED

        def look(self, key: str, _until: float = 0.0) -> Outcome:
            """With the defect."""
            return Outcome.FOUND if (place_of(self._root, key) / MANIFEST).exists() else Outcome.ABSENT


@l2_mutant(
    "l2-delete-in-memory",
    stands_for="Deletes that are collected and done later, or never when the server stops before.",
    found_by=("l2.deleting.gone-for-good",),
)
class DeletesInMemory(OverFolder):
    """Notes what was deleted, and has it again after a restart."""

    class Folder(ObjectFolder):
        """Notes it."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            self._deleted: set[Path] = set()
            super().__init__(root, fragment_size=fragment_size, durable=durable)

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """With the defect."""
            place = place_of(self._root, key)
            if place in self._deleted:
                self._take_away(place)
                self._deleted.discard(place)
            return super().store(key, source)

        def delete(self, key: str, _until: float = 0.0) -> Outcome:
            """With the defect."""
            was_there = self._usable(key)
            self._deleted.add(place_of(self._root, key))
            return Outcome.DELETED if was_there else Outcome.NOT_DELETED

        def _manifest(self, place: Path, key: str) -> Manifest | None:
            return None if place in self._deleted else super()._manifest(place, key)


@l2_mutant(
    "l2-deleted-for-ever",
    stands_for="Tombstones that nobody clears when the key comes back.",
    found_by=("l2.deleting.stored-again", "l2.histories.any-order"),
)
class RemembersDeletes(OverFolder):
    """Never finds a key again that was deleted once."""

    class Folder(ObjectFolder):
        """Keeps tombstones."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            self._tombs: set[str] = set()
            super().__init__(root, fragment_size=fragment_size, durable=durable)

        def delete(self, key: str, _until: float = 0.0) -> Outcome:
            """With the defect."""
            outcome = super().delete(key)
            self._tombs.add(key)
            return outcome

        def _load(self, key: str, target: Leased) -> Outcome:
            return Outcome.MISSED if key in self._tombs else super()._load(key, target)


@l2_mutant(
    "l2-checksum-unchecked",
    stands_for="Checksums that are written and never read.",
    found_by=("l2.integrity.damaged-while-open",),
)
class ChecksNoChecksum(OverFolder):
    """Trusts fragments of the right length."""

    class Folder(ObjectFolder):
        """Looks at lengths alone."""

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            return _joined(place, manifest, exact=True)


@l2_mutant(
    "l2-length-unchecked",
    stands_for="Reads into memory of the right size, of which a short file fills a part.",
    found_by=("l2.integrity.damaged-while-open",),
)
class ChecksNoLength(OverFolder):
    """Brings zeros for what a fragment lacks."""

    class Folder(ObjectFolder):
        """Fills up."""

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            return _joined(place, manifest, exact=False)

        def _usable(self, key: str, size: int | None = None) -> bool:
            try:
                manifest = self._manifest(place_of(self._root, key), key)
            except (OSError, Damaged):
                return False
            return manifest is not None and size in {None, manifest.size}


@l2_mutant(
    "l2-shown-before-it-is-whole",
    stands_for="A file of its full length that is filled afterwards, and readers that look at lengths.",
    found_by=("l2.durability.kill-in-a-store",),
)
class ManifestFirst(OverFolder):
    """Writes the manifest first, then the fragments, whose space is reserved before; readers look at lengths."""

    class Folder(ObjectFolder):
        """Reserves, shows, fills."""

        def _write(self, key: str, source: Leased) -> Outcome:
            place = place_of(self._root, key)
            self._take_away(place)
            place.mkdir()
            checks = []
            for number, (start, stop) in enumerate(spans(source.size, self._fragment_size)):
                checks.append(check(source.piece(start, stop)))
                (place / fragment_name(number)).write_bytes(bytes(stop - start))
            self._write_file(place / MANIFEST, Manifest(key, source.size, self._fragment_size, tuple(checks)).encode())
            for number, (start, stop) in enumerate(spans(source.size, self._fragment_size)):
                with (place / fragment_name(number)).open("r+b") as file:
                    file.write(source.piece(start, stop))
            return Outcome.STORED

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            return _joined(place, manifest, exact=True)


@l2_mutant(
    "l2-damage-never-healed",
    stands_for="A miss for what is damaged, and a store that asks the manifest whether there is anything to do.",
    found_by=("l2.integrity.damaged-while-open",),
)
class NeverHeals(OverFolder):
    """Leaves a damaged object where it is, and takes the next store of it for done."""

    class Folder(ObjectFolder):
        """Takes nothing away."""

        def _take_away(self, place: Path) -> None:
            """Leaves it there."""


@l2_mutant(
    "l2-leftovers-stay",
    stands_for="Temporary files that only those remove who made them.",
    found_by=("l2.durability.leftovers",),
)
class LeavesLeftovers(OverFolder):
    """Never removes what killed processes left."""

    class Folder(ObjectFolder):
        """Is not tidy."""

        def _tidy(self) -> None:
            """Leaves everything as it is."""


def _joined(place: Path, manifest: Manifest, *, exact: bool) -> bytes:
    """The fragments of an object, as long as they should be or filled up."""
    pieces = []
    for number, (start, stop) in enumerate(manifest.spans()):
        path = place / fragment_name(number)
        if not path.is_file():
            raise Damaged(f"there is no fragment {number}")
        data = path.read_bytes()
        if exact and len(data) != stop - start:
            raise Damaged(f"fragment {number} has {len(data)} bytes")
        pieces.append(data[: stop - start].ljust(stop - start, b"\0"))
    return b"".join(pieces)
