"""A storage plugin in a process of its own, as cases see it: calls that end, and answers as values.

Calls are made from one thread at a time; threads of the plugin's process are had by :meth:`Plugin.together`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from harness.l2.answers import (
    Buffer,
    Completion,
    Deleted,
    Drained,
    Loaded,
    Looked,
    Readiness,
    Resources,
    Step,
    Stored,
    Submitted,
)
from harness.l2.host import frames
from harness.l2.host_process import HostProcess, PluginRaised
from harness.l2.spec import Kind, PluginSpec

Durability = Literal["none", "process", "power"]
DURABILITIES: Final[tuple[Durability, ...]] = get_args(Durability)
"""What stored objects survive: nothing, the end of the process, or a loss of power."""


class Plugin:
    """An open instance of the plugin, as cases see it.

    The high-level calls wait for what they begin and are the same for both kinds; the others are for ``native_plugin``.
    ``timeout`` is in seconds and defaults to the time limit of a call.
    """

    def __init__(
        self,
        process: HostProcess,
        folder: Path,
        backend: str | None = None,
        *,
        instance: int = 0,
        watch: Watch | None = None,
    ) -> None:
        self._process = process
        self.folder = folder
        """Where its bytes lie, if its parameters name ``{dir}``."""
        self._backend = backend
        self._instance = instance
        self._numbers = itertools.count(instance + 1)
        self._watch = watch or _unwatched
        self._timeout = process.budget.call
        self._watch.process(process)
        params = process.spec.params_for(folder, backend)
        answer = self._ask("open", {"params": params}, deadline=process.budget.start)
        self.offers: Sequence[str] = tuple(answer["offers"])
        """What it has of ``delete``, ``usage``, ``statistics`` and ``corrupt``."""
        self.durability = _durability(answer["durability"], process.spec)
        """What objects survive whose store has completed."""
        self.lacks: Sequence[str] = tuple(answer["lacks"])
        """Methods that its kind demands and that it does not have."""

    @property
    def spec(self) -> PluginSpec:
        """What it was made from."""
        return self._process.spec

    @property
    def kind(self) -> Kind:
        """Its kind."""
        return self._process.spec.kind

    @property
    def pid(self) -> int:
        """The process that it lives in."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether that process runs."""
        return self._process.alive

    @property
    def has_delete(self) -> bool:
        """Whether it can delete."""
        return "delete" in self.offers

    @property
    def stderr(self) -> str:
        """The end of what it wrote to standard output and error."""
        return self._process.stderr

    # What both kinds can do

    def store(self, objects: Sequence[tuple[str, bytes]], *, timeout: float | None = None) -> Stored:
        """Store a batch of objects, and wait for its verdict."""
        limit = self.limit(timeout)
        args = {"keys": [key for key, _ in objects], "timeout": limit}
        answer = self._ask("store", args, [data for _, data in objects], deadline=limit)
        return Stored(answer["ok"], answer["error"], answer["seconds"], tuple(answer["changed"]), answer["fenced"])

    def load(self, keys: Sequence[str], sizes: Sequence[int] | int, *, timeout: float | None = None) -> Loaded:
        """Load a batch of objects into buffers of some sizes, and wait for what comes."""
        limit = self.limit(timeout)
        each = [sizes] * len(keys) if isinstance(sizes, int) else list(sizes)
        answer, given = self._ask_for_bytes("load", {"keys": list(keys), "sizes": each, "timeout": limit}, deadline=limit)
        data = iter(given)
        found = tuple(answer["found"])
        return Loaded(
            ok=answer["ok"],
            error=answer["error"],
            found=found,
            data=tuple(bytes(next(data)) if one else None for one in found),
            touched=tuple(answer["touched"]),
            seconds=answer["seconds"],
            fenced=answer["fenced"],
        )

    def lookup(self, keys: Sequence[str], *, timeout: float | None = None) -> list[bool]:
        """Which of the objects are there."""
        return list(self.look(keys, timeout=timeout).found)

    def look(self, keys: Sequence[str], *, timeout: float | None = None) -> Looked:
        """The same with what else was told."""
        limit = self.limit(timeout)
        answer = self._ask("lookup", {"keys": list(keys), "timeout": limit}, deadline=limit)
        return Looked(answer["ok"], answer["error"], tuple(answer["found"]))

    def delete(self, keys: Sequence[str], *, timeout: float | None = None) -> Deleted:
        """Delete objects, and wait for the end.

        Raises:
            PluginLacks: it cannot.
        """
        limit = self.limit(timeout)
        answer = self._ask("delete", {"keys": list(keys), "timeout": limit}, deadline=limit)
        gone = answer["gone"]
        return Deleted(answer["ok"], answer["error"], None if gone is None else tuple(gone))

    def statistics(self) -> Mapping[str, Any] | None:
        """What it tells of itself by ``statistics()`` or ``report_status()``; None if nothing."""
        found: Mapping[str, Any] | None = self._ask("statistics")["value"]
        return found

    def usage(self) -> Any:
        """What it tells by ``get_usage()``; None if nothing."""
        return self._ask("usage")["value"]

    def corrupt(self, key: str, how: str) -> Any:
        """Have it damage what it stored under a key: ``flip``, ``truncate`` or ``delete``.

        Raises:
            PluginLacks: it has no ``lmconform_corrupt``.
        """
        return self._ask("corrupt", {"key": key, "how": how})["value"]

    def close(self, *, timeout: float | None = None) -> float:
        """Call ``close``; the seconds that it took. The process stays, so that what comes afterwards can be seen."""
        seconds: float = self._ask("close", deadline=self.limit(timeout))["seconds"]
        return seconds

    def kill(self) -> None:
        """SIGKILL to its process, and to all processes that it started."""
        self._process.kill()

    def reopen(self) -> Plugin:
        """Another process with the same parameters and folder; the one before is ended first, by SIGKILL if it still runs."""
        self._process.kill()
        return Plugin(HostProcess(self.spec, self._process.budget), self.folder, self._backend, watch=self._watch)

    def sibling(self, folder: Path) -> Plugin:
        """Another instance in the same process, which stores in another folder."""
        return Plugin(self._process, folder, self._backend, instance=next(self._numbers), watch=self._watch)

    def resources(self) -> Resources:
        """What its process holds."""
        answer = self._ask("resources")
        return Resources(tuple(answer["descriptors"]), tuple(answer["threads"]), answer["tasks"], answer["children"])

    # Memory

    def buffers(self, contents: Sequence[bytes]) -> list[Buffer]:
        """Memory that holds something, to store from."""
        numbers = self._ask("buffers", {}, contents)["numbers"]
        return [Buffer(number, len(content)) for number, content in zip(numbers, contents, strict=True)]

    def blank(self, sizes: Sequence[int]) -> list[Buffer]:
        """Memory that holds a pattern, to load into."""
        numbers = self._ask("blank", {"sizes": list(sizes)})["numbers"]
        return [Buffer(number, size) for number, size in zip(numbers, sizes, strict=True)]

    def read(self, buffers: Sequence[Buffer]) -> list[bytes]:
        """What memory holds now."""
        return [bytes(one) for one in self._ask_for_bytes("read", {"buffers": _numbers(buffers)})[1]]

    def write(self, buffer: Buffer, content: bytes) -> None:
        """Replace what a buffer holds."""
        self._ask("write", {"buffer": buffer.number}, [content])

    def untouched(self, buffers: Sequence[Buffer]) -> list[bool]:
        """Which of some blank buffers still hold the pattern."""
        return list(self._ask("check", {"buffers": _numbers(buffers)})["blank"])

    def fenced(self, buffers: Sequence[Buffer]) -> bool:
        """Whether nobody wrote beside them."""
        return all(self._ask("check", {"buffers": _numbers(buffers)})["fenced"])

    def spend(self, buffers: Sequence[Buffer]) -> None:
        """Let go of memory whose operations are complete: it means something else from now on, and is watched."""
        self._ask("spend", {"buffers": _numbers(buffers)})

    def disturbed(self) -> int:
        """How many buffers were written to after they were let go; those of :meth:`store` and :meth:`load` count as well."""
        return len(self._ask("disturbed", {})["numbers"])

    # The contract of native_plugin

    def event_fd(self) -> int:
        """What ``event_fd()`` gives now.

        Raises:
            PluginRaised: it gives no number.
        """
        descriptor: int = self._ask("event_fd")["descriptor"]
        return descriptor

    def submit_store(self, keys: Sequence[str], buffers: Sequence[Buffer]) -> Submitted:
        """``submit_batch_set``."""
        return Submitted.of(self._ask("submit_store", {"keys": list(keys), "buffers": _numbers(buffers)}))

    def submit_load(self, keys: Sequence[str], buffers: Sequence[Buffer]) -> Submitted:
        """``submit_batch_get``."""
        return Submitted.of(self._ask("submit_load", {"keys": list(keys), "buffers": _numbers(buffers)}))

    def submit_lookup(self, keys: Sequence[str]) -> Submitted:
        """``submit_batch_exists``."""
        return Submitted.of(self._ask("submit_lookup", {"keys": list(keys)}))

    def submit_delete(self, keys: Sequence[str]) -> Submitted:
        """``submit_batch_delete``.

        Raises:
            PluginLacks: it has none.
        """
        return Submitted.of(self._ask("submit_delete", {"keys": list(keys)}))

    def poll(self, timeout: float) -> Readiness:
        """Wait for the descriptor, as the server does."""
        answer = self._ask("poll", {"timeout": timeout}, deadline=timeout)
        return Readiness(answer["ready"], answer["broken"], answer["seconds"])

    def drain(self) -> Drained:
        """``drain_completions``."""
        answer = self._ask("drain")
        return Drained(tuple(map(Completion.of, answer["completions"])), answer["type"], answer["seconds"], answer["at"])

    def wait(self, submitted: Sequence[Submitted], *, timeout: float | None = None) -> list[Completion]:
        """The completions of some submits, in their order; others that come meanwhile are kept for whoever waits for them.

        Raises:
            ClientHang: one of them did not come in time.
        """
        limit = self.limit(timeout)
        answer = self._ask("wait", {"ids": [one.id for one in submitted], "timeout": limit}, deadline=limit)
        return [Completion.of(members) for members in answer["completions"]]

    def collect(self, count: int, *, timeout: float | None = None) -> list[Completion]:
        """Wait and drain until so many completions came, or until the time is over; in the order in which they came."""
        limit = self.limit(timeout)
        answer = self._ask("collect", {"count": count, "timeout": limit}, deadline=limit)
        return [Completion.of(members) for members in answer["completions"]]

    def together(
        self, threads: Mapping[str, Sequence[Step]], *, timeout: float | None = None
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Threads of the plugin's process that do their steps at once; the answers of each, in order.

        A step is a command of the host with its arguments, ``buffers`` as numbers; :meth:`step` makes one. A thread ends at a
        step that fails, which leaves ``{"failed": ..., "text": ...}`` as its last answer.
        """
        limit = self.limit(timeout)
        plain = {
            name: [{"op": step.op, "args": step.args, "times": step.times} for step in steps] for name, steps in threads.items()
        }
        found: Mapping[str, Sequence[Mapping[str, Any]]] = self._ask(
            "together", {"threads": plain, "timeout": limit}, deadline=limit
        )["results"]
        return found

    def idle(self, seconds: float) -> None:
        """Let time pass for the plugin."""
        self.together({"time": [self.step("beat", timeout=seconds)]}, timeout=self._timeout + seconds)

    def step(self, op: str, *, times: int = 1, buffers: Sequence[Buffer] | None = None, **args: Any) -> Step:
        """A step of a thread, such as ``step("submit_lookup", keys=[...])``."""
        more: dict[str, Any] = {} if buffers is None else {"buffers": _numbers(buffers)}
        return Step(op, {**self._named(op), **args, **more}, times)

    def command(self, op: str, args: Mapping[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """A command of the other kind; :mod:`harness.l2.adapter_calls` has them all."""
        return self._ask(op, args, deadline=timeout)

    def limit(self, timeout: float | None) -> float:
        """A time limit: this one, or that of a call."""
        return self._timeout if timeout is None else timeout

    def _ask(
        self,
        op: str,
        args: Mapping[str, Any] | None = None,
        blobs: Sequence[frames.Blob] = (),
        *,
        deadline: float | None = None,
    ) -> dict[str, Any]:
        return self._ask_for_bytes(op, args or {}, blobs, deadline=deadline)[0]

    def _ask_for_bytes(
        self, op: str, args: Mapping[str, Any], blobs: Sequence[frames.Blob] = (), *, deadline: float | None = None
    ) -> tuple[dict[str, Any], list[bytearray]]:
        with self._watch.asked(op):
            return self._process.ask(op, {**self._named(op), **args}, blobs, deadline=self.limit(deadline))

    def _named(self, op: str) -> dict[str, Any]:
        return {} if op in _OF_THE_PROCESS else {"instance": self._instance}


_OF_THE_PROCESS: Final = frozenset(
    ["beat", "blank", "buffers", "check", "disturbed", "read", "resources", "rest", "spend", "together", "write"]
)
"""Commands that do not name an instance."""


class Watch:
    """Hears what is asked of plugins, and of each process that is started for one; the session counts failures by it."""

    def asked(self, op: str) -> contextlib.AbstractContextManager[None]:
        """Around each call."""
        del op
        return contextlib.nullcontext()

    def process(self, process: HostProcess) -> None:
        """An instance is about to be made in this process."""


_unwatched: Final = Watch()


def _durability(said: Any, spec: PluginSpec) -> Durability:
    """What a plugin says; one that says nothing is taken to keep objects where it stores outside of its process.

    Raises:
        PluginRaised: it is none of the three words.
    """
    if said is None:
        return "process" if spec.names_folder or spec.names_backend else "none"
    if said not in DURABILITIES:
        raise PluginRaised(f"lmconform_durability is {said!r}; it must be one of {', '.join(DURABILITIES)}")
    return cast("Durability", said)


def _numbers(buffers: Sequence[Buffer]) -> list[int]:
    return [buffer.number for buffer in buffers]
