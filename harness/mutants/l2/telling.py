"""Defects of what a plugin tells of itself."""

from __future__ import annotations

from collections.abc import Sequence

from harness.mutants.marks import l2_mutant
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.batches import Batch
from harness.reference.l2.outcomes import Outcome


@l2_mutant(
    "misses-of-all-kinds",
    stands_for="One counter for hits and one for the rest.",
    found_by=("l2.statistics.*",),
)
class CountsMisses(ReferencePlugin):
    """Counts what is damaged or cannot be reached as what was never stored."""

    def statistics(self) -> dict[str, int]:
        """With the defect."""
        numbers = super().statistics()
        for other in ("damaged", "unavailable", "mismatched"):
            numbers["missed"] += numbers.pop(other)
        return numbers


@l2_mutant(
    "stores-of-all-kinds",
    stands_for="A counter at the place where stores come in.",
    found_by=("l2.statistics.*",),
)
class CountsStores(ReferencePlugin):
    """Counts as stored what was there already, was refused, or was lost."""

    def statistics(self) -> dict[str, int]:
        """With the defect."""
        numbers = super().statistics()
        for other in ("deduplicated", "skipped", "dropped", "rejected"):
            numbers["stored"] += numbers.pop(other)
        return numbers


@l2_mutant(
    "batches-counted",
    stands_for="Counters of calls.",
    found_by=("l2.statistics.*",),
)
class CountsBatches(ReferencePlugin):
    """Counts a batch as one object."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        before = self._statistics.count
        counted: set[Outcome] = set()

        def once(outcome: Outcome, objects: int = 1) -> None:
            if outcome not in counted:
                counted.add(outcome)
                before(outcome, objects)

        for outcome in outcomes:
            once(outcome)
        self._statistics.count = lambda *_: None  # type: ignore[method-assign]  # counted above
        try:
            super()._complete(batch, outcomes, error)
        finally:
            self._statistics.count = before  # type: ignore[method-assign]


@l2_mutant(
    "statistics-never-change",
    stands_for="Numbers that are copied when the plugin is opened.",
    found_by=("l2.statistics.*",),
)
class NeverCounts(ReferencePlugin):
    """Tells what was so in the beginning."""

    def statistics(self) -> dict[str, int]:
        """With the defect."""
        return dict.fromkeys(super().statistics(), 0)
