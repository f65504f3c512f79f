"""The reference adapter: the same storage under the interface of kind ``plugin``, lmcache's own, in every release that has it.

It needs the real lmcache beside the standard library, and can be imported without, so that tables can name its classes.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import select
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from harness.reference.l2.plugin import ReferencePlugin

Operation = Literal["store", "lookup", "load"]
OPERATIONS: Final[tuple[Operation, ...]] = ("store", "lookup", "load")
DELETE_WAIT: Final = 10.0
"""Seconds for which a delete is waited for; the thread that evicts has other adapters to see to."""
JOIN_WAIT: Final = 5.0
_ROUND: Final = 500
"""Milliseconds of one wait of the thread that takes completions."""


def of_release(module: str, name: str) -> Any:
    """A name of lmcache; None where this release, or this interpreter, does not have it."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


L2AdapterInterface: Any = of_release("lmcache.v1.distributed.l2_adapters.base", "L2AdapterInterface") or object
L2StoreResult: Any = of_release("lmcache.v1.distributed.internal_api", "L2StoreResult")
Bitmap: Any = of_release("lmcache.lmcache_native", "Bitmap") or of_release("lmcache.native_storage_ops", "Bitmap")


def key_text(key: Any) -> str:
    """A key as a ``native_plugin`` is given it; the group is there from 0.4.7 on, the salt from 0.4.4 on."""
    parts = [key.model_name, f"{key.kv_rank:08x}"]
    if hasattr(key, "object_group_id"):
        parts.append(f"{key.object_group_id:x}")
    parts.append(key.chunk_hash.hex())
    if getattr(key, "cache_salt", ""):
        parts.append(key.cache_salt)
    return "@".join(parts)


def object_view(memory: Any) -> memoryview:
    """The bytes of an object; up to 0.4.3 its view includes what fills its slot up."""
    view: memoryview = memory.byte_array[: memory.get_size()]
    return view


@dataclass(frozen=True)
class Task:
    """What was begun and is not complete."""

    kind: Literal["store", "lookup", "load", "delete"]
    number: int
    keys: list[Any]
    sizes: list[int] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)


class ReferenceAdapter(L2AdapterInterface):  # type: ignore[misc]
    """Keeps objects as :class:`ReferencePlugin` does, and keeps count of locks, sizes and listeners.

    Args:
        params: Those of the reference plugin, and ``max_capacity_bytes``: how much may be stored before the server evicts,
            0 for no limit.
        l1_memory_desc: What the server says of its memory; nothing here needs it.
    """

    def __init__(self, params: Mapping[str, Any], l1_memory_desc: object = None) -> None:
        del l1_memory_desc
        rest = dict(params)
        self._capacity = int(rest.pop("max_capacity_bytes", 0))
        if "max_capacity_bytes" in inspect.signature(L2AdapterInterface.__init__).parameters:
            super().__init__(max_capacity_bytes=self._capacity)
        else:
            super().__init__()
        self._plugin = ReferencePlugin(**rest)
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._closed = False
        self._under_way: dict[int, Task] = {}
        self._results: dict[Operation, dict[int, Any]] = {operation: {} for operation in OPERATIONS}
        self._locks: Counter[Any] = Counter()
        self._doomed: set[Any] = set()
        self._sizes: dict[Any, int] = {}
        self._signals = {operation: os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) for operation in OPERATIONS}
        self._stop = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="l2-reference-adapter", daemon=True)
        self._thread.start()

    def get_store_event_fd(self) -> int:
        """Readable when a store is complete."""
        return self._signals["store"]

    def get_lookup_and_lock_event_fd(self) -> int:
        """Readable when a lookup is complete."""
        return self._signals["lookup"]

    def get_load_event_fd(self) -> int:
        """Readable when a load is complete."""
        return self._signals["load"]

    def submit_store_task(self, keys: list[Any], objects: list[Any]) -> int:
        """Begin to store."""
        views = [object_view(one) for one in objects]
        with self._lock:
            self._doomed.difference_update(keys)
            number = self._plugin.submit_batch_set([key_text(key) for key in keys], views)
            return self._begun(number, Task("store", next(self._numbers), list(keys), [len(view) for view in views]))

    def pop_completed_store_tasks(self) -> dict[int, Any]:
        """What became of the stores that are complete."""
        with self._lock:
            completed, self._results["store"] = self._results["store"], {}
        return completed

    def submit_lookup_and_lock_task(self, keys: list[Any], *_layouts: object) -> int:
        """Begin to look up and lock; recent releases tell the layout of the objects as well."""
        with self._lock:
            number = self._plugin.submit_batch_exists([key_text(key) for key in keys])
            return self._begun(number, Task("lookup", next(self._numbers), list(keys)))

    def query_lookup_and_lock_result(self, task_id: int) -> Any:
        """The bitmap of a lookup, once; else None."""
        return self._taken("lookup", task_id)

    def submit_unlock(self, keys: list[Any]) -> None:
        """Take one lock of each key back; what was to be deleted meanwhile is deleted with its last lock."""
        with self._lock:
            self._delete([key for key in keys if self._unlocked(key)])

    def submit_load_task(self, keys: list[Any], objects: list[Any]) -> int:
        """Begin to load."""
        views = [object_view(one) for one in objects]
        with self._lock:
            number = self._plugin.submit_batch_get([key_text(key) for key in keys], views)
            return self._begun(number, Task("load", next(self._numbers), list(keys)))

    def query_load_result(self, task_id: int) -> Any:
        """The bitmap of a load, once; else None."""
        return self._taken("load", task_id)

    def delete(self, keys: list[Any]) -> None:
        """Delete what is not locked, and wait for that; what is locked is deleted with its last lock."""
        with self._lock:
            locked = [key for key in keys if self._locks[key]]
            self._doomed.update(locked)
            task = self._delete([key for key in keys if not self._locks[key]])
        if task is not None:
            task.done.wait(DELETE_WAIT)

    def get_usage(self) -> Any:
        """As the release has it: what the interface counted, or a pair of fractions."""
        if L2StoreResult is not None or hasattr(self, "_bytes_by_cache_salt"):
            return super().get_usage()
        with self._lock:
            fraction = sum(self._sizes.values()) / self._capacity if self._capacity else -1.0
        return fraction, fraction

    def report_status(self) -> dict[str, Any]:
        """Whether it works, and what it counted."""
        with self._lock:
            locked = len(+self._locks)
        healthy = self._thread.is_alive() and not self._closed
        return {"is_healthy": healthy, "type": type(self).__name__, "locked_keys": locked, **self.statistics()}

    def statistics(self) -> dict[str, int]:
        """As :meth:`ReferencePlugin.statistics`."""
        return self._plugin.statistics()

    def close(self) -> None:
        """End, within the time that the plugin takes for that."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._plugin.close()
        os.eventfd_write(self._stop, 1)
        self._thread.join(JOIN_WAIT)
        for descriptor in (*self._signals.values(), self._stop):
            os.close(descriptor)

    def lmconform_corrupt(self, key: str, how: Literal["flip", "truncate", "delete"]) -> bool:
        """As :meth:`ReferencePlugin.lmconform_corrupt`."""
        return self._plugin.lmconform_corrupt(key, how)

    def _begun(self, number: int, task: Task) -> int:
        self._under_way[number] = task
        return task.number

    def _taken(self, operation: Operation, number: int) -> Any:
        with self._lock:
            return self._results[operation].pop(number, None)

    def _unlocked(self, key: Any) -> bool:
        """Take a lock of a key back, if it has one; whether it was the last of a key that is to be deleted."""
        if not self._locks[key]:
            return False
        self._locks[key] -= 1
        return not self._locks[key] and key in self._doomed

    def _delete(self, keys: list[Any]) -> Task | None:
        if not keys or self._closed:
            return None
        task = Task("delete", next(self._numbers), keys)
        self._doomed.difference_update(keys)
        self._begun(self._plugin.submit_batch_delete([key_text(key) for key in keys]), task)
        return task

    def _run(self) -> None:
        poller = select.poll()
        for descriptor in (self._plugin.event_fd(), self._stop):
            poller.register(descriptor, select.POLLIN)
        while not self._closed:
            poller.poll(_ROUND)
            self._drain()
        self._drain()

    def _drain(self) -> None:
        for number, ok, _, each in self._plugin.drain_completions():
            with self._lock:
                task = self._under_way.pop(number)
            if task.kind == "store":
                self._keep("store", task.number, self._stored(task, ok))
            elif task.kind == "delete":
                self._deleted(task, each or [])
            else:
                self._keep(task.kind, task.number, bitmap(self._found(task, each or [])))
            task.done.set()

    def _keep(self, operation: Operation, number: int, result: Any) -> None:
        """Have a result ready, and then say so: whoever asks too early does not ask again."""
        with self._lock:
            self._results[operation][number] = result
        self._tell(operation)

    def _tell(self, operation: Operation) -> None:
        if not self._closed:
            os.eventfd_write(self._signals[operation], 1)

    def _stored(self, task: Task, ok: bool) -> Any:
        fresh = {}
        if ok:
            with self._lock:
                fresh = {key: size for key, size in zip(task.keys, task.sizes, strict=True) if key not in self._sizes}
                self._sizes.update(fresh)
            self._notify("stored", list(fresh), list(fresh.values()))
        return store_result(ok, sum(fresh.values()))

    def _found(self, task: Task, each: Sequence[bool]) -> list[bool]:
        found = list(each)
        if task.kind == "load":
            self._notify_accessed([key for key, one in zip(task.keys, found, strict=True) if one])
            return found
        with self._lock:
            found = [one and key not in self._doomed for key, one in zip(task.keys, found, strict=True)]
            self._locks.update(key for key, one in zip(task.keys, found, strict=True) if one)
        return found

    def _deleted(self, task: Task, each: Sequence[bool]) -> None:
        with self._lock:
            gone = {key: self._sizes.pop(key, 0) for key, one in zip(task.keys, each, strict=True) if one}
        self._notify("deleted", list(gone), list(gone.values()))

    def _notify(self, what: Literal["stored", "deleted"], keys: list[Any], sizes: list[int]) -> None:
        """Tell the listeners; the interface has such a method from 0.4.3 on, which takes sizes from 0.4.5 on."""
        method = getattr(self, f"_notify_keys_{what}", None)
        if method is None or not keys:
            return
        method(*((keys, sizes) if "sizes" in inspect.signature(method).parameters else (keys,)))

    def _notify_accessed(self, keys: list[Any]) -> None:
        if keys and hasattr(self, "_notify_keys_accessed"):
            self._notify_keys_accessed(keys)


def bitmap(flags: Sequence[bool]) -> Any:
    """A bitmap of lmcache."""
    made = Bitmap(len(flags))
    for place, flag in enumerate(flags):
        if flag:
            made.set(place)
    return made


def store_result(ok: bool, size: int) -> Any:
    """What the release wants to know of a store: whether it succeeded, and from 0.4.6 on how many bytes were written."""
    return ok if L2StoreResult is None else L2StoreResult(ok, size)
