"""Rules that say which requests meet which faults, and their counting."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from mockserver.faults.match import includes
from mockserver.mp.faults.action import MpFault
from mockserver.mp.faults.match import MpMatch


@dataclass(frozen=True, slots=True)
class MpRule:
    """Requests, and what goes wrong with each."""

    match: MpMatch = field(default_factory=MpMatch, kw_only=True)
    action: MpFault = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class MpFaultPlan:
    """Rules in order. Every rule that matches a request acts on it; where two decide on one thing, the first holds."""

    rules: tuple[MpRule, ...] = ()


NO_MP_FAULTS = MpFaultPlan()
"""The plan of a server that behaves."""


class MpPlanProgress:
    """A plan at work: counts, for every rule, the requests that agreed with its match. Safe from any thread."""

    def __init__(self, plan: MpFaultPlan) -> None:
        self.plan = plan
        self._seen: Counter[tuple[int, int | None]] = Counter()
        self._lock = threading.Lock()

    def actions_for(self, operation: str, connection: int, request: int) -> list[MpFault]:
        """Count a request, and say which actions it meets, in the order of the plan."""
        found = []
        for index, rule in enumerate(self.plan.rules):
            match = rule.match
            if not match.agrees(operation, connection):
                continue
            if match.nth is not None and not includes(match.nth, self._count(index, connection if match.connection else None)):
                continue
            if match.draws(rule.action.spec(), request):
                found.append(rule.action)
        return found

    def _count(self, rule: int, connection: int | None) -> int:
        with self._lock:
            self._seen[rule, connection] += 1
            return self._seen[rule, connection]
