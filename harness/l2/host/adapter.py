"""An adapter of kind ``plugin``, a subclass of lmcache's own interface, used as the real server does (``storage_controllers``).

Results are asked for when the descriptor of their operation was ready and was consumed, and at no other time: what is there
without that, the server never sees. What touches lmcache itself is in ``fixturegen/probes/l2``, whose modules are imported by
the path that the harness gives.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import sys
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .buffers import Buffer, Buffers
from .driver import Command, Driver, PluginError, Result, call, describe, pollable, shown, whole
from .pump import Pump
from .slots import Slot, Slots

BUILTIN = "lmcache"
"""Named as the module of an adapter that lmcache ships."""
OPERATIONS = ("store", "lookup", "load")
DESCRIPTORS = {"store": "get_store_event_fd", "lookup": "get_lookup_and_lock_event_fd", "load": "get_load_event_fd"}
QUERIES = {"lookup": "query_lookup_and_lock_result", "load": "query_load_result"}
PARTS = "lmconform_l2_lmcache"
PAGES = 1000
"""A listing that is longer never ends."""


class Real:
    """The modules that touch lmcache, and what the release means by its interface."""

    def __init__(self, folder: str, interface: Mapping[str, str]) -> None:
        self.making, memory, self.keys, self.listening = _parts(folder)
        self.layout_of: Callable[[int], Any] = memory.layout_of
        self.memory: Any = memory.Memory()
        self.interface = interface


def _parts(folder: str) -> list[Any]:
    package = types.ModuleType(PARTS)
    package.__path__ = [folder]
    sys.modules.setdefault(PARTS, package)
    return [importlib.import_module(f"{PARTS}.{name}") for name in ("making", "memory", "keys", "listening")]


def warm(module: str, name: str, options: Mapping[str, Any]) -> None:
    """Import what an adapter needs of lmcache, and nothing of the adapter itself unless it is one of lmcache."""
    making, *_ = _parts(options["lmcache"])
    making.load(name if module == BUILTIN else making.PLUGIN)


class Adapter(Driver):
    """One instance of such an adapter."""

    kind = "plugin"
    real: Real | None = None

    def __init__(self, plugin: Any, buffers: Buffers) -> None:
        super().__init__(plugin, buffers)
        assert Adapter.real is not None
        self._real = Adapter.real
        self._pumps = {name: Pump(self, name) for name in OPERATIONS}
        self._listener: Any = None
        if callable(getattr(plugin, "register_listener", None)):
            self._listener = self._real.listening.Listener(self._real.keys.written)
            call("register_listener", plugin.register_listener, self._listener)

    @staticmethod
    def prepare(
        module: str, name: str, options: Mapping[str, Any], load: Callable[[str, str], Any]
    ) -> tuple[Callable[..., Any], Buffers]:
        """What makes an adapter from its parameters, and where the objects lie that it is given; ``load`` imports a class.

        Raises:
            PluginError: there is no such class or adapter.
        """
        try:
            Adapter.real = real = Real(options["lmcache"], options["interface"])
            if module == BUILTIN:
                return real.making.builtin(name, real.memory), Slots(real.memory)
        except (ImportError, LookupError) as error:
            raise PluginError("missing", describe(error)) from error
        found = load(module, name)
        return real.making.plugin(found.__module__, name, real.memory), Slots(real.memory)

    @property
    def commands(self) -> Mapping[str, Command]:
        """Those of the contract, one by one."""
        return {
            "descriptors": self.descriptors,
            "submit_store": self.submit_store,
            "submit_load": self.submit_load,
            "submit_lookup": self.submit_lookup,
            "unlock": self.unlock,
            "remove": self.remove,
            "ready": self.ready,
            "consume": self.consume,
            "pop_stores": self.pop_stores,
            "query": self.query,
            "finish": self.finish,
            "events": self.events,
            "listing": self.listing,
            "status": self.status,
        }

    def offers(self) -> list[str]:
        """Which of the optional methods the class has of its own, and what the interface does for it."""
        asked = self._real.interface["usage"]
        own = {
            "delete": self._overrides("delete"),
            "usage": asked == "bytes" or (asked == "pair" and self._overrides("get_usage")),
            "statistics": callable(getattr(self.plugin, "statistics", None)),
            "corrupt": callable(getattr(self.plugin, "lmconform_corrupt", None)),
            "listing": self._overrides("list_l2_keys"),
            "listeners": self._listener is not None,
        }
        return [name for name, there in own.items() if there]

    # One by one

    def descriptors(self) -> Result:
        """What the three methods give now, and what kind of thing that is."""
        given = {name: call(method, getattr(self.plugin, method)) for name, method in DESCRIPTORS.items()}
        return {
            name: {"descriptor": one if isinstance(one, int) else None, "type": type(one).__name__, "shown": shown(one)}
            for name, one in given.items()
        }

    def submit_store(self, keys: Sequence[str], buffers: Sequence[int]) -> Result:
        """Begin to store."""
        return self._submit("submit_store_task", self._keys(keys), _objects(self.buffers.get(buffers)))

    def submit_load(self, keys: Sequence[str], buffers: Sequence[int]) -> Result:
        """Begin to load."""
        return self._load(keys, self.buffers.get(buffers))

    def submit_lookup(self, keys: Sequence[str], size: int = 4096) -> Result:
        """Begin to look up and lock; ``size`` is that of the objects, of which recent releases tell the adapter."""
        parsed = self._keys(keys)
        submitted = self._submit("submit_lookup_and_lock_task", parsed, *self._layouts(parsed, size))
        self._pumps["lookup"].begin(submitted["id"])
        return submitted

    def unlock(self, keys: Sequence[str]) -> Result:
        """Take locks back."""
        began = time.monotonic()
        call("submit_unlock", self.plugin.submit_unlock, self._keys(keys))
        return {"seconds": time.monotonic() - began}

    def remove(self, keys: Sequence[str]) -> Result:
        """``delete``, which waits for its end by itself."""
        if not callable(getattr(self.plugin, "delete", None)):
            raise PluginError("missing", "the adapter has no delete")
        began = time.monotonic()
        call("delete", self.plugin.delete, self._keys(keys))
        return {"seconds": time.monotonic() - began}

    def ready(self, operation: str, timeout: float) -> Result:
        """Wait for a descriptor; it is not consumed."""
        began = time.monotonic()
        poller = select.poll()
        poller.register(self._descriptor(operation), select.POLLIN)
        events = [mask for _, mask in poller.poll(timeout * 1000)]
        return {
            "ready": any(mask & select.POLLIN for mask in events),
            "broken": any(mask & (select.POLLNVAL | select.POLLERR) for mask in events),
            "seconds": time.monotonic() - began,
        }

    def consume(self, operation: str) -> Result:
        """Read a descriptor once, as the server does before it asks for results."""
        descriptor = self._descriptor(operation)
        try:
            os.set_blocking(descriptor, False)
            return {"bytes": len(os.read(descriptor, 8))}
        except BlockingIOError:
            return {"bytes": 0}

    def pop_stores(self) -> Result:
        """Stores that are complete."""
        given = call("pop_completed_store_tasks", self.plugin.pop_completed_store_tasks)
        try:
            items = list(given.items())
        except BaseException:  # noqa: BLE001  # whatever the server would stumble over
            raise PluginError("contract", f"pop_completed_store_tasks gave {shown(given)}; it must be a map") from None
        return {"type": type(given).__name__, "stores": [self._verdict(number, result) for number, result in items]}

    def query(self, operation: str, number: int) -> Result:
        """What a lookup or load gave; ``result`` is None as long as it is not complete."""
        name = QUERIES[operation]
        return {"result": _bits(call(name, getattr(self.plugin, name), number), name)}

    def finish(self, operation: str, number: int, timeout: float) -> Result:
        """Wait for one task as the server does: its descriptor, and then the question."""
        return self._pumps[operation].wait(number, timeout)

    def events(self) -> Result:
        """What listeners were told since the last question."""
        if self._listener is None:
            raise PluginError("missing", "this release has no listeners")
        return {"events": self._listener.take()}

    def status(self) -> Result:
        """What ``report_status`` gives; the server makes JSON of it."""
        given = call("report_status", self.plugin.report_status)
        try:
            return {"status": json.loads(json.dumps(given))}
        except (TypeError, ValueError, RecursionError) as error:
            raise PluginError("contract", f"report_status gave {shown(given)}, of which no JSON can be made: {error}") from None

    def listing(self, page_size: int, model: str | None = None) -> Result:
        """All keys with their sizes, page by page."""
        if not self._overrides("list_l2_keys"):
            raise PluginError("missing", "the adapter has no list_l2_keys of its own")
        pages: list[Any] = []
        cursor = None
        while len(pages) < PAGES:
            page = call("list_l2_keys", self.plugin.list_l2_keys, model, page_size, cursor)
            pages.append([[self._real.keys.written(one.key.to_object_key()), one.size_bytes] for one in page.entries])
            cursor = page.next_cursor
            if cursor is None:
                return {"pages": pages}
        raise PluginError("contract", f"list_l2_keys came to no end within {PAGES} pages")

    # What both kinds can do

    def store(self, keys: Sequence[str], buffers: Sequence[Buffer], timeout: float) -> Result:
        """Store, and wait for the verdict; the server makes no batches without keys."""
        if not keys:
            return {"ok": True, "error": ""}
        submitted = self._submit("submit_store_task", self._keys(keys), _objects(buffers))
        ended = self._pumps["store"].wait(submitted["id"], timeout)
        return {"ok": ended["ok"], "error": "" if ended["ok"] else f"the task ended with {ended['shown']}"}

    def load(self, keys: Sequence[str], buffers: Sequence[Buffer], timeout: float) -> Result:
        """Look up and lock, load all of them whatever the lookup said, and unlock what was locked."""
        if not keys:
            return {"ok": True, "error": "", "found": []}
        until = time.monotonic() + timeout
        locked = self._looked_up(keys, timeout)
        submitted = self._load(keys, buffers)
        found = self._bitmap("load", submitted["id"], len(keys), max(0.0, until - time.monotonic()))
        self._let_go(keys, locked)
        return {"ok": True, "error": "", "found": found}

    def lookup(self, keys: Sequence[str], timeout: float) -> Result:
        """Look up and lock, and unlock what was found."""
        found = self._looked_up(keys, timeout)
        self._let_go(keys, found)
        return {"ok": True, "error": "", "found": found}

    def delete(self, keys: Sequence[str], timeout: float) -> Result:
        """Delete; the method has no verdict, and nobody can end it."""
        del timeout
        self.remove(keys)
        return {"ok": True, "error": "", "gone": None}

    def close(self) -> None:
        """Close the adapter."""
        call("close", self.plugin.close)

    def usage(self) -> Any:
        """``bytes``, ``capacity``, ``fraction`` and ``by_salt``; what the release does not tell is None."""
        if self._real.interface["usage"] == "none":
            return None
        given = call("get_usage", self.plugin.get_usage)
        if self._real.interface["usage"] == "pair":
            return {"bytes": None, "capacity": None, "fraction": float(given[0]), "by_salt": None}
        return {
            "bytes": given.total_bytes_used,
            "capacity": given.total_capacity_bytes,
            "fraction": float(given.usage_fraction),
            "by_salt": dict(given.bytes_by_cache_salt),
        }

    def statistics(self) -> Any:
        """What ``statistics()`` gives, if there is one; ``report_status`` is the state of an adapter, and counts nothing."""
        method = getattr(self.plugin, "statistics", None)
        return call("statistics", method) if callable(method) else None

    def corrupt(self, key: str, how: str) -> Any:
        """Damage what is stored under a key, by the adapter's own hook, which is given the text of the key."""
        return super().corrupt(key, how)

    def _load(self, keys: Sequence[str], buffers: Sequence[Buffer]) -> Result:
        submitted = self._submit("submit_load_task", self._keys(keys), _objects(buffers))
        self._pumps["load"].begin(submitted["id"])
        return submitted

    def _looked_up(self, keys: Sequence[str], timeout: float) -> list[bool]:
        return self._bitmap("lookup", self.submit_lookup(keys)["id"], len(keys), timeout) if keys else []

    def _let_go(self, keys: Sequence[str], locked: Sequence[bool]) -> None:
        held = [key for key, one in zip(keys, locked) if one]  # noqa: B905
        if held:
            self.unlock(held)

    def _bitmap(self, operation: str, number: int, count: int, timeout: float) -> list[bool]:
        bits: list[bool] = self._pumps[operation].wait(number, timeout)["bits"]
        if len(bits) != count:
            raise PluginError("contract", f"{QUERIES[operation]} of {count} keys gave a bitmap of {len(bits)} bits")
        return bits

    def _submit(self, name: str, *args: Any) -> Result:
        began = time.monotonic()
        number = call(name, getattr(self.plugin, name), *args)
        ended = time.monotonic()
        if not isinstance(number, int):
            raise PluginError("contract", f"{name} gave {shown(number)}; it must be a number")
        return {"id": whole(name, number), "type": type(number).__name__, "seconds": ended - began, "at": ended}

    def _verdict(self, number: Any, result: Any) -> Result:
        """One completed store, read as the server of the release reads it; ``broken`` where it would fail over it."""
        read: Result = {"id": number if isinstance(number, int) else None, "type": type(result).__name__, "shown": shown(result)}
        if self._real.interface["store_result"] == "flag":
            return {**read, "ok": bool(result), "bytes": None}
        try:
            return {**read, "ok": bool(result.is_successful()), "bytes": int(result.bytes_transferred())}
        except BaseException as error:  # noqa: BLE001  # whatever the server would stumble over
            return {**read, "ok": False, "bytes": None, "broken": describe(error)}

    def _descriptor(self, operation: str) -> int:
        name = DESCRIPTORS[operation]
        given = call(name, getattr(self.plugin, name))
        if not isinstance(given, int):
            raise PluginError("contract", f"{name} gave {shown(given)}; it must be a number")
        return pollable(name, given)

    def _keys(self, texts: Sequence[str]) -> list[Any]:
        return [self._real.keys.parsed(text) for text in texts]

    def _layouts(self, keys: Sequence[Any], size: int) -> tuple[Any, ...]:
        asked = self._real.interface["lookup"]
        if asked == "keys":
            return ()
        layout = self._real.layout_of(size)
        return (layout,) if asked == "layout" else ({key.object_group_id: layout for key in keys},)

    def _overrides(self, name: str) -> bool:
        """Whether the class has a method of its own in place of the interface's."""
        own = getattr(type(self.plugin), name, None)
        return own is not None and own is not getattr(self._real.making.L2AdapterInterface, name, None)


def _objects(buffers: Sequence[Buffer]) -> list[Any]:
    return [buffer.object for buffer in buffers if isinstance(buffer, Slot)]


def _bits(bitmap: Any, name: str) -> Result | None:
    """A bitmap of lmcache. Its text has one digit for each bit, in order; nothing else tells its length in every release."""
    if bitmap is None:
        return None
    text = str(bitmap)
    if not hasattr(bitmap, "test") or not set(text) <= {"0", "1"}:
        raise PluginError("contract", f"{name} gave {shown(bitmap)}; it must be a bitmap of lmcache, or None")
    return {"bits": [digit == "1" for digit in text], "type": type(bitmap).__name__}
