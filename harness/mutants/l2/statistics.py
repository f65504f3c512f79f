"""Defects of what a plugin tells of itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from harness.mutants.marks import l2_mutant
from harness.reference.l2 import ReferencePlugin


class Recounted(ReferencePlugin):
    """Counts some outcomes under the names of others."""

    instead: ClassVar[Mapping[str, str | None]]
    """For a name the one that gets its number; None for none."""

    def statistics(self) -> dict[str, int]:
        """The numbers, some of them under another name."""
        told = super().statistics()
        for name, other in self.instead.items():
            number = told.pop(name)
            if other is not None:
                told[other] = told.get(other, 0) + number
                told[name] = 0
        return told


@l2_mutant(
    "l2-counts-deduplicated-as-stored",
    stands_for="A counter that is raised wherever a store has ended well.",
    found_by=("l2.statistics.outcomes[*-deduplicated]",),
)
class CountsDeduplicatedAsStored(Recounted):
    """Counts what was there already as stored."""

    instead: ClassVar = {"deduplicated": "stored"}


@l2_mutant(
    "l2-counts-damaged-as-missed",
    stands_for="One counter for all that a load did not bring.",
    found_by=("l2.statistics.outcomes[*-damaged]",),
)
class CountsDamagedAsMissed(Recounted):
    """Counts what was damaged as missed."""

    instead: ClassVar = {"damaged": "missed"}


@l2_mutant(
    "l2-counts-failed-stores-as-stored",
    stands_for="A counter that is raised when a store begins.",
    found_by=("l2.statistics.outcomes-of-an-outage[*-dropped-or-skipped]", "l2.statistics.outcomes-of-an-outage[*-rejected]"),
)
class CountsFailuresAsStored(Recounted):
    """Counts every store as stored, however it ended."""

    instead: ClassVar = {"dropped": "stored", "skipped": "stored", "rejected": "stored"}


@l2_mutant(
    "l2-counts-unavailable-as-loaded",
    stands_for="A counter of requests that is shown as one of hits.",
    found_by=("l2.statistics.outcomes-of-an-outage[*-unavailable]", "l2.statistics.outcomes[*-missed]"),
)
class CountsUnavailableAsLoaded(Recounted):
    """Counts every load as one that brought something."""

    instead: ClassVar = {"unavailable": "loaded", "missed": "loaded"}


@l2_mutant(
    "l2-counts-batches",
    stands_for="A counter in the loop over batches, and not in that over objects.",
    found_by=("l2.statistics.outcomes[*-stored]", "l2.statistics.outcomes[*-loaded]"),
)
class CountsBatches(ReferencePlugin):
    """Counts three objects as one."""

    def statistics(self) -> dict[str, int]:
        """A third, rounded up."""
        return {name: -(-number // 3) for name, number in super().statistics().items()}


@l2_mutant(
    "l2-counts-no-misses",
    stands_for="Statistics of what was done, and nothing of what was not.",
    found_by=("l2.statistics.words",),
)
class CountsNoMisses(Recounted):
    """Does not count what a load did not find."""

    instead: ClassVar = {"missed": None}


@l2_mutant(
    "l2-statistics-ask-the-gateway",
    stands_for="A page about the plugin that asks the gateway for its part.",
    found_by=("l2.statistics.during-an-outage",),
)
class StatisticsAskTheGateway(ReferencePlugin):
    """Asks the gateway before it tells its statistics, and waits for the answer."""

    def statistics(self) -> dict[str, int]:
        """All of them, later."""
        self._keeper.look("", time.monotonic() + 30)
        return super().statistics()
