"""When an execution has found a mutant: an assertion of the case failed, and nothing else went wrong."""

from __future__ import annotations

from typing import Final

from harness.case import CaseSpec
from harness.client import AdapterFault, ClientHang
from harness.failure import CaseFailure, LiveServerFailure, MockDriftFailure, PeerFailed
from harness.verdicts import inner
from reports.side import Side

BOUNDED_WAITS: Final = frozenset({"LM-CONN-001", "MP-CONN-001"})
"""A case that cites one of these requirements asserts that a call comes back, so that a hang is its finding."""


def kills(error: BaseException | None, spec: CaseSpec, side: Side, run: Side = "client") -> bool:
    """Whether what ended a case is its finding about the mutant of a side, in a run that judges ``run``.

    A crash, an answer that breaks the contract of adapters, a target that cannot be had and any fault of the harness are none,
    and neither is a difference of the mock while a client is the mutant. A plugin has no adapter: what it raises, or never
    completes, is its own.
    """
    if error is None:
        return False
    found = inner(error)
    if run == "server":
        return isinstance(found, CaseFailure | PeerFailed)
    if run == "plugin":
        return isinstance(found, CaseFailure | ClientHang | AdapterFault)
    about_a_server = isinstance(found, MockDriftFailure | LiveServerFailure)
    if side == "server":
        return about_a_server
    if isinstance(found, ClientHang):
        return not BOUNDED_WAITS.isdisjoint(spec.cites)
    return isinstance(found, CaseFailure) and not about_a_server
