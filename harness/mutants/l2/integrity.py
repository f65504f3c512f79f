"""Defects that show when what a plugin stored is damaged underneath it, or the disk refuses."""

from __future__ import annotations

from pathlib import Path

from harness.mutants.l2.folders import OverFolder
from harness.mutants.marks import l2_mutant
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.batches import Batch
from harness.reference.l2.folder import MANIFEST, OBJECTS, ObjectFolder, fragment_name, place_of
from harness.reference.l2.leases import Leased
from harness.reference.l2.manifest import Damaged, Manifest, check
from harness.reference.l2.outcomes import Outcome


class _Careless(ObjectFolder):
    """Lets an error that damage causes go up."""

    def load(self, key: str, target: Leased, _until: float = 0.0) -> Outcome:
        return self._load(key, target)


@l2_mutant(
    "l2-damage-fails-the-batch",
    stands_for="An exception for what is damaged, which nobody catches before the loop over the batch has ended.",
    found_by=("l2.integrity.damaged-while-open*", "l2.integrity.damaged-before-opening*", "l2.integrity.refused-reads*"),
)
class DamageFailsTheBatch(OverFolder):
    """Misses a whole batch because of one object that cannot be read."""

    Folder = _Careless


@l2_mutant(
    "l2-key-unchecked",
    stands_for="A file that is found by a hash of its key and holds nothing that says whose it is.",
    found_by=("l2.integrity.exchanged[*-all-files]",),
)
class ChecksNoKey(OverFolder):
    """Takes what lies at the place of an object for that object."""

    class Folder(ObjectFolder):
        """Reads the manifest and not its key."""

        def _manifest(self, place: Path, key: str) -> Manifest | None:
            try:
                return super()._manifest(place, key)
            except Damaged as damaged:
                if "another key" not in str(damaged):
                    raise
                return Manifest.decode((place / MANIFEST).read_bytes())


@l2_mutant(
    "l2-fragments-vouch-for-themselves",
    stands_for="A checksum at the end of each block, and nothing that says to which object the block belongs.",
    found_by=("l2.integrity.exchanged[*-one-file]",),
)
class FragmentsVouchForThemselves(OverFolder):
    """Checks each fragment by a checksum that the fragment holds itself."""

    class Folder(ObjectFolder):
        """Puts checksums into fragments."""

        def _write_file(self, path: Path, data: bytes) -> None:
            super()._write_file(path, data if path.name == MANIFEST else data + check(data).encode())

        def _bytes(self, place: Path, manifest: Manifest) -> bytes:
            pieces = []
            for number, (start, stop) in enumerate(manifest.spans()):
                try:
                    held = (place / fragment_name(number)).read_bytes()
                except (FileNotFoundError, IsADirectoryError) as error:
                    raise Damaged(str(error)) from error
                data, vouched = held[: stop - start], held[stop - start :]
                if vouched != check(data).encode():
                    raise Damaged(f"fragment {number} is not what was stored")
                pieces.append(data)
            return b"".join(pieces)

        def _usable(self, key: str, size: int | None = None) -> bool:
            place = place_of(self._root, key)
            try:
                manifest = self._manifest(place, key)
                if manifest is None or size not in {None, manifest.size}:
                    return False
                return all((place / fragment_name(number)).is_file() for number, _ in enumerate(manifest.spans()))
            except (OSError, Damaged):
                return False


@l2_mutant(
    "l2-damage-still-found",
    stands_for="A miss for what is damaged that leaves it where it is, and a lookup that looks whether it is there.",
    found_by=("l2.integrity.looked-up-after-a-miss*",),
)
class StillFindsDamage(OverFolder):
    """Goes on saying that a damaged object is there until it is stored again."""

    class Folder(ObjectFolder):
        """Leaves damage for the next store."""

        def _taken_away(self, key: str) -> bool:
            del key
            return True

        def look(self, key: str, _until: float = 0.0) -> Outcome:
            """Look for an object, with the defect."""
            return Outcome.FOUND if place_of(self._root, key).exists() else Outcome.ABSENT

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """Store an object, with the defect."""
            place = place_of(self._root, key)
            try:
                manifest = self._manifest(place, key)
                if manifest is not None:
                    self._bytes(place, manifest)
            except (Damaged, OSError):
                self._take_away(place)
            return super().store(key, source)


@l2_mutant(
    "l2-reads-every-folder",
    stands_for="An index that is made of everything in the folder when the plugin is opened, whatever that is.",
    found_by=("l2.integrity.strangers", "l2.integrity.damaged-before-opening*"),
)
class ReadsEveryFolder(OverFolder):
    """Cannot be opened where something in its folder is no object."""

    class Folder(ObjectFolder):
        """Reads all manifests first."""

        def __init__(self, root: Path, *, fragment_size: int, durable: bool = True) -> None:
            super().__init__(root, fragment_size=fragment_size, durable=durable)
            for place in (root / OBJECTS).iterdir():
                Manifest.decode((place / MANIFEST).read_bytes())


@l2_mutant(
    "l2-full-disk-is-no-error",
    stands_for="A background write whose error goes to the log, and a store that has long been said to be done.",
    found_by=("l2.integrity.no-space",),
)
class SwallowsErrors(ReferencePlugin):
    """Says that a store succeeded that the disk refused."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        outcomes = super()._outcomes(batch)
        return [Outcome.STORED] * len(outcomes) if batch.kind == "store" else outcomes


@l2_mutant(
    "l2-error-is-for-ever",
    stands_for="A breaker that opens when the disk fails, and that only a restart closes.",
    found_by=("l2.integrity.no-space", "l2.integrity.refused-reads*"),
)
class NeverTriesAgain(OverFolder):
    """Gives up its folder after the first error."""

    class Folder(ObjectFolder):
        """Breaks once."""

        _broken = False

        def store(self, key: str, source: Leased, _until: float = 0.0) -> Outcome:
            """Store an object, with the defect."""
            outcome = Outcome.DROPPED if self._broken else super().store(key, source)
            self._broken = self._broken or outcome is Outcome.DROPPED
            return outcome

        def load(self, key: str, target: Leased, _until: float = 0.0) -> Outcome:
            """Load an object, with the defect."""
            outcome = Outcome.UNAVAILABLE if self._broken else super().load(key, target)
            self._broken = self._broken or outcome is Outcome.UNAVAILABLE
            return outcome
