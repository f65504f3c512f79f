"""A storage plugin that passes everything on to another one, and misbehaves while a file names a fault.

It runs inside a real server, by that server's interpreter: it uses the standard library alone.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Completion = tuple[Any, ...]
Operation = str
"""``set``, ``get``, ``exists`` or ``delete``."""
BLOCKED = 1.5
"""Seconds for which a submit blocks."""
LATE = 0.4
"""Seconds after its completion at which a load still writes."""


class PluginError(RuntimeError):
    """What a faulty call raises."""


class Faulty:
    """A ``native_plugin`` around another; the file ``switch`` holds the name of the fault that is on, or nothing."""

    def __init__(self, *, switch: str, module: str, class_name: str, params: Mapping[str, Any], journal: str = "") -> None:
        self._switch = Path(switch)
        self._journal = Path(journal) if journal else None
        fault = self.fault
        if fault == "constructor-raises":
            raise PluginError(fault)
        if fault == "constructor-ends-the-thread":
            raise SystemExit(fault)
        self._inner = getattr(importlib.import_module(module), class_name)(**params)
        self._operations: dict[int, tuple[Operation, list[Any]]] = {}
        self._lock = threading.Lock()
        self._silent = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if fault == "fd-silent" else None
        self._given = os.dup(self._inner.event_fd())
        self._closed_early = False
        if not callable(getattr(self._inner, "submit_batch_delete", None)):
            self.submit_batch_delete = None  # type: ignore[method-assign, assignment]

    @property
    def fault(self) -> str:
        """The name of the fault that is on."""
        with contextlib.suppress(OSError):
            return self._switch.read_text()
        return ""

    def event_fd(self) -> int:
        """The descriptor of the other plugin, once more, so that it can be closed without harm to that."""
        if self.fault == "event-fd-raises":
            raise PluginError("event-fd-raises")
        return self._given if self._silent is None else self._silent

    def submit_batch_get(self, keys: Sequence[str], buffers: Sequence[Any]) -> Any:
        """A load."""
        return self._submitted("get", keys, buffers)

    def submit_batch_set(self, keys: Sequence[str], buffers: Sequence[Any]) -> Any:
        """A store."""
        return self._submitted("set", keys, buffers)

    def submit_batch_exists(self, keys: Sequence[str]) -> Any:
        """A lookup."""
        return self._submitted("exists", keys)

    def submit_batch_delete(self, keys: Sequence[str]) -> Any:
        """A deletion; None in the place of this method where the other plugin has none."""
        return self._submitted("delete", keys)

    def drain_completions(self) -> Any:
        """The completions of the other plugin, spoiled."""
        fault = self.fault
        if fault == "drain-raises":
            self._inner.drain_completions()
            raise PluginError(fault)
        if fault == "drain-ends-the-thread":
            raise SystemExit(fault)
        found = [tuple(each) for each in self._inner.drain_completions()]
        if fault == "drain-gives-none":
            return None
        if fault == "fd-not-cleared":
            os.eventfd_write(self._given, 1)
        return [each for one in found for each in self._spoiled(fault, one)]

    def close(self) -> None:
        """Close the other plugin, unless the fault is that."""
        fault = self.fault
        self._write_down("close", ())
        if fault == "close-raises":
            raise PluginError(fault)
        if fault == "close-ends-the-process":
            os._exit(9)
        if fault == "close-hangs":
            threading.Event().wait()
        self._inner.close()
        if not self._closed_early:
            os.close(self._given)

    def _submitted(self, operation: Operation, keys: Sequence[str], *buffers: Sequence[Any]) -> Any:
        fault = self.fault
        self._write_down(operation, keys, *buffers)
        if fault == f"{operation}-raises":
            raise PluginError(fault)
        if fault == f"{operation}-ends-the-thread":
            raise SystemExit(fault)
        if fault == f"{operation}-blocks":
            time.sleep(BLOCKED)
        if fault == "fd-closed" and not self._closed_early:
            self._closed_early = True
            os.close(self._given)
        with self._lock:
            known = getattr(self._inner, f"submit_batch_{operation}")(keys, *buffers)
            self._operations[known] = (operation, list(*buffers))
        if fault == f"{operation}-gives-no-id":
            return None
        return known

    def _write_down(self, operation: Operation, keys: Sequence[str], buffers: Sequence[Any] = ()) -> None:
        """Add a line to the journal: what was called, by which thread, with which keys, and what memory is like."""
        if self._journal is None:
            return
        views = [(view.format, view.ndim, view.readonly, view.nbytes) for view in (memoryview(one) for one in buffers)]
        line = {"op": operation, "thread": threading.current_thread().name, "keys": list(keys), "memory": views}
        with self._journal.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _spoiled(self, fault: str, completion: Completion) -> list[Completion]:
        with self._lock:
            operation, buffers = self._operations.pop(completion[0], ("", []))
        spoil = _SPOILED.get(fault.removeprefix(f"{operation}-")) if fault.startswith(f"{operation}-") else _ANY.get(fault)
        return [completion] if spoil is None else spoil(completion, buffers)


def _flipped(completion: Completion, buffers: Sequence[Any]) -> list[Completion]:
    for buffer in buffers:
        view = memoryview(buffer).cast("B")
        view[len(view) // 2] ^= 0x40
    return [completion]


def _written_late(completion: Completion, buffers: Sequence[Any]) -> list[Completion]:
    def write() -> None:
        for buffer in buffers:
            view = memoryview(buffer).cast("B")
            view[:] = b"\xdb" * len(view)

    threading.Timer(LATE, write).start()
    return [completion]


def _answered(ok: bool, found: Callable[[Any], Any]) -> Callable[[Completion, Sequence[Any]], list[Completion]]:
    return lambda completion, _: [(completion[0], ok, "" if ok else "not ok", found(completion[3]))]


_SPOILED: Mapping[str, Callable[[Completion, Sequence[Any]], list[Completion]]] = {
    "never-completes": lambda _completion, _buffers: [],
    "completes-twice": lambda completion, _: [completion, completion],
    "is-not-ok": _answered(False, lambda _: None),
    "result-too-short": _answered(True, lambda found: list(found or ())[:-1]),
    "result-too-long": _answered(True, lambda found: [*(found or ()), True, True]),
    "result-missing": _answered(True, lambda _: None),
    "not-ok-with-results": _answered(False, lambda found: found),
    "finds-all": _answered(True, lambda found: [True] * len(found or ())),
    "damages": _flipped,
    "writes-late": _written_late,
}
"""Faults in the completion of one operation, whose name is put before."""

_ANY: Mapping[str, Callable[[Completion, Sequence[Any]], list[Completion]]] = {
    "unknown-id-besides": lambda completion, _: [(completion[0] + 1_000_000, True, "", None), completion],
    "id-is-text": lambda completion, _: [(str(completion[0]), *completion[1:])],
    "id-is-none": lambda completion, _: [(None, *completion[1:])],
    "completion-of-three": lambda completion, _: [completion[:3]],
}
