"""The plugin as the server sees it: submits that return at once, a descriptor, completions."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.reference.l2.backlog import Backlog
from harness.reference.l2.batches import Batch, Kind
from harness.reference.l2.completions import Completion, Completions
from harness.reference.l2.damage import How, damage
from harness.reference.l2.folder import ObjectFolder
from harness.reference.l2.gateway.link import GatewayLink
from harness.reference.l2.keeper import Keeper
from harness.reference.l2.lanes import Crew, Lanes
from harness.reference.l2.leases import Lease, Leased, leased
from harness.reference.l2.outcomes import KEPT, Outcome, Statistics

MIB: Final = 2**20
YES: Final[Mapping[Kind, Outcome]] = MappingProxyType({"load": Outcome.LOADED, "look": Outcome.FOUND, "delete": Outcome.DELETED})
"""The outcome that a completion reports as True."""
UNDONE: Final[Mapping[Kind, Outcome]] = MappingProxyType(
    {"store": Outcome.DROPPED, "load": Outcome.UNAVAILABLE, "look": Outcome.UNAVAILABLE, "delete": Outcome.NOT_DELETED}
)
"""What became of the objects of a batch that was given up."""


class ReferencePlugin:
    """Keeps objects in a folder, or behind a gateway.

    Args:
        folder: Where the objects are; it is made if it is not there. Several processes of one machine may share it.
        gateway: ``HOST:PORT`` of a gateway that keeps the objects instead; empty for none. It need not be up.
        fragment_size: Bytes of a fragment.
        durable: Wait until the disk has what is stored before saying so; without, what was stored survives the end of the
            process but perhaps not that of the machine.
        threads: How many work at a time; the first of two or more never stores.
        backlog_objects: So many objects may wait to be stored; a batch beyond it is refused at once.
        backlog_bytes: So many bytes, likewise.
        wait: Seconds that a batch may wait for the gateway, counted from its submission (for stores from when it is their
            turn); what is not there by then is a miss.
        retry: Seconds for which a gateway that did not answer is taken to be down, and is not asked.
        close_wait: Seconds that ``close`` waits for what is under way.
    """

    __version__: Final = "1.0"
    """What reports call it by, with its name."""

    def __init__(
        self,
        *,
        folder: str = "",
        gateway: str = "",
        fragment_size: int = MIB // 4,
        durable: bool = True,
        threads: int = 4,
        backlog_objects: int = 4096,
        backlog_bytes: int = 1024 * MIB,
        wait: float = 2.0,
        retry: float = 0.2,
        close_wait: float = 2.0,
    ) -> None:
        for name, value in {"fragment_size": fragment_size, "threads": threads, "wait": wait, "close_wait": close_wait}.items():
            if value <= 0:
                raise ValueError(f"{name} is {value}; it must be more than 0")
        if not folder and not gateway:
            raise ValueError("neither folder nor gateway is given; the plugin needs a place for its objects")
        self._wait = wait
        self._durable = durable
        self._close_wait = close_wait
        self._numbers = itertools.count(1)
        self._statistics = Statistics()
        self._backlog = Backlog(objects=backlog_objects, size=backlog_bytes)
        self._under_way: set[Batch] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._folder = None if gateway else Path(folder)
        self._keeper = (
            self._open_gateway(gateway, retry=retry)
            if self._folder is None
            else self._open_folder(self._folder, fragment_size, durable=durable)
        )
        self._completions = self._open_completions()
        self._lanes = self._open_lanes()
        self._crew = Crew(self._lanes, self._work, threads=threads)

    @property
    def lmconform_durability(self) -> str:
        """What objects survive whose store has completed."""
        return "power" if self._folder is not None and self._durable else "process"

    def event_fd(self) -> int:
        """A descriptor that is readable while completions wait."""
        return self._completions.fileno()

    def submit_batch_set(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """Begin to store; the batch succeeds if every object of it can be loaded afterwards."""
        batch = self._batch("store", keys, buffers)
        if self._backlog.admit(len(batch.keys), batch.size):
            self._put(batch, urgent=False)
        else:
            self._statistics.count(Outcome.REJECTED, len(batch.keys))
            batch.end_lease()
            self._completions.add(batch.number, ok=False, error=f"the backlog is full: {self._backlog}")
        return batch.number

    def submit_batch_get(self, keys: Sequence[str], buffers: Sequence[memoryview]) -> int:
        """Begin to load; one boolean for each key says whether its buffer was written."""
        return self._put(self._batch("load", keys, buffers), urgent=True)

    def submit_batch_exists(self, keys: Sequence[str]) -> int:
        """Begin to look up; one boolean for each key."""
        return self._put(self._batch("look", keys), urgent=True)

    def submit_batch_delete(self, keys: Sequence[str]) -> int:
        """Begin to delete; one boolean for each key says whether it was there and is gone."""
        return self._put(self._batch("delete", keys), urgent=True)

    def drain_completions(self) -> list[Completion]:
        """What is finished since the last call."""
        return self._completions.drain()

    def statistics(self) -> dict[str, int]:
        """How many objects ended how since the plugin was opened, and what waits to be stored now."""
        return {**self._statistics.numbers(), **self._backlog.numbers()}

    def close(self) -> None:
        """End within ``close_wait``; what was not begun is given up, and no buffer is touched any more."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        end = time.monotonic() + self._close_wait
        for batch in self._lanes.close():
            self._give_up(batch, "the plugin was closed")
        self._keeper.interrupt()
        gone = self._crew.join(lambda: end - time.monotonic())
        with self._lock:
            stuck = list(self._under_way)
        for batch in stuck:
            batch.end_lease()
        if gone:
            self._keeper.close()
        self._completions.close()

    def lmconform_corrupt(self, key: str, how: How) -> bool:
        """Damage what is stored of a key ("flip", "truncate" or "delete"), for those who try what becomes of it.

        False if there is nothing, or nothing that this process can reach.
        """
        return self._folder is not None and damage(self._folder, key, how)

    def _open_folder(self, root: Path, fragment_size: int, *, durable: bool) -> Keeper:
        return ObjectFolder(root, fragment_size=fragment_size, durable=durable)

    def _open_gateway(self, address: str, *, retry: float) -> Keeper:
        return GatewayLink(address, retry=retry)

    def _open_completions(self) -> Completions:
        return Completions()

    def _open_lanes(self) -> Lanes[Batch]:
        return Lanes()

    def _batch(self, kind: Kind, keys: Sequence[str], buffers: Sequence[memoryview] = ()) -> Batch:
        if kind in {"store", "load"} and len(keys) != len(buffers):
            raise ValueError(f"a {kind} of {len(keys)} keys came with {len(buffers)} buffers; there must be one for each")
        if self._closed:
            raise RuntimeError("the plugin is closed")
        lease = Lease()
        return Batch(next(self._numbers), kind, list(keys), leased(lease, buffers), time.monotonic() + self._wait, lease)

    def _put(self, batch: Batch, *, urgent: bool) -> int:
        if not self._lanes.put(batch, urgent=urgent):
            self._give_up(batch, "the plugin was closed")
        return batch.number

    def _work(self, batch: Batch) -> None:
        """Everything that a thread does for a batch; it always ends with a completion."""
        with self._lock:
            self._under_way.add(batch)
        try:
            self._complete(batch, self._outcomes(batch))
        except Exception as error:  # noqa: BLE001  # a batch without a completion would be waited for until the server ends
            self._give_up(batch, f"{type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._under_way.discard(batch)

    def _outcomes(self, batch: Batch) -> list[Outcome]:
        if batch.kind == "store":
            until = time.monotonic() + self._wait
            return [self._store(key, buffer, until) for key, buffer in zip(batch.keys, batch.buffers, strict=True)]
        if batch.kind == "load":
            return [self._load(key, buffer, batch.until) for key, buffer in zip(batch.keys, batch.buffers, strict=True)]
        ask = self._keeper.look if batch.kind == "look" else self._keeper.delete
        return [ask(key, batch.until) for key in batch.keys]

    def _store(self, key: str, source: Leased, until: float) -> Outcome:
        return self._keeper.store(key, source, until)

    def _load(self, key: str, target: Leased, until: float) -> Outcome:
        return self._keeper.load(key, target, until)

    def _complete(self, batch: Batch, outcomes: Sequence[Outcome], error: str = "") -> None:
        """Tell what became of every object of a batch, when its buffers are out of our hands."""
        batch.end_lease()
        for outcome in outcomes:
            self._statistics.count(outcome)
        if batch.kind == "store":
            self._backlog.done(len(batch.keys), batch.size)
            lost = [outcome.value for outcome in outcomes if outcome not in KEPT]
            self._completions.add(batch.number, ok=not lost, error=error or ", ".join(sorted(set(lost))))
        else:
            each = [outcome is YES[batch.kind] for outcome in outcomes]
            self._completions.add(batch.number, ok=not error, error=error, each=each)

    def _give_up(self, batch: Batch, error: str) -> None:
        self._complete(batch, [UNDONE[batch.kind]] * len(batch.keys), error)
