"""A plugin of kind ``native_plugin``, used as the real server uses it (``native_connector_l2_adapter``).

Submits are made under one lock; one thread waits for the one descriptor and drains. Which completion belongs to what is told by
the number that the submit gave.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .buffers import Buffer, Buffers
from .driver import Command, Driver, PluginError, Result, call, describe, pollable, shown, whole

METHODS = ("event_fd", "submit_batch_get", "submit_batch_set", "submit_batch_exists", "drain_completions", "close")
"""What the server demands."""
DELETE = "submit_batch_delete"
_ROUND = 0.5
"""Seconds of one wait for the descriptor, as in the server."""
_BREATH = 0.001
"""Seconds between two drains of a descriptor that is ready while nothing comes; the server takes none."""


class Native(Driver):
    """One instance of such a plugin."""

    kind = "native_plugin"

    def __init__(self, plugin: Any, buffers: Buffers) -> None:
        super().__init__(plugin, buffers)
        self._lock = threading.Lock()
        self._arrived: dict[int, Result] = {}
        self._descriptor: int | None = None

    @property
    def commands(self) -> Mapping[str, Command]:
        """Those of the contract, one by one."""
        return {
            "event_fd": self.event_fd,
            "submit_store": self.submit_store,
            "submit_load": self.submit_load,
            "submit_lookup": self.submit_lookup,
            "submit_delete": self.submit_delete,
            "poll": self.poll,
            "drain": self.drain,
            "wait": self.wait,
            "collect": self.collect,
        }

    def offers(self) -> list[str]:
        """Which optional methods there are."""
        optional = {
            "delete": (DELETE,),
            "usage": ("get_usage",),
            "statistics": ("statistics", "report_status"),
            "corrupt": ("lmconform_corrupt",),
        }
        return [name for name, methods in optional.items() if any(callable(getattr(self.plugin, one, None)) for one in methods)]

    def lacks(self) -> list[str]:
        """Which of the methods are not there, over which the server would refuse to start."""
        return [name for name in METHODS if not callable(getattr(self.plugin, name, None))]

    def event_fd(self) -> Result:
        """What ``event_fd`` gives now, and what kind of thing that is."""
        given = call("event_fd", self._method("event_fd"))
        return {"descriptor": whole("event_fd", given), "type": type(given).__name__}

    def submit_store(self, keys: Sequence[str], buffers: Sequence[int]) -> Result:
        """Begin to store."""
        return self._submit("submit_batch_set", list(keys), self._views(buffers))

    def submit_load(self, keys: Sequence[str], buffers: Sequence[int]) -> Result:
        """Begin to load."""
        return self._submit("submit_batch_get", list(keys), self._views(buffers))

    def submit_lookup(self, keys: Sequence[str]) -> Result:
        """Begin to look up."""
        return self._submit("submit_batch_exists", list(keys))

    def submit_delete(self, keys: Sequence[str]) -> Result:
        """Begin to delete."""
        if not callable(getattr(self.plugin, DELETE, None)):
            raise PluginError("missing", f"the plugin has no {DELETE}")
        return self._submit(DELETE, list(keys))

    def poll(self, timeout: float) -> Result:
        """Wait for the descriptor."""
        if self._descriptor is None:
            self._descriptor = pollable("event_fd", self.event_fd()["descriptor"])
        assert self._descriptor is not None
        began = time.monotonic()
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        events = [mask for _, mask in poller.poll(timeout * 1000)]
        return {
            "ready": any(mask & select.POLLIN for mask in events),
            "broken": any(mask & (select.POLLNVAL | select.POLLERR) for mask in events),
            "seconds": time.monotonic() - began,
        }

    def drain(self) -> Result:
        """What is complete."""
        began = time.monotonic()
        given = call("drain_completions", self._method("drain_completions"))
        ended = time.monotonic()
        try:
            items = list(given)
        except BaseException:  # noqa: BLE001  # whatever the server would stumble over
            raise PluginError("contract", f"drain_completions gave {shown(given)}; it must be a list of tuples") from None
        return {
            "type": type(given).__name__,
            "completions": [{**_completion(item), "at": ended} for item in items],
            "seconds": ended - began,
            "at": ended,
        }

    def wait(self, ids: Sequence[int], timeout: float) -> Result:
        """The completions of some submits, in that order; others are kept until somebody waits for them."""
        until = time.monotonic() + timeout
        seen = _Seen()
        while any(number not in self._arrived for number in ids):
            self._round(seen, until)
            if time.monotonic() >= until and any(number not in self._arrived for number in ids):
                raise PluginError("hang", f"no completion within {timeout:g} s; {seen}")
        return {"completions": [self._arrived.pop(number) for number in ids]}

    def collect(self, count: int, timeout: float) -> Result:
        """Wait and drain, as the server's thread does, until so many completions came or the time is over."""
        until = time.monotonic() + timeout
        completions: list[Result] = []
        while len(completions) < count and time.monotonic() < until:
            if self.poll(max(0.0, min(_ROUND, until - time.monotonic())))["ready"]:
                completions += self.drain()["completions"]
        return {"completions": completions}

    def store(self, keys: Sequence[str], buffers: Sequence[Buffer], timeout: float) -> Result:
        """Store, and wait for the verdict."""
        ended = self._finish(self._submit("submit_batch_set", list(keys), [one.view() for one in buffers]), timeout)
        return {"ok": ended["ok"], "error": ended["error"]}

    def load(self, keys: Sequence[str], buffers: Sequence[Buffer], timeout: float) -> Result:
        """Load, and wait for what was found."""
        ended = self._finish(self._submit("submit_batch_get", list(keys), [one.view() for one in buffers]), timeout)
        found = ended["results"] if ended["results"] is not None else [ended["ok"]] * len(keys)
        return {"ok": ended["ok"], "error": ended["error"], "found": _for_each(keys, found, "get")}

    def lookup(self, keys: Sequence[str], timeout: float) -> Result:
        """Look up, and wait for the answer; where it is not ok, nothing is there."""
        ended = self._finish(self._submit("submit_batch_exists", list(keys)), timeout)
        known = ended["ok"] and ended["results"] is not None
        found = _for_each(keys, ended["results"], "exists") if known else [False] * len(keys)
        return {"ok": ended["ok"], "error": ended["error"], "found": found}

    def delete(self, keys: Sequence[str], timeout: float) -> Result:
        """Delete, and wait for the end."""
        ended = self._finish(self.submit_delete(keys), timeout)
        gone = ended["results"]
        return {"ok": ended["ok"], "error": ended["error"], "gone": None if gone is None else _for_each(keys, gone, "delete")}

    def close(self) -> None:
        """Close the plugin."""
        call("close", self._method("close"))

    def _method(self, name: str) -> Any:
        method = getattr(self.plugin, name, None)
        if not callable(method):
            raise PluginError("contract", f"the plugin has no method {name}; the server does not start with it")
        return method

    def _views(self, numbers: Sequence[int]) -> list[memoryview]:
        return [buffer.view() for buffer in self.buffers.get(numbers)]

    def _submit(self, name: str, *args: Any) -> Result:
        method = self._method(name)
        with self._lock:
            began = time.monotonic()
            number = call(name, method, *args)
            ended = time.monotonic()
        return {"id": whole(name, number), "type": type(number).__name__, "seconds": ended - began, "at": ended}

    def _finish(self, submitted: Result, timeout: float) -> Result:
        (ended,) = self.wait([submitted["id"]], timeout)["completions"]
        if "broken" in ended:
            raise PluginError("contract", ended["broken"])
        found: Result = ended
        return found

    def _round(self, seen: _Seen, until: float) -> None:
        if not self.poll(max(0.0, min(_ROUND, until - time.monotonic())))["ready"]:
            return
        seen.ready += 1
        try:
            completions = self.drain()["completions"]
        except PluginError as error:
            seen.error = str(error)
            time.sleep(_BREATH)
            return
        if not completions:
            time.sleep(_BREATH)
        for completion in completions:
            seen.came += 1
            if completion["id"] is None:
                raise PluginError("contract", completion["broken"])
            self._arrived.setdefault(completion["id"], completion)


class _Seen:
    """What came while somebody waited in vain."""

    def __init__(self) -> None:
        self.ready = 0
        self.came = 0
        self.error = ""

    def __str__(self) -> str:
        words = f"the descriptor was ready {self.ready} times, and {self.came} other completions came"
        return f"{words}; {self.error}" if self.error else words


def _completion(item: Any) -> Result:
    """One completion in plain words, read as the server reads it; ``broken`` where it would fail over it."""
    try:
        number, ok, error, results = item
        known, well = whole("drain_completions", number), bool(ok)
    except BaseException as problem:  # noqa: BLE001  # whatever the server would stumble over
        made = str(problem) if isinstance(problem, PluginError) else describe(problem)
        return {"id": None, "broken": f"drain_completions gave {shown(item)}, of which the server makes: {made}"}
    read: Result = {
        "id": known,
        "ok": well,
        "error": error if isinstance(error, str) else shown(error),
        "results": None,
        "types": [type(part).__name__ for part in (item, number, ok, error, results)],
        "shown": shown(item),
    }
    if results is not None:
        try:
            read["results"] = [bool(one) for one in results]
            read["result_types"] = sorted({type(one).__name__ for one in results})
        except BaseException as problem:  # noqa: BLE001  # whatever the server would stumble over
            read["broken"] = f"drain_completions gave {shown(item)}, of which the server makes: {describe(problem)}"
    return read


def _for_each(keys: Sequence[str], found: Sequence[bool], what: str) -> list[bool]:
    if len(found) != len(keys):
        raise PluginError("contract", f"{what} of {len(keys)} keys gave {len(found)} results; one for each key is needed")
    return list(found)
