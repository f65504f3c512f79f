"""A storage plugin in a process of its own: every call has an end, and what the plugin does to the process is told.

The process runs ``harness/l2/host``. Calls are made from one thread at a time; threads of the plugin's process are had by
:meth:`Plugin.together`.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal, cast, get_args

from fixturegen import leash
from harness.client import AdapterFault, Budget, ClientCrash, ClientFailure, ClientHang, ClientUnavailable
from harness.l2.answers import (
    Buffer,
    Completion,
    Deleted,
    Description,
    Drained,
    Loaded,
    Looked,
    Readiness,
    Resources,
    Step,
    Stored,
    Submitted,
)
from harness.l2.calls.watcher import Watcher
from harness.l2.host import frames
from harness.l2.nurseries import Adopted, nursery_of
from harness.l2.spec import Kind, PluginSpec
from harness.supervise import STDERR_LIMIT, exit_text

HOST: Final = Path(__file__).resolve().parent / "host"
GRACE: Final = 5.0
"""Seconds that the host gets to say that the plugin did not end something in time, before it counts as hung itself."""
Durability = Literal["none", "process", "power"]
DURABILITIES: Final[tuple[Durability, ...]] = get_args(Durability)
"""What stored objects survive: nothing, the end of the process, or a loss of power."""
_PIPE: Final = 1 << 20
_PIECE: Final = 1 << 20
_POLL: Final = 0.05
_TRACES: Final = 0.3
"""Seconds for the host to write where its threads stand."""
_SETTLE: Final = 1.0
_OUR_FRAMES: Final = (f'  File "{HOST}/', '  File "<frozen runpy>"')
"""Lines of the stacks of threads that tell nothing about the plugin."""


class PluginRaised(AdapterFault):
    """A method of the plugin raised an exception, or gave something of which the server makes nothing."""


class PluginLacks(ClientFailure):
    """The plugin has no such method."""


class HostFault(Exception):
    """The host itself failed: a fault of the harness."""


class HostProcess:
    """A process that can hold instances of one plugin; a watcher sees its calls of the file system before they happen.

    Raises:
        CannotWatch: it cannot be watched here.
    """

    def __init__(
        self,
        spec: PluginSpec,
        budget: Budget,
        *,
        environment: Mapping[str, str] | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.spec = spec
        self.budget = budget
        self.grace = GRACE
        self._status: int | None = None
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._marked = 0
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        for descriptor in (ours_in, ours_out):
            with contextlib.suppress(OSError):
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)
            os.set_blocking(descriptor, False)
        self._in, self._out = ours_in, ours_out
        variables = environment or spec.environment
        if watcher is not None:
            variables = {**(os.environ if variables is None else variables), **watcher.environment}
        try:
            self._popen, self._leash = self._start(theirs_in, theirs_out, variables, watcher)
        except (OSError, ClientUnavailable) as error:
            os.close(ours_in)
            os.close(ours_out)
            self._stderr.close()
            raise ClientUnavailable(f"cannot start {spec.python}: {error}") from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._last_resort = weakref.finalize(self, _give_up, self._leash, ours_in, ours_out)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._in, selectors.EVENT_READ)
        if watcher is not None:
            self._let_watch(watcher)
        self.about = self._load_class()

    def _start(
        self, incoming: int, outgoing: int, environment: Mapping[str, str] | None, watcher: Watcher | None
    ) -> tuple[subprocess.Popen[bytes] | Adopted, leash.Leash]:
        nursery = nursery_of(self.spec, self.budget.start)
        if nursery is not None:
            return nursery.make(incoming, outgoing, self._stderr, watcher)
        return leash.start(
            [self.spec.python, str(HOST), str(incoming), str(outgoing)],
            environment,
            stdin=subprocess.DEVNULL,
            stdout=self._stderr,
            stderr=self._stderr,
            pass_fds=(incoming, outgoing, *(watcher.descriptors if watcher is not None else ())),
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it runs, as far as is known."""
        return self._status is None and not self._exited()

    @property
    def stderr(self) -> str:
        """The end of what the plugin wrote to standard output and error since :meth:`mark`."""
        end = self._stderr.seek(0, os.SEEK_END)
        begin = max(self._marked, end - STDERR_LIMIT)
        self._stderr.seek(begin)
        note = f"[{begin - self._marked} bytes before this were dropped]\n" if begin > self._marked else ""
        said = self._stderr.read(STDERR_LIMIT).decode("utf-8", "backslashreplace")
        return note + "".join(line for line in said.splitlines(keepends=True) if not line.startswith(_OUR_FRAMES))

    def mark(self) -> None:
        """Begin a new stretch of standard error."""
        self._marked = self._stderr.seek(0, os.SEEK_END)

    def ask(
        self, op: str, args: Mapping[str, Any], blobs: Sequence[frames.Blob] = (), *, deadline: float
    ) -> tuple[dict[str, Any], list[bytearray]]:
        """One command; ``deadline`` in seconds.

        Raises:
            ClientHang: there is no answer in time. After one in which the host could still speak the process runs on.
            ClientCrash: the process ended.
            PluginRaised: the plugin raised an exception, or broke its contract.
            PluginLacks: it does not have the method.
            HostFault: the host failed.
        """
        if self._status is not None:
            raise ClientCrash(f"{op}: the plugin's process is gone ({exit_text(self._status)})", stderr=self.stderr)
        until = time.monotonic() + deadline + self.grace
        try:
            self._write((frames.head({"op": op, "args": dict(args)}, blobs), *blobs), until)
            members, given = self._read(until)
        except TimeoutError:
            self._tell_where_it_stands()
            self.kill()
            raise ClientHang(
                f"{op}: the plugin's process gave no answer within {deadline + self.grace:g} s and was killed\n"
                "  where its threads stood is on standard error",
                stderr=self.stderr,
            ) from None
        except (BrokenPipeError, frames.Ended):
            status = self._reaped()
            raise ClientCrash(f"{op}: the plugin's process ended with {exit_text(status)}", stderr=self.stderr) from None
        except BaseException:
            self.kill()  # the answer may still come, and must not be taken for the next one
            raise
        if "ok" in members:
            return members["ok"], given
        text = f"{op}: {members['text']}"
        if members["failed"] == "hang":
            raise ClientHang(text, stderr=self.stderr)
        if members["failed"] == "missing":
            raise PluginLacks(text, stderr=self.stderr)
        if members["failed"] == "harness":
            raise HostFault(f"{text}\n{self.stderr}")
        raise PluginRaised(text, stderr=self.stderr)

    def kill(self) -> None:
        """SIGKILL to the process and to all that it started."""
        if self._status is None:
            self._popen.kill()
            self._reaped()

    def end(self) -> None:
        """Let the process go: nothing of it is left afterwards."""
        if self._status is None:
            with contextlib.suppress(OSError, TimeoutError):
                self._write((frames.head({"op": "quit", "args": {}}, ()),), time.monotonic() + _SETTLE)
                leash.ended(self.pid, _SETTLE)
            self._reaped()

    def discard(self) -> None:
        """The same, and forget what it wrote."""
        self.end()
        self._stderr.close()

    def _let_watch(self, watcher: Watcher) -> None:
        try:
            watcher.attach()
        except BaseException:
            self.discard_quietly()
            raise

    def _load_class(self) -> Mapping[str, Any]:
        spec = self.spec
        args = {
            "kind": spec.kind,
            "module": spec.module,
            "name": spec.class_name,
            "paths": list(spec.paths),
            "options": {"real": spec.real, **spec.options},
        }
        try:
            return self.ask("load_class", args, deadline=self.budget.start)[0]
        except (PluginLacks, PluginRaised) as failure:
            self.discard_quietly()
            text = str(failure).removeprefix("load_class: ")
            raise ClientUnavailable(f"plugin {spec.text}: {text}", stderr=failure.stderr) from None
        except BaseException:
            self.discard_quietly()
            raise

    def discard_quietly(self) -> None:
        """End the process whatever state it is in."""
        self.kill()
        self._stderr.close()

    def _write(self, pieces: Sequence[frames.Blob], until: float) -> None:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                try:
                    rest = rest[os.write(self._out, rest[:_PIECE]) :]
                except BlockingIOError:
                    self._wait(until, writing=True)

    def _read(self, until: float) -> tuple[dict[str, Any], list[bytearray]]:
        (length,) = frames.LENGTH.unpack(self._exactly(frames.LENGTH.size, until))
        members = _members(self._exactly(length, until))
        return members, [self._exactly(size, until) for size in members.pop("blobs")]

    def _exactly(self, size: int, until: float) -> bytearray:
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            try:
                count = os.readv(self._in, [rest])
            except BlockingIOError:
                self._wait(until)
                continue
            if not count:
                raise frames.Ended
            rest = rest[count:]
        return data

    def _wait(self, until: float, *, writing: bool = False) -> None:
        """Wait for the other side, for a moment at most: a child of the plugin may keep the pipes open when it ends."""
        remaining = until - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        if writing:
            self._selector.register(self._out, selectors.EVENT_WRITE)
        try:
            ready = self._selector.select(min(remaining, _POLL))
        finally:
            if writing:
                self._selector.unregister(self._out)
        if not ready and self._exited():
            raise frames.Ended

    def _exited(self) -> bool:
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _tell_where_it_stands(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)
        leash.ended(self.pid, _TRACES)

    def _reaped(self) -> int:
        if self._status is None:
            leash.ended(self.pid, _SETTLE)
            self._leash.kill()
            self._last_resort.detach()
            try:
                self._status = self._popen.wait(_SETTLE)
                self._leash.let_go()
            except subprocess.TimeoutExpired:
                self._status = -signal.SIGKILL
            self._selector.close()
            os.close(self._in)
            os.close(self._out)
        return self._status


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


def describe(process: HostProcess, plugin: Plugin) -> Description:
    """What the class and an instance of it show."""
    return Description(process.about.get("version", ""), process.about.get("python", ""), plugin.offers)


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


def _members(text: bytearray) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def _give_up(held: leash.Leash, *descriptors: int) -> None:
    held.kill()
    held.let_go()
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
