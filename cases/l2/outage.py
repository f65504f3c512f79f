"""What cases about a backend have in common: it is disturbed, and put right again whatever happens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from cases.l2.aftermath import Cites, ledger, plugin_case
from harness.backend import Backend
from harness.client import ClientFailure, ClientHang
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2.answers import Submitted
from harness.l2.crashes.ledger import FAULTS, Ledger, content
from harness.l2.host_process import PluginRaised
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

BOUNDED: Final = "PLUG-BACK-001"
SUBMITS: Final = "PLUG-BACK-002"
STARTS: Final = "PLUG-BACK-003"
RECOVERS: Final = "PLUG-BACK-004"
RIGHT: Final = "PLUG-BACK-005"
EMPTY: Final = "PLUG-BACK-006"
LIMIT: Final = "PLUG-BACK-007"
AHEAD: Final = "PLUG-BACK-008"
FULL: Final = "PLUG-BACK-009"
RAISES: Final = "PLUG-NAT-036"
WAIT: Final = 2.0
"""Seconds that a plugin waits for an answer, where nobody says."""
FAR: Final = 30.0
"""Seconds that a backend takes which hangs, for our purposes."""
BEAT: Final = 0.05
RECOVERY: Final = 5.0
PATIENCE: Final = 20.0
AFTER_OUTAGE: Final[Cites] = {"wrong": RIGHT, "lost": RECOVERS, "dead": RECOVERS, "unhealed": RECOVERS}
SHARE: Final = 1 << 20
"""Bytes of a store that waits."""
ROUND: Final = 100
MOST: Final = 3000
"""Stores after which a limit is no longer expected."""
T = TypeVar("T")

backend_case = partial(plugin_case, needs=("backend",))
native_backend_case = partial(plugin_case, needs=("backend", "native_plugin"))


class Outage:
    """A plugin in front of a backend that is going to be disturbed."""

    def __init__(self, judge: Judge, plugins: PluginSession, keys: L2Keys) -> None:
        self.judge = judge
        self.plugins = plugins
        self.backend: Backend = plugins.backend
        self._keys = keys
        spec = plugins.spec.behind_backend
        assert spec is not None
        said = spec.params.get("wait")
        self.wait = float(said) if isinstance(said, int | float) else self.backend.wait or WAIT
        """Seconds that the plugin was told to wait: the parameter ``wait``, or what the backend's class says."""
        self.in_time = 2 * self.wait + 1.0
        """Seconds until an answer has to be there."""

    def open(self) -> Plugin:
        """The plugin.

        Raises:
            ClientFailure: it cannot be opened.
        """
        return self.plugins.open_behind_backend()

    def ledger(self, *sizes: int) -> Ledger:
        """Objects of some sizes."""
        return ledger(self._keys, sizes)

    def can(self, what: str) -> None:
        """The backend has a method.

        Raises:
            UnsupportedByClient: it has not.
        """
        if not self.backend.can(what):
            raise UnsupportedByClient("backend", f"the class of the backend has no method {what}")

    def bounded(self, what: str, call: Callable[[float], T]) -> T:
        """What a call of the plugin gives, which has to come in time; ``call`` takes its timeout."""
        try:
            return call(self.in_time)
        except ClientHang:
            self.judge.fail(
                f"{what} was not answered within {self.in_time:g} s, twice the wait of {self.wait:g} s and a second", cite=BOUNDED
            )

    def prepare(self, plugin: Plugin, book: Ledger, keys: Sequence[str]) -> None:
        """Store objects while all is well; on a busy machine that may take more than the wait, and is tried again."""
        until = time.monotonic() + PATIENCE
        book.storing(keys)
        while not (stored := plugin.store([book.object(key) for key in keys])).ok:
            self.judge.holds(
                time.monotonic() < until,
                f"for {PATIENCE:g} s no store of {len(keys)} objects succeeded, though nothing stood in its way",
                cite=RECOVERS,
                client_answered=f"not ok: {stored.error or 'without a reason'}",
            )
            time.sleep(BEAT)
        book.stored(keys, ok=True)

    def misses(self, plugin: Plugin, book: Ledger, keys: Sequence[str], *, why: str) -> None:
        """Load and look up objects while they cannot be had: each is a miss, in time."""
        loaded = self.bounded(
            f"a load while {why}", lambda limit: plugin.load(keys, [book.size(key) for key in keys], timeout=limit)
        )
        for key, data in zip(keys, loaded.data, strict=True):
            tally = book.judge(key, data, sure=False)
            self.judge.holds(not tally.faults, f"while {why}: {tally.faults[0].words if tally.faults else ''}", cite=RIGHT)
        self.judge.holds(not any(loaded.found), f"while {why} a load found what nobody can have told it", cite=BOUNDED)
        self.bounded(f"a lookup while {why}", lambda limit: plugin.lookup(keys, timeout=limit))

    def refuses(self, plugin: Plugin, book: Ledger, keys: Sequence[str], *, why: str, cite: str = BOUNDED) -> None:
        """Store objects while that cannot be: the store fails, in time."""
        book.storing(keys)
        objects = [book.object(key) for key in keys]
        stored = self.bounded(f"a store while {why}", lambda limit: plugin.store(objects, timeout=limit))
        self.judge.holds(
            not stored.ok, f"a store while {why} was said to be done", cite=cite, client_answered="ok", conformant_answer="not ok"
        )

    def recovers(self, plugin: Plugin, book: Ledger, *, cites: Cites = AFTER_OUTAGE) -> None:
        """Everything can be stored and loaded again before long, and nothing is wrong meanwhile."""
        until = time.monotonic() + max(RECOVERY, 2 * self.wait)
        while True:
            try:
                tally = book.check(plugin)
                missing = [key for key in book.keys if key not in book.present]
                wrong = [fault for fault in tally.faults if fault.kind == "wrong"]
                if wrong:
                    self.judge.fail(f"after the backend was back: {wrong[0].words}", cite=cites["wrong"])
                if not missing:
                    return
                book.storing(missing)
                if plugin.store([book.object(key) for key in missing]).ok:
                    book.stored(missing, ok=True)
            except ClientFailure as failure:
                self.judge.fail(f"after the backend was back: {FAULTS['dead']}: {failure}", cite=cites["dead"])
            if time.monotonic() > until:
                self.judge.fail(
                    f"{max(RECOVERY, 2 * self.wait):g} s after the backend was back {len(missing)} of {len(book.keys)} objects "
                    "could not be stored and loaded",
                    cite=cites["unhealed"],
                )
            time.sleep(BEAT)


def stores_until_one_is_refused(plugin: Plugin, keys: L2Keys, wait: float) -> tuple[int, int]:
    """Submit stores until one is refused at once, or there are very many: how many were submitted, and how many refused.

    All are made from one piece of memory. A failure counts as a refusal if it came long before the wait was over.

    Raises:
        PluginRaised: a submit raised an exception.
    """
    memory = plugin.buffers([content("backlog", SHARE)])
    sent: dict[int, Submitted] = {}
    refused = 0
    while len(sent) < MOST and not refused:
        steps = [plugin.step("submit_store", keys=[key], buffers=memory) for key in keys.some(ROUND)]
        answers = plugin.together({"server": steps})["server"]
        raised = [answer["text"] for answer in answers if answer.get("failed") == "raised"]
        if raised:
            raise PluginRaised(raised[0])
        sent |= {answer["id"]: Submitted.of(answer) for answer in answers if "id" in answer}
        drained = plugin.drain().completions
        refused = sum(not one.ok and one.id in sent and one.at - sent[one.id].at < wait / 2 for one in drained)
    return len(sent), refused


@contextlib.contextmanager
def outage(judge: Judge, plugins: PluginSession, keys: L2Keys) -> Iterator[Outage]:
    """An outage after which the backend is up, quick and willing."""
    found = Outage(judge, plugins, keys)
    try:
        yield found
    finally:
        plugins.end_plugins()
        found.backend.start()
        if found.backend.can("slow"):
            found.backend.slow(0)
        if found.backend.can("refuse"):
            found.backend.refuse(on=False)
