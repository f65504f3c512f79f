"""A child process on a short lead: every wait has an end, every buffer a limit, and its whole group dies with it."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from fixturegen import leash
from harness.limits import ClientLimits, LimitRefused
from harness.memory import Usage

LINE_LIMIT: Final = 16 * 1024 * 1024
STDERR_LIMIT: Final = 64 * 1024
_CHUNK: Final = 64 * 1024
_POLL: Final = 0.05
"""How late the end of a process may be noticed while a grandchild keeps its pipes open, in seconds."""
_SETTLE: Final = 1.0
"""How long a process that closed a pipe may take to end before it counts as still running, in seconds."""
_TERMINATE: Final = 0.5
_ROUNDS: Final = 64
_QUOTE: Final = 1000


class ProcessEnded(Exception):
    """The process ended; ``status`` as :mod:`subprocess` gives it, negative for a signal."""

    def __init__(self, status: int) -> None:
        super().__init__(exit_text(status))
        self.status = status


class TooMuchMemory(Exception):
    """The processes and their files together hold more than the limit; ``used`` is None where nobody counted."""

    def __init__(self, used: int | None, limit: int) -> None:
        super().__init__(f"used more than {limit} bytes of memory" + (f" ({used} bytes)" if used is not None else ""))
        self.used = used


class PipeClosed(Exception):
    """The process runs on, but closed its standard input or output; the message says which."""


class LineTooLong(Exception):
    """More bytes than the limit without a line feed; ``head`` is how they begin."""

    def __init__(self, head: bytes, limit: int) -> None:
        super().__init__(f"more than {limit} bytes without a line feed")
        self.head = head


def exit_text(status: int) -> str:
    """How a process ended, in words: ``exit status 3`` or ``signal SIGSEGV``."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


class Tail:
    """The end of a stream of bytes since the last mark."""

    def __init__(self, limit: int = STDERR_LIMIT) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._dropped = 0
        self._whole = True
        """Whether what is kept begins with a line."""

    def add(self, data: bytes) -> None:
        """Take more bytes and drop the oldest beyond the limit."""
        self._kept += data
        excess = len(self._kept) - self._limit
        if excess > 0:
            self._whole = self._kept[excess - 1 : excess] == b"\n"
            del self._kept[:excess]
            self._dropped += excess

    def clear(self) -> None:
        """Begin anew."""
        self._kept.clear()
        self._dropped = 0

    def text(self) -> str:
        """What was kept; where something was dropped a note of it, and then whole lines unless the last one is longer."""
        if not self._dropped:
            return self._kept.decode("utf-8", "backslashreplace")
        broken = 0 if self._whole else self._kept.find(b"\n", 0, len(self._kept) - 1) + 1
        note = f"[{self._dropped + broken} bytes before this were dropped]\n"
        return note + self._kept[broken:].decode("utf-8", "backslashreplace")


class SupervisedProcess:
    """A command in a session of its own that takes and gives lines, and that does not outlive this process.

    All reading and writing happens inside the calls below, in the thread of the caller. ``memory_limit`` is the most bytes that
    the command and its children may hold together; ``files`` answers how many of them are in files that count as well.
    ``limits`` are those that the kernel keeps.

    Raises:
        LimitRefused: it does not keep one of them; the process is ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stderr: Tail | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        line_limit: int = LINE_LIMIT,
        memory_limit: int | None = None,
        files: Callable[[], int] = lambda: 0,
        limits: ClientLimits | None = None,
    ) -> None:
        self._popen, self._leash = leash.start(
            command, env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, cwd=cwd
        )
        self._last_resort = weakref.finalize(self, _give_up, self._leash)
        if limits is not None:
            try:
                limits.impose(self._popen.pid)
            except LimitRefused:
                self._last_resort()
                raise
        self._memory_limit = memory_limit
        self._usage = Usage(self._popen.pid, self._leash.mark, files)
        self._tail = Tail() if stderr is None else stderr
        self._line_limit = line_limit
        self._output = bytearray()
        self._scanned = 0
        self._output_open = True
        self._status: int | None = None
        self._selector = selectors.DefaultSelector()
        for stream in self._streams():
            os.set_blocking(stream.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_output)
        self._output_waits = select.poll()
        self._output_waits.register(self._stdout, select.POLLIN)
        self._selector.register(self._stderr, selectors.EVENT_READ, self._read_errors)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the process group."""
        return self._popen.pid

    def send(self, line: bytes, until: float) -> None:
        """Write a line; ``until`` is a moment of ``time.monotonic``.

        Raises:
            TimeoutError: the process did not take it in time.
            TooMuchMemory: it grew beyond the limit.
            ProcessEnded, PipeClosed: nobody is there to take it.
        """
        rest = memoryview(line)
        descriptor = self._stdin.fileno()
        waiting = False
        try:
            while rest:
                try:
                    rest = rest[os.write(descriptor, rest) :]
                except BlockingIOError:
                    if self._exited():
                        raise self._end() from None
                    if not waiting:
                        self._selector.register(self._stdin, selectors.EVENT_WRITE, _nothing)
                        waiting = True
                    self._wait(until)
                except (BrokenPipeError, ConnectionResetError):
                    raise self._why_closed("input") from None
        finally:
            if waiting:
                self._selector.unregister(self._stdin)

    def receive(self, until: float) -> bytes:
        """The next line without its line feed.

        Raises:
            TimeoutError: none came in time.
            TooMuchMemory: the process grew beyond the limit.
            ProcessEnded, PipeClosed: none will come.
            LineTooLong: what came is longer than the limit.
        """
        while True:
            line = self._next_line() if self._output else None
            if line is not None:
                self._weigh()
                return line
            if len(self._output) > self._line_limit:
                raise LineTooLong(bytes(self._output[:_QUOTE]), self._line_limit)
            if not self._output_open:
                raise self._why_closed("output")
            if self._exited():
                self._drain()
                line = self._next_line()
                if line is not None:
                    return line
                raise self._end()
            self._wait(until)

    def unread(self) -> bytes:
        """Output that came and was not received, without waiting for more; after a timeout, the unfinished line."""
        # Asking first: most often nothing is there, and a read that finds nothing costs an exception.
        if self._output_open and self._output_waits.poll(0):
            self._drain()
        return bytes(self._output)

    def pump_stderr(self) -> None:
        """Take what the process wrote to standard error so far, or a few megabytes of it."""
        for _ in range(_ROUNDS):
            if not self._read_errors():
                return

    def wait(self, until: float) -> int | None:
        """The exit status, or None when the process still runs at that moment."""
        while not self._exited():
            try:
                self._wait(until)
            except TimeoutError:
                return None
        return self._reaped()

    def end(self, until: float) -> int | None:
        """Wait for the process until that moment, then terminate, then kill; answers its status if it ended by itself."""
        self._stdin.close()
        status = self.wait(until)
        if status is None:
            _signal_group(self.pid, signal.SIGTERM)
            self.wait(time.monotonic() + _TERMINATE)
        self.kill()
        return status

    def kill(self) -> None:
        """Kill the whole group at once and close the pipes, whoever else holds them."""
        if self._stdout.closed:
            return
        self._reaped()
        self.pump_stderr()
        self._selector.close()
        for stream in self._streams():
            stream.close()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._popen.stdin is not None
        return self._popen.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._popen.stdout is not None
        return self._popen.stdout

    @property
    def _stderr(self) -> IO[bytes]:
        assert self._popen.stderr is not None
        return self._popen.stderr

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        return self._stdin, self._stdout, self._stderr

    def _wait(self, until: float) -> None:
        remaining = until - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._weigh()
        for key, _ in self._selector.select(min(remaining, _POLL)):
            key.data()

    def _weigh(self) -> None:
        """Look now and then at how much memory is held."""
        if self._memory_limit is not None and self._status is None:
            used = self._usage.bytes()
            if used > self._memory_limit:
                raise TooMuchMemory(used, self._memory_limit)

    def _read_output(self) -> bool:
        """Read once; answers whether there may be more."""
        if not self._output_open:
            return False
        data = _read(self._stdout)
        if data is None:
            return False
        self._output += data
        if not data or len(self._output) > self._line_limit:
            self._output_open = bool(data)
            self._forget(self._stdout)
            return False
        return True

    def _read_errors(self) -> bool:
        if self._stderr.closed:
            return False
        data = _read(self._stderr)
        if data is None:
            return False
        self._tail.add(data)
        if not data:
            self._forget(self._stderr)
        return bool(data)

    def _drain(self) -> None:
        while self._read_output():
            pass

    def _forget(self, stream: IO[bytes]) -> None:
        if stream in self._selector.get_map():
            self._selector.unregister(stream)

    def _next_line(self) -> bytes | None:
        end = self._output.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._output)
            return None
        if end > self._line_limit:
            raise LineTooLong(bytes(self._output[:_QUOTE]), self._line_limit)
        line = bytes(self._output[:end])
        del self._output[: end + 1]
        self._scanned = 0
        return line

    def _exited(self) -> bool:
        """Whether the process ended, without reaping it: until then its group id cannot be given to another process."""
        if self._status is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _reaped(self) -> int:
        """The status of the process, after the rest of its group was killed."""
        if self._status is None:
            self._leash.kill()
            self._last_resort.detach()
            try:
                self._status = self._popen.wait(_SETTLE)
                self._leash.let_go()
            except subprocess.TimeoutExpired:
                self._status = -signal.SIGKILL
        return self._status

    def _why_closed(self, side: str) -> Exception:
        status = self.wait(time.monotonic() + _SETTLE)
        if status is None:
            return PipeClosed(f"standard {side}")
        return self._end()

    def _end(self) -> Exception:
        """What to raise now that the process ended."""
        return ProcessEnded(self._reaped())


def _read(stream: IO[bytes]) -> bytes | None:
    """What can be read at once: None when nothing is there, empty at the end."""
    try:
        return os.read(stream.fileno(), _CHUNK)
    except BlockingIOError:
        return None


def _nothing() -> None:
    """Writing happens in the loop that waits."""


def _give_up(held: leash.Leash) -> None:
    held.kill()
    held.let_go()


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
