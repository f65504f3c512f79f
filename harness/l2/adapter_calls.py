"""The calls of kind ``plugin`` one by one, for cases about its contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from harness.l2.answers import Buffer, Readiness, Step, Submitted
from harness.l2.plugin_process import Plugin

Operation = Literal["store", "lookup", "load"]
OPERATIONS: Final[tuple[Operation, ...]] = ("store", "lookup", "load")


@dataclass(frozen=True)
class Descriptor:
    """What one of the three methods gave."""

    number: int | None
    """None unless it is an integer."""
    shown: str


@dataclass(frozen=True)
class Verdict:
    """What ``pop_completed_store_tasks`` says of one task."""

    id: int | None
    ok: bool
    bytes: int | None
    """None in releases that are not told."""
    type: str
    shown: str
    broken: str | None
    """What the server would stumble over."""

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Self:
        """From the host's answer."""
        return cls(members["id"], members["ok"], members["bytes"], members["type"], members["shown"], members.get("broken"))


@dataclass(frozen=True)
class Event:
    """What a listener was told."""

    what: Literal["stored", "accessed", "deleted"]
    keys: Sequence[str]
    sizes: Sequence[int] | None
    """Of stored keys from 0.4.7 on; else None."""


@dataclass(frozen=True)
class Usage:
    """What ``get_usage`` says; None for what the release does not tell."""

    bytes: int | None
    capacity: int | None
    fraction: float
    by_salt: Mapping[str, int] | None


class AdapterCalls:
    """The calls of an open adapter. ``timeout`` is in seconds and defaults to the time limit of a call."""

    def __init__(self, plugin: Plugin) -> None:
        self.plugin = plugin

    def descriptors(self) -> Mapping[Operation, Descriptor]:
        """What the three methods give now."""
        answer = self._ask("descriptors")
        return {name: Descriptor(answer[name]["descriptor"], answer[name]["shown"]) for name in OPERATIONS}

    def submit_store(self, keys: Sequence[str], buffers: Sequence[Buffer]) -> Submitted:
        """``submit_store_task``."""
        return Submitted.of(self._ask("submit_store", keys=list(keys), buffers=_numbers(buffers)))

    def submit_load(self, keys: Sequence[str], buffers: Sequence[Buffer]) -> Submitted:
        """``submit_load_task``."""
        return Submitted.of(self._ask("submit_load", keys=list(keys), buffers=_numbers(buffers)))

    def submit_lookup(self, keys: Sequence[str]) -> Submitted:
        """``submit_lookup_and_lock_task``, with the layouts that the release gives as well."""
        return Submitted.of(self._ask("submit_lookup", keys=list(keys)))

    def unlock(self, keys: Sequence[str]) -> float:
        """``submit_unlock``; the seconds that it took."""
        seconds: float = self._ask("unlock", keys=list(keys))["seconds"]
        return seconds

    def delete(self, keys: Sequence[str], *, timeout: float | None = None) -> float:
        """``delete``; the seconds that it took."""
        seconds: float = self._ask("remove", deadline=timeout, keys=list(keys))["seconds"]
        return seconds

    def ready(self, operation: Operation, timeout: float) -> Readiness:
        """Wait for a descriptor, without consuming it."""
        answer = self._ask("ready", deadline=timeout, operation=operation, timeout=timeout)
        return Readiness(answer["ready"], answer["broken"], answer["seconds"])

    def consume(self, operation: Operation) -> None:
        """Read a descriptor, as the server does before it asks for results."""
        self._ask("consume", operation=operation)

    def pop_stores(self) -> list[Verdict]:
        """``pop_completed_store_tasks``."""
        return [Verdict.of(members) for members in self._ask("pop_stores")["stores"]]

    def query(self, operation: Operation, number: int) -> list[bool] | None:
        """``query_lookup_and_lock_result`` or ``query_load_result``: the bits, or None."""
        result = self._ask("query", operation=operation, number=number)["result"]
        return None if result is None else list(result["bits"])

    def finish_store(self, submitted: Submitted, *, timeout: float | None = None) -> Verdict:
        """Wait for a store as the server does: its descriptor is ready, is consumed, and then results are popped."""
        return Verdict.of(self._finish("store", submitted, timeout))

    def finish(self, operation: Operation, submitted: Submitted, *, timeout: float | None = None) -> list[bool]:
        """Wait for a lookup or load as the server does; its bits."""
        return list(self._finish(operation, submitted, timeout)["bits"])

    def events(self) -> list[Event]:
        """What listeners were told since the last question."""
        return [Event(one["event"], tuple(one["keys"]), one.get("sizes")) for one in self._ask("events")["events"]]

    def usage(self) -> Usage:
        """``get_usage``."""
        return Usage(**self.plugin.usage())

    def status(self) -> Mapping[str, Any]:
        """``report_status``."""
        found: Mapping[str, Any] = self._ask("status")["status"]
        return found

    def listing(self, page_size: int, model: str | None = None) -> list[list[tuple[str, int]]]:
        """``list_l2_keys``: pages of keys and sizes."""
        return [[(key, size) for key, size in page] for page in self._ask("listing", page_size=page_size, model=model)["pages"]]

    def step(self, op: str, *, times: int = 1, buffers: Sequence[Buffer] | None = None, **args: Any) -> Step:
        """A step of a thread; see :meth:`Plugin.step`."""
        return self.plugin.step(op, times=times, buffers=buffers, **args)

    def _finish(self, operation: Operation, submitted: Submitted, timeout: float | None) -> dict[str, Any]:
        limit = self.plugin.limit(timeout)
        return self._ask("finish", deadline=limit, operation=operation, number=submitted.id, timeout=limit)

    def _ask(self, op: str, deadline: float | None = None, **args: Any) -> dict[str, Any]:
        return self.plugin.command(op, args, timeout=deadline)


def _numbers(buffers: Sequence[Buffer]) -> list[int]:
    return [buffer.number for buffer in buffers]
