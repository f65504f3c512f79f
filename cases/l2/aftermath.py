"""What cases ask of a plugin after something happened to it or to what it stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from harness.case import ALONE, case
from harness.client import ClientFailure
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2.calls.watcher import CannotWatch
from harness.l2.crashes.ledger import FAULTS, Fault, FaultKind, Ledger, State, Tally
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

WRONG: Final = "PLUG-DUR-001"
LOST: Final = "PLUG-DUR-002"
OPENS: Final = "PLUG-DUR-003"
HEALS: Final = "PLUG-DUR-004"
SPOILED: Final = "PLUG-DUR-009"
ALONE_AFFECTED: Final = "PLUG-DUR-010"
Cites = Mapping[FaultKind, str]
CITES: Final[Cites] = {"wrong": WRONG, "lost": LOST, "dead": OPENS, "unhealed": HEALS}
"""What each fault is about."""

plugin_case = partial(case, targets=ALONE, judges="plugin", releases="0.4.3 and later", once_for="contract")
"""Makes a case about a plugin by itself."""


def ledger(keys: L2Keys, sizes: Sequence[int]) -> Ledger:
    """Objects of some sizes, none of them stored."""
    return Ledger(dict(zip(keys.some(len(sizes)), sizes, strict=True)))


def store(judge: Judge, plugin: Plugin, book: Ledger, keys: Sequence[str], *, cites: Cites = CITES, after: str = "") -> None:
    """Store objects of the ledger in one batch, which has to succeed."""
    book.storing(keys)
    stored = plugin.store([book.object(key) for key in keys])
    judge.holds(
        stored.ok,
        f"{after}a store of {len(keys)} objects failed, though nothing stood in its way",
        cite=cites["unhealed"],
        client_answered=f"not ok: {stored.error or 'without a reason'}",
        conformant_answer="ok",
    )
    book.stored(keys, ok=True)


def check(judge: Judge, plugin: Plugin, book: Ledger, *, after: str, must: FaultKind = "lost", cites: Cites = CITES) -> Tally:
    """Everything ever stored is whole or a miss, and what is sure is whole."""
    tally = book.check(plugin, must=must)
    report(judge, tally.faults, after=after, cites=cites)
    return tally


def report(judge: Judge, faults: Sequence[Fault], *, after: str, cites: Cites = CITES) -> None:
    """Fail with the worst of what was found."""
    for kind in FAULTS:
        found = [fault for fault in faults if fault.kind == kind]
        if found:
            more = f" (and {len(found) - 1} more objects likewise)" if len(found) > 1 else ""
            judge.fail(f"{after}: {found[0].words}{more}", cite=cites[kind])


def heal(judge: Judge, plugin: Plugin, book: Ledger, *, after: str, cites: Cites = CITES) -> None:
    """Store again what may be missing; then everything is there."""
    doubtful = book.in_state(State.MAYBE)
    if doubtful:
        store(judge, plugin, book, doubtful, after=f"{after}: ", cites=cites)
    check(judge, plugin, book, after=f"{after}, and stored again", must="unhealed", cites=cites)


@contextmanager
def opening(judge: Judge, after: str, *, cites: Cites = CITES) -> Iterator[None]:
    """A plugin that is opened after something happened can be opened, and answers."""
    try:
        yield
    except ClientFailure as failure:
        said = failure.stderr.strip().splitlines()
        judge.fail(
            f"{after}: {FAULTS['dead']}: {type(failure).__name__}: {failure}",
            cite=cites["dead"],
            client_answered=said[-1] if said else None,
        )


@contextmanager
def watching() -> Iterator[None]:
    """Calls of the file system are watched, where that can be.

    Raises:
        UnsupportedByClient: it cannot be here.
    """
    try:
        yield
    except CannotWatch as reason:
        raise UnsupportedByClient("folder", f"{reason}; the plugin can only be killed at random moments") from None
