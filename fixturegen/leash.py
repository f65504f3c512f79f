"""Processes that must not outlive this one, however it ends: SIGKILL included, their children included.

A keeper, one small process beside this one, reads from a pipe that only this process writes to. Each process is named there
once it runs and once it is gone; when the pipe ends, this process is gone, and the keeper kills what is left of them. That does
not depend on the thread that started a process, as ``PR_SET_PDEATHSIG`` does, and works wherever there are pipes.

Every process on the leash also carries a mark in its environment, which its children inherit. Where ``/proc`` can be read
(Linux) the mark finds those that left the process group, and one that was started in the very moment in which this process died.
Elsewhere the process group is all that is killed.

Directories that must not outlive this process are named to the keeper as well, which removes them last. So are commands that end
what runs elsewhere on behalf of this process, such as a container: no signal of ours reaches that.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

MARK: Final = "LMCONFORM_LEASH"
_INTERPRETER: Final = sys.executable
"""What the keeper runs in: the interpreter of this process, whatever is put into ``sys.executable`` later."""
_PROCESSES: Final = Path("/proc")
_DIRECTORY: Final = "d"
"""What a line about a directory has in the place of a process id; the path follows in hexadecimal."""
_COMMAND: Final = "c"
"""The same for a line about a command; its words follow as JSON in hexadecimal."""
_COMMAND_SECONDS: Final = 60.0
_ONCE_MORE: Final = 1.0
"""Seconds after which a command is run again, as what it ends may just have been about to begin."""
_POLL: Final = 0.05
_HELD_BACK: Final = 1.0
"""Seconds in which children of a killed process may still appear, because it forked when it was killed."""


class Leash:
    """The hold on one process: :meth:`end` kills all that is left of it and lets go."""

    _numbers = itertools.count(1)

    def __init__(self) -> None:
        self.mark = f"{_token()}.{next(self._numbers)}."
        self._pid: int | None = None

    def environment(self, variables: Mapping[str, str] | None = None) -> dict[str, str]:
        """The variables that the process must be started with; None stands for those of this process."""
        return {**(os.environ if variables is None else variables), MARK: self.mark}

    def hold(self, pid: int, *, grace: float = 0.0) -> None:
        """Take hold of a process that leads a group; ``grace`` is the time that it has to end once this process is gone."""
        self._pid = pid
        _keeper.tell(f"+{pid} {grace:g}\n")

    def kill(self) -> None:
        """Kill the group, and what left it; call this before the process is reaped, so that its id means no other group."""
        if self._pid is None:
            return
        _kill_group(self._pid)
        for pid in marked(self.mark):
            _kill(pid)

    def let_go(self) -> None:
        """The process is gone and will be reaped."""
        if self._pid is not None:
            _keeper.tell(f"-{self._pid}\n")
            self._pid = None


def start(
    command: Sequence[str], variables: Mapping[str, str] | None, *, grace: float = 0.0, **options: Any
) -> tuple[subprocess.Popen[Any], Leash]:
    """Start a process in a session of its own and on a leash; ``grace`` as for :meth:`Leash.hold`.

    Raises:
        OSError: it cannot be started.
    """
    leash = Leash()
    _keeper.ready()
    process = subprocess.Popen(list(command), env=leash.environment(variables), start_new_session=True, **options)
    try:
        leash.hold(process.pid, grace=grace)
    except BaseException:  # nobody would end it
        process.kill()
        process.wait()
        raise
    return process, leash


def run(
    command: Sequence[str], *, timeout: float, said: str | None = None, variables: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a process on a leash until it ends, and give what it wrote; ``said`` is its standard input.

    It ends with all that it started, in whatever way this call does: in time, late, or by an interrupt.

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it did not end in time.
    """
    process, held = start(
        command, variables, text=True,
        stdin=subprocess.DEVNULL if said is None else subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
    )  # fmt: skip
    with process:
        try:
            out, err = process.communicate(said, timeout)
        finally:
            if process.returncode is None:
                held.kill()
                process.wait()
            held.let_go()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def keep_directory(path: Path) -> None:
    """Have a directory removed once this process is gone; call this before it is made, so that there is no moment between."""
    _keeper.tell(f"+{_DIRECTORY}{os.fsencode(path).hex()}\n")


def remove_directory(path: Path) -> None:
    """Remove a directory now, so that the keeper need not."""
    discard(path)
    _keeper.tell(f"-{_DIRECTORY}{os.fsencode(path).hex()}\n")


@contextlib.contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """A temporary directory for the length of the block, which is gone with this process however that ends."""
    path = Path(tempfile.gettempdir()) / f"{prefix}{os.urandom(8).hex()}"
    keep_directory(path)
    path.mkdir(mode=0o700)
    try:
        yield path
    finally:
        remove_directory(path)


def promise(command: Sequence[str]) -> None:
    """Have a command run once this process is gone, twice for certain; call this before there is anything for it to end."""
    _keeper.tell(f"+{_COMMAND}{_encoded(command)}\n")


def withdraw(command: Sequence[str]) -> None:
    """There is nothing left for a promised command to end."""
    _keeper.tell(f"-{_COMMAND}{_encoded(command)}\n")


def discard(path: Path) -> None:
    """Remove a directory with all that is in it; where a link or a file took its place, remove that, and nothing behind it."""
    try:
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    except OSError:
        pass


def ended(pid: int, seconds: float) -> bool:
    """Whether a child of this process ends in time; it is not reaped, so that its id still means its group."""
    until = time.monotonic() + seconds
    while True:
        try:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
        except ChildProcessError:
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL / 5)


def marked(mark: str) -> Iterator[int]:
    """Processes of this user whose mark begins so, besides zombies; none where ``/proc`` cannot be read."""
    wanted = f"\0{MARK}={mark}".encode()
    for pid in process_ids():
        try:
            variables = (_PROCESSES / str(pid) / "environ").read_bytes()
        except OSError:
            continue
        if wanted in b"\0" + variables:
            yield pid


def process_ids() -> list[int]:
    """Every process that there is; none where ``/proc`` cannot be read."""
    try:
        return [int(name) for name in os.listdir(_PROCESSES) if name.isdigit()]  # noqa: PTH208  # half as fast with Path
    except OSError:
        return []


class _Keeper:
    """The writing end of the pipe, and the process behind it, started with the first word."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._held: dict[str, str] = {}
        self.token = ""
        os.register_at_fork(after_in_child=self._forget)

    def ready(self) -> None:
        """Start it if it does not run."""
        with self._lock:
            self._start()

    def tell(self, line: str) -> None:
        """Tell it one thing; one that was killed is replaced and told everything again."""
        with self._lock:
            name, _, grace = line[1:].strip().partition(" ")
            if line[0] == "+":
                self._held[name] = grace
            else:
                self._held.pop(name, None)
            self._start()
            try:
                os.write(self._pipe, line.encode())
            except BrokenPipeError:
                self._replace()

    def _start(self) -> None:
        if self._process is not None:
            return
        reading, self._pipe = os.pipe()
        # Without the mark of a process that holds this one: the keeper is to survive what happens to the rest.
        variables = {name: value for name, value in os.environ.items() if name != MARK}
        try:
            self._process = subprocess.Popen(
                [_INTERPRETER, "-I", "-S", __file__, _token()],
                env=variables, stdin=reading, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(reading)

    def _replace(self) -> None:
        if self._process is not None:
            self._process.wait()
            self._process = None
        os.close(self._pipe)
        self._start()
        for name, grace in self._held.items():
            os.write(self._pipe, f"+{name} {grace}\n".encode())

    def _forget(self) -> None:
        """A child made by fork keeps nobody: its copy of the pipe would hide the end of its parent."""
        if self._pipe >= 0:
            os.close(self._pipe)
        self._lock = threading.Lock()
        self._pipe, self._process, self.token = -1, None, ""
        self._held.clear()


def _encoded(command: Sequence[str]) -> str:
    return json.dumps(list(command)).encode().hex()


def _token() -> str:
    """What the marks of this process begin with."""
    if not _keeper.token:
        _keeper.token = f"{os.getpid()}.{os.urandom(8).hex()}"
    return _keeper.token


_keeper = _Keeper()


def keep(lines: IO[bytes], token: str) -> None:
    """What the keeper does: remember until the end of the pipe, then kill what is left, then remove what it lay in."""
    held: dict[int, float] = {}
    directories: set[Path] = set()
    commands: set[str] = set()
    for line in lines:
        name, _, grace = line[1:].decode().strip().partition(" ")
        adds = line.startswith(b"+")
        if name.startswith(_COMMAND):
            (commands.add if adds else commands.discard)(name.removeprefix(_COMMAND))
        elif name.startswith(_DIRECTORY):
            path = Path(os.fsdecode(bytes.fromhex(name.removeprefix(_DIRECTORY))))
            (directories.add if adds else directories.discard)(path)
        elif adds:
            held[int(name)] = float(grace)
        else:
            held.pop(int(name), None)
    gone = time.monotonic()
    while held:
        for group, seconds in list(held.items()):
            if not _alive(group) or time.monotonic() - gone >= seconds:
                _kill_group(group)
                del held[group]
        if held:
            time.sleep(_POLL)
    _sweep(token)
    if commands:
        _run_all(commands)
        time.sleep(_ONCE_MORE)
        _run_all(commands)
    for path in directories:
        discard(path)


def _run_all(commands: Iterable[str]) -> None:
    """Run commands side by side, and wait until they are done, but not for ever."""
    running = []
    for words in commands:
        with contextlib.suppress(OSError):
            running.append(
                subprocess.Popen(
                    json.loads(bytes.fromhex(words)),
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )
            )  # fmt: skip
    until = time.monotonic() + _COMMAND_SECONDS
    for process in running:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _sweep(token: str) -> None:
    """Kill what carries a mark of the process that is gone, until nothing does."""
    until = time.monotonic() + _HELD_BACK
    clean = 0
    while clean < 2 and time.monotonic() < until:
        found = list(marked(f"{token}."))
        _kill_all(found)
        clean = 0 if found else clean + 1
        time.sleep(_POLL)


def _kill_all(pids: Iterable[int]) -> None:
    for pid in pids:
        _kill(pid)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    keep(sys.stdin.buffer, sys.argv[1])
