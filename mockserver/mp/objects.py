"""The server's first tier: objects with write locks and read locks.

Until 0.5.5 an object is there from the moment of its reservation, locked; from 0.5.6 on it stands apart until it is committed,
and of two that were written for one key the first that is committed stays. Source: ``lmcache.v1.distributed.l1_manager``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from mockserver.mp import behaviour
from mockserver.mp.events import EventLog
from mockserver.mp.pool import Places, Pool, PoolFullError
from wire.mp.objects import ObjectKey
from wire.release import Release

Clock = Callable[[], float]


@dataclass(frozen=True)
class Layout:
    """Shape and dtype of the objects of a model."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def length(self) -> int:
        """Bytes of one object."""
        return prod(self.shape) * behaviour.DTYPES[self.dtype]


@dataclass
class Lock:
    """A counter that is over after a while."""

    seconds: float
    clock: Clock
    count: int = 0
    until: float = 0.0

    @property
    def held(self) -> bool:
        """Whether anybody holds it."""
        return self.count > 0 and self.clock() < self.until

    def take(self, times: int = 1) -> None:
        """Lock once more."""
        self.count = (self.count if self.held else 0) + times
        self.until = self.clock() + self.seconds

    def release(self, times: int = 1) -> None:
        """Unlock; more often than it was locked changes nothing."""
        self.count = max(0, self.count - times)


@dataclass
class StoredObject:
    """One object and its place in the pool."""

    offset: int
    layout: Layout
    write: Lock
    read: Lock

    @property
    def length(self) -> int:
        """Bytes."""
        return self.layout.length


@dataclass
class _Tables:
    resident: dict[ObjectKey, StoredObject] = field(default_factory=dict)
    staged: dict[ObjectKey, StoredObject] = field(default_factory=dict)
    order: dict[ObjectKey, None] = field(default_factory=dict)
    """The longest unused first."""


class ObjectStore:
    """Objects by key; the caller holds the lock of the server."""

    def __init__(self, release: Release, pool: Pool, events: EventLog, clock: Clock = time.monotonic) -> None:
        self.pool = pool
        self._events = events
        self._places = Places(pool.size)
        self._staging = behaviour.STAGED[release]
        self._clock = clock
        self._tables = _Tables()

    def reserve_write(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
        """Places for new objects; a key that is taken gets none, and where not all fit, none gets one."""
        tables = self._tables
        found: dict[ObjectKey, StoredObject] = {}
        missing = []
        for key in dict.fromkeys(keys):
            staged = tables.staged.get(key)
            if key in tables.resident or (staged is not None and staged.write.held):
                continue
            if staged is not None:
                staged.write.take()
                found[key] = staged
            else:
                missing.append(key)
        try:
            offsets = self._places.take(layout.length, len(missing)) if missing else []
        except PoolFullError:
            return found
        for key, offset in zip(missing, offsets, strict=True):
            write, read = Lock(behaviour.WRITE_SECONDS, self._clock), Lock(behaviour.READ_SECONDS, self._clock)
            write.take()
            found[key] = StoredObject(offset, layout, write, read)
            (tables.staged if self._staging else tables.resident)[key] = found[key]
        self._used(found)
        return found

    def finish_write(self, keys: Iterable[ObjectKey]) -> list[ObjectKey]:
        """Commit objects; those that are."""
        done = []
        for key in keys:
            if self._staging:
                staged = self._tables.staged.get(key)
                if staged is None or not staged.write.held:
                    continue
                del self._tables.staged[key]
                staged.write.release()
                if key in self._tables.resident:
                    self._places.give_back(staged.offset, staged.length)
                    continue
                self._tables.resident[key] = staged
            else:
                entry = self._tables.resident.get(key)
                if entry is None or not entry.write.held or entry.read.held:
                    continue
                entry.write.release()
            done.append(key)
        self._used(done)
        self._events.stored(done)
        return done

    def reserve_read(self, keys: Iterable[ObjectKey], locks: int) -> list[bool]:
        """Lock each key that can be read; which those are."""
        found = []
        for key in keys:
            entry = self._tables.resident.get(key)
            readable = entry is not None and not entry.write.held
            if entry is not None and readable:
                entry.read.take(_clamped(locks))
            found.append(readable)
        return found

    def read_locked(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, StoredObject]:
        """The objects among the keys that somebody locked for reading."""
        pairs = ((key, self._tables.resident.get(key)) for key in keys)
        return {key: entry for key, entry in pairs if entry is not None and entry.read.held}

    def finish_read(self, keys: Iterable[ObjectKey], locks: int = 1) -> None:
        """Give read locks back; a key that is not locked is left alone."""
        for key in keys:
            entry = self._tables.resident.get(key)
            if entry is not None and entry.read.held and not entry.write.held:
                entry.read.release(_clamped(locks))

    def touch(self, keys: Iterable[ObjectKey]) -> None:
        """Make keys the last to be evicted."""
        self._used([key for key in keys if key in self._tables.order])

    def clear(self, *, force: bool) -> None:
        """Remove all objects; without force, those that are locked stay."""
        for table in (self._tables.resident, self._tables.staged):
            going = [(key, entry) for key, entry in table.items() if force or not (entry.read.held or entry.write.held)]
            for key, entry in going:
                del table[key]
                self._drop(key, entry)
            if table is self._tables.resident:
                self._events.removed(key for key, _ in going)

    def lose(self, keys: Iterable[ObjectKey]) -> None:
        """Remove objects, whoever has locked them."""
        going = {key: self._tables.resident.pop(key) for key in keys if key in self._tables.resident}
        for key, entry in going.items():
            self._drop(key, entry)
        self._events.removed(going)

    def evict(self) -> list[ObjectKey]:
        """Remove a share of the objects where too much of the pool is used; their keys."""
        if self._places.used < behaviour.WATERMARK * self.pool.size or not self._tables.order:
            return []
        target = max(1, int(len(self._tables.order) * behaviour.EVICTED_SHARE))
        going = [key for key in self._tables.order if self._evictable(key)][:target]
        resident = [key for key in going if key not in self._tables.staged]
        for key in going:
            entry = self._tables.staged.pop(key, None) or self._tables.resident.pop(key)
            self._drop(key, entry)
        self._events.removed(resident)
        return going

    def offset_of(self, key: ObjectKey) -> tuple[int, int] | None:
        """Offset and length of an object that is there."""
        entry = self._tables.resident.get(key)
        return None if entry is None else (entry.offset, entry.length)

    @property
    def keys(self) -> list[ObjectKey]:
        """The keys that can be found, in the order of their reservation."""
        return [key for key, entry in self._tables.resident.items() if not entry.write.held]

    def locks(self, key: ObjectKey) -> int:
        """How many read locks an object has; 0 where it is not there."""
        entry = self._tables.resident.get(key)
        return entry.read.count if entry is not None and entry.read.held else 0

    def data(self, key: ObjectKey) -> bytes:
        """The bytes of an object.

        Raises:
            KeyError: it is not there.
        """
        entry = self._tables.resident[key]
        return self.pool.read(entry.offset, entry.length)

    def status(self) -> dict[str, Any]:
        """The counts as ``/status`` of the real server has them below ``storage_manager.l1_manager``."""
        resident, staged = self._tables.resident.values(), self._tables.staged.values()
        found: dict[str, Any] = {
            "total_object_count": len(resident) + len(staged),
            "write_locked_count": sum(entry.write.held for entry in (*resident, *staged)),
            "read_locked_count": sum(entry.read.held for entry in resident),
            "temporary_count": 0,
            "memory_used_bytes": self._places.used,
            "memory_total_bytes": self.pool.size,
        }
        if self._staging:
            found["staging_object_count"] = len(staged)
            found["staging_bytes"] = sum(entry.length for entry in staged)
        return found

    def _used(self, keys: Iterable[ObjectKey]) -> None:
        for key in reversed(list(keys)):
            self._tables.order.pop(key, None)
            self._tables.order[key] = None

    def _evictable(self, key: ObjectKey) -> bool:
        entry = self._tables.staged.get(key) or self._tables.resident.get(key)
        return entry is not None and not (entry.write.held or entry.read.held)

    def _drop(self, key: ObjectKey, entry: StoredObject) -> None:
        self._places.give_back(entry.offset, entry.length)
        if key not in self._tables.resident and key not in self._tables.staged:
            self._tables.order.pop(key, None)


def _clamped(locks: int) -> int:
    return min(max(locks, 1), behaviour.MOST_READ_LOCKS)
