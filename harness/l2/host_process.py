"""The process that holds instances of a plugin: one command at a time over a pipe, every one with an end.

The process runs ``harness/l2/host``; :mod:`harness.l2.plugin_process` has what a case holds of it.
"""

from __future__ import annotations

import contextlib
import fcntl
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
from typing import IO, Any, Final

from fixturegen import leash
from harness.client import AdapterFault, Budget, ClientCrash, ClientFailure, ClientHang, ClientTooLarge, ClientUnavailable
from harness.l2.calls.watcher import Watcher
from harness.l2.host import frames
from harness.l2.nurseries import Adopted, nursery_of
from harness.l2.spec import PluginSpec
from harness.memory import Usage
from harness.supervise import STDERR_LIMIT, TooMuchMemory, exit_text

HOST: Final = Path(__file__).resolve().parent / "host"
GRACE: Final = 5.0
"""Seconds that the host gets to say that the plugin did not end something in time, before it counts as hung itself."""
BLOBS_LIMIT: Final = 1 << 30
"""Bytes behind one answer; no case loads as much at once."""
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


class _NoAnswerError(Exception):
    """What came through the pipe is no answer of the host."""


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
            if isinstance(error, ClientUnavailable):
                raise
            raise ClientUnavailable(f"cannot start {spec.python}: {error}") from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._last_resort = weakref.finalize(self, _give_up, self._leash, ours_in, ours_out)
        self._memory = Usage(self.pid, self._leash.mark, lambda: 0)
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
            ClientCrash: the process ended, or writes into the pipe of its answers, and was killed.
            ClientTooLarge: it held more memory than it may, and was killed.
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
        except TooMuchMemory as problem:
            self.kill()
            raise ClientTooLarge(f"{op}: the plugin {problem} and was killed", stderr=self.stderr) from None
        except _NoAnswerError as problem:
            self.kill()
            raise ClientCrash(
                f"{op}: the plugin writes to descriptors that are not its own, such as the pipe to the harness ({problem}); "
                "its process was killed",
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
        if length > frames.HEADER_LIMIT:
            raise _NoAnswerError(f"an answer of {length} bytes")
        members, sizes = _members(self._exactly(length, until))
        return members, [self._exactly(size, until) for size in sizes]

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
        if not ready and self.budget.memory is not None:
            used = self._memory.bytes()
            if used > self.budget.memory:
                raise TooMuchMemory(used, self.budget.memory)

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


def _members(text: bytearray) -> tuple[dict[str, Any], list[int]]:
    """An answer, and the sizes of the bytes behind it.

    Raises:
        _NoAnswerError: it is none.
    """
    try:
        found = json.loads(text)
        sizes = [int(size) for size in found.pop("blobs")]
        is_answer = isinstance(found["ok"], dict) if "ok" in found else isinstance(found["failed"] + found["text"], str)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise _NoAnswerError(f"{bytes(text[:40])!r}: {type(error).__name__}") from None
    if not is_answer or min(sizes, default=0) < 0 or sum(sizes) > BLOBS_LIMIT:
        raise _NoAnswerError(f"{bytes(text[:40])!r}")
    return found, sizes


def _give_up(held: leash.Leash, *descriptors: int) -> None:
    held.kill()
    held.let_go()
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
