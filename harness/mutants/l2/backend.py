"""Defects that show when the backend of a plugin is down, slow, restarted, empty or full."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from harness.mutants.marks import l2_mutant
from harness.reference.l2 import ReferencePlugin
from harness.reference.l2.backlog import Backlog
from harness.reference.l2.batches import Batch
from harness.reference.l2.gateway.link import GatewayDown, GatewayLink
from harness.reference.l2.keeper import Keeper
from harness.reference.l2.lanes import Lanes
from harness.reference.l2.leases import Leased, LeaseEnded
from harness.reference.l2.manifest import check
from harness.reference.l2.outcomes import Outcome


class OverLink(ReferencePlugin):
    """Talks to its gateway by a class of its own."""

    Link: ClassVar[type[GatewayLink]]

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        return self.Link(address, retry=retry)


@l2_mutant(
    "l2-waits-for-the-gateway",
    stands_for="A socket without a time limit.",
    found_by=("l2.backend.slow",),
)
class WaitsForTheGateway(OverLink):
    """Waits for an answer of the gateway as long as that takes."""

    class Link(GatewayLink):
        """Has all the time of the world."""

        def _ask(self, words: dict[str, Any], body: bytes, until: float) -> tuple[dict[str, Any], bytes]:
            return super()._ask(words, body, until + 3600)


@l2_mutant(
    "l2-connects-when-made",
    stands_for="A connection that the constructor makes, because a plugin without it is of no use.",
    found_by=("l2.backend.down-at-start",),
)
class ConnectsWhenMade(OverLink):
    """Cannot be opened while the gateway is down."""

    class Link(GatewayLink):
        """Connects at once."""

        def __init__(self, address: str, *, retry: float) -> None:
            super().__init__(address, retry=retry)
            self._idle.append(self._connection(time.monotonic() + 2)[0])


@l2_mutant(
    "l2-never-connects-again",
    stands_for="A flag that says that the gateway is down, and that nobody takes back.",
    found_by=("l2.backend.goes-down", "l2.backend.slow", "l2.backend.down-at-start"),
)
class NeverConnectsAgain(OverLink):
    """Takes a gateway that did not answer once for down until the plugin is opened anew."""

    class Link(GatewayLink):
        """Gives up."""

        def __init__(self, address: str, *, retry: float) -> None:
            super().__init__(address, retry=3600)
            del retry

        def _ask(self, words: dict[str, Any], body: bytes, until: float) -> tuple[dict[str, Any], bytes]:
            try:
                return super()._ask(words, body, until)
            except OSError:
                self._down_until = float("inf")
                raise


@l2_mutant(
    "l2-one-connection-for-ever",
    stands_for="A client library that is given a connected socket, and knows no way to make another.",
    found_by=("l2.backend.restarted", "l2.backend.goes-down"),
)
class KeepsOneConnection(OverLink):
    """Goes on asking over its first connection when that is broken."""

    class Link(GatewayLink):
        """Has one connection."""

        _only: socket.socket | None = None

        def _connection(self, until: float) -> tuple[socket.socket, bool]:
            if self._only is None:
                self._only = super()._connection(until)[0].dup()
            self._only.settimeout(max(0.01, until - time.monotonic()))
            return self._only.dup(), True


@l2_mutant(
    "l2-takes-late-answers",
    stands_for="A connection that is used again after a request on it ran out of time.",
    found_by=("l2.backend.late-answers",),
)
class TakesLateAnswers(OverLink):
    """Reads the late answer to an earlier request as that to the next one."""

    class Link(GatewayLink):
        """Keeps its one connection."""

        def __init__(self, address: str, *, retry: float) -> None:
            super().__init__(address, retry=0.0)
            del retry

        def _converse(
            self, connection: socket.socket, words: dict[str, Any], body: bytes, until: float
        ) -> tuple[dict[str, Any], bytes]:
            spare = connection.dup()
            try:
                reply = super()._converse(connection, words, body, until)
            except TimeoutError:
                with self._lock:
                    self._idle.append(spare)
                raise
            spare.close()
            return reply


@l2_mutant(
    "l2-submits-ask-the-gateway",
    stands_for="A look whether the gateway is there, made where it is cheapest to write.",
    found_by=("l2.backend.submits-do-not-wait[*-hanging]",),
)
class SubmitsAskTheGateway(ReferencePlugin):
    """Asks the gateway in the submit of a lookup."""

    def submit_batch_exists(self, keys: Sequence[str]) -> int:
        """Begin to look up, with the defect."""
        for key in keys[:1]:
            self._keeper.look(key, time.monotonic() + self._wait)
        return super().submit_batch_exists(keys)


@l2_mutant(
    "l2-submits-try-for-a-while",
    stands_for="Trying again a few times when the gateway cannot be reached, in the thread that submits.",
    found_by=("l2.backend.submits-do-not-wait[*-down]",),
)
class SubmitsTryForAWhile(ReferencePlugin):
    """Tries to reach the gateway for half a second before it takes a store."""

    def submit_batch_set(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """Begin to store, with the defect."""
        end = time.monotonic() + 0.5
        while self._folder is None and time.monotonic() < end:
            if self._keeper.look("", time.monotonic() + 0.1) is not Outcome.UNAVAILABLE:
                break
            time.sleep(0.05)
        return super().submit_batch_set(keys, buffers)


class _Endless(Backlog):
    """Admits everything."""

    def __init__(self) -> None:
        super().__init__(objects=2**62, size=2**62)


@l2_mutant(
    "l2-endless-backlog",
    stands_for="A queue without a limit.",
    found_by=("l2.backend.backlog",),
)
class EndlessBacklog(ReferencePlugin):
    """Takes every store, however many wait."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._backlog = _Endless()


class _OneLane(Lanes[Batch]):
    """First come, first served."""

    def put(self, work: Batch, *, urgent: bool) -> bool:
        del urgent
        return super().put(work, urgent=False)

    def take(self, *, urgent_only: bool = False) -> Batch | None:
        del urgent_only
        return super().take()


@l2_mutant(
    "l2-first-come-first-served",
    stands_for="One queue for everything.",
    found_by=("l2.backend.loads-ahead-of-stores", "l2.concurrency.loads-before-stores"),
)
class FirstComeFirstServed(ReferencePlugin):
    """Lets loads wait until all stores before them are done."""

    def _open_lanes(self) -> Lanes[Batch]:
        return _OneLane()


@l2_mutant(
    "l2-remembers-what-it-stored",
    stands_for="A set of stored keys that spares a question to the gateway.",
    found_by=("l2.backend.restarted-empty", "l2.backend.damaged[*"),
)
class RemembersWhatItStored(OverLink):
    """Takes an object that it stored once for stored, whatever the gateway lost since."""

    class Link(GatewayLink):
        """Keeps a set."""

        def __init__(self, address: str, *, retry: float) -> None:
            super().__init__(address, retry=retry)
            self._stored: set[str] = set()

        def store(self, key: str, source: Leased, until: float) -> Outcome:
            """Store an object, with the defect."""
            if key in self._stored:
                return Outcome.DEDUPLICATED
            outcome = super().store(key, source, until)
            if outcome is Outcome.STORED:
                self._stored.add(key)
            return outcome


@l2_mutant(
    "l2-refusals-unread",
    stands_for="A reply of which only the arrival counts.",
    found_by=("l2.backend.full",),
)
class ReadsNoRefusal(OverLink):
    """Takes every reply to a store for a yes."""

    class Link(GatewayLink):
        """Looks whether there is a reply."""

        def store(self, key: str, source: Leased, until: float) -> Outcome:
            """Store an object, with the defect."""
            try:
                data = source.piece(0, source.size)
                self._ask({"do": "store", "key": key, "check": check(data)}, data, until)
            except GatewayDown:
                return Outcome.SKIPPED
            except (OSError, LeaseEnded):
                return Outcome.DROPPED
            return Outcome.STORED


@l2_mutant(
    "l2-down-is-no-failure",
    stands_for="Best effort: a store that could not be made is nobody's concern.",
    found_by=("l2.backend.down-at-start", "l2.backend.goes-down"),
)
class DownIsNoFailure(ReferencePlugin):
    """Says that a store succeeded for which there was no gateway."""

    def _store(self, key: str, source: Leased, until: float) -> Outcome:
        outcome = super()._store(key, source, until)
        return Outcome.STORED if outcome in {Outcome.SKIPPED, Outcome.DROPPED} else outcome


@l2_mutant(
    "l2-closed-connection-is-an-end",
    stands_for="A reader that ends when the other side closes, with what it was asked for still on its list.",
    found_by=("l2.backend.goes-down-under-way",),
)
class LosesWhatIsUnderWay(ReferencePlugin):
    """Never completes a load that was under way when the gateway went away."""

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        if batch.kind == "load" and Outcome.UNAVAILABLE in outcomes:
            return
        super()._complete(batch, outcomes, error)
