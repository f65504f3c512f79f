"""Plugins that cannot take every batch or every key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.mutants.marks import l2_mutant
from harness.reference.l2.batches import Batch, Kind
from harness.reference.l2.leases import Leased
from harness.reference.l2.outcomes import Outcome
from harness.reference.l2.plugin import ReferencePlugin

MOST = 256


@l2_mutant(
    "l2-batches-of-256",
    stands_for="A field of one byte, or a limit of the storage's interface that nobody divides batches by.",
    found_by=("l2.native-batches.thousand-keys",),
)
class BatchesOf256(ReferencePlugin):
    """Finds nothing beyond the first 256 keys of a lookup."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        outcomes = super()._outcomes(batch)
        if batch.kind == "look":
            outcomes[MOST:] = [Outcome.ABSENT] * len(outcomes[MOST:])
        return outcomes


@l2_mutant(
    "l2-nothing-never-completes",
    stands_for="A batch that completes with its last object, of which an empty one has none.",
    found_by=("l2.native-batches.no-keys",),
)
class NothingNeverCompletes(ReferencePlugin):
    """Never completes a batch without keys."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        if batch.keys:
            super()._complete(batch, outcomes, error)


@l2_mutant(
    "l2-keys-in-a-set",
    stands_for="A dictionary of what a batch asks for, in which a key is there once.",
    found_by=("l2.native-batches.key-twice",),
)
class KeysInASet(ReferencePlugin):
    """Gives one result for a key that a batch names twice."""

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        by_key = dict(zip(batch.keys, super()._outcomes(batch), strict=True))
        return list(by_key.values())


def _by_another_name(name: Any) -> type[ReferencePlugin]:
    """The reference plugin with keys changed."""

    class Renaming(ReferencePlugin):
        def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[memoryview] = ()) -> Batch:
            return super()._batch(kind, [name(key) for key in keys], buffers)

    return Renaming


@l2_mutant(
    "l2-slashes-replaced",
    stands_for="Names of files made of keys by replacing what a file system does not like.",
    found_by=("l2.native-batches.different-keys",),
)
class SlashesReplaced(_by_another_name(lambda key: key.replace("/", "_"))):  # type: ignore[misc]  # made above
    """Makes one object of two whose models differ in a slash and an underscore."""


@l2_mutant(
    "l2-case-folded",
    stands_for="A file system, or a column of a database, that does not tell large letters from small ones.",
    found_by=("l2.native-batches.different-keys",),
)
class CaseFolded(_by_another_name(str.lower)):  # type: ignore[misc]  # made above
    """Makes one object of two whose keys differ in the case of letters."""


@l2_mutant(
    "l2-keys-cut",
    stands_for="A field of limited length for keys.",
    found_by=("l2.native-batches.different-keys",),
)
class KeysCut(_by_another_name(lambda key: key[:255])):  # type: ignore[misc]  # made above
    """Makes one object of two whose keys are the same up to the 255th character."""


@l2_mutant(
    "l2-salts-dropped",
    stands_for="Keys that are taken apart as they were before there were salts.",
    found_by=("l2.native-batches.different-keys",),
)
class SaltsDropped(_by_another_name(lambda key: "@".join(key.split("@")[:4]))):  # type: ignore[misc]  # made above
    """Takes a salt for no part of a key."""


@l2_mutant(
    "l2-keys-as-file-names",
    stands_for="One file for each object, named by its key.",
    found_by=("l2.native-batches.any-model", "l2.native-batches.any-salt"),
)
class KeysAsFileNames(ReferencePlugin):
    """Cannot store an object whose key is longer than a file's name may be."""

    def _store(self, key: str, source: Leased, until: float) -> Outcome:
        return Outcome.DROPPED if any(len(part.encode()) > 255 for part in key.split("/")) else super()._store(key, source, until)


@l2_mutant(
    "l2-keys-as-paths",
    stands_for="A folder for each model, by the name that the model has.",
    found_by=("l2.native-batches.stays-in-its-folder",),
)
class KeysAsPaths(ReferencePlugin):
    """Leaves a note about each object under the path that its key is."""

    def __init__(self, *, folder: str, **params: Any) -> None:
        self._notes = Path(folder)
        super().__init__(folder=folder, **params)

    def _store(self, key: str, source: Leased, until: float) -> Outcome:
        note = self._notes / key
        try:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(str(source.size))
        except (OSError, ValueError):
            pass
        return super()._store(key, source, until)
