"""Defects in how long, and how often, a plugin waits for the storage behind it."""

from __future__ import annotations

import time
from typing import Final

from harness.mutants.marks import l2_mutant
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.batches import Batch
from harness.reference.l2.gateway.link import GatewayLink
from harness.reference.l2.keeper import Keeper
from harness.reference.l2.outcomes import Outcome

AGES: Final = 3600.0
"""Seconds: nobody waits so long."""


@l2_mutant(
    "l2-gateway-given-up-for-good",
    stands_for="A flag that is set when the storage fails, and that nobody takes back.",
    found_by=("l2.backend.goes-down",),
)
class GivesUpForGood(ReferencePlugin):
    """Never asks a gateway again that did not answer once."""

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        del retry
        return GatewayLink(address, retry=AGES)


@l2_mutant(
    "l2-gateway-waited-for-by-each-object",
    stands_for="A timeout for a request, and a batch of many requests.",
    found_by=("l2.backend.slow",),
)
class WaitsForEachObject(ReferencePlugin):
    """Waits for each object of a batch as long as for one, and asks again at once."""

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        del retry
        return GatewayLink(address, retry=0.0)

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind in {"load", "store"}:
            do = self._load if batch.kind == "load" else self._store
            return [do(key, buffer, self._end()) for key, buffer in zip(batch.keys, batch.buffers, strict=True)]
        ask = self._keeper.look if batch.kind == "look" else self._keeper.delete
        return [ask(key, self._end()) for key in batch.keys]

    def _end(self) -> float:
        return time.monotonic() + self._wait
