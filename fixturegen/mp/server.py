"""The real multiprocess server as a child process: on ports that the kernel picked, answering, and gone with its memory."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import zmq

from fixturegen import leash
from fixturegen.environment import LOCALHOST
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.listening import require_own
from fixturegen.mp.launch import POOL_PREFIX, SHARED_MEMORY, STATUS_PATH, Launch
from fixturegen.server_process import free_port
from wire.mp.frames import decode_reply, encode_request
from wire.mp.operations import operation_table
from wire.mp.values import ValueRefused
from wire.release import Release

START_TIMEOUT: Final = 180.0
STOP_TIMEOUT: Final = 5.0
NOOP_PATIENCE: Final = 1.0
"""Seconds for one NOOP of those that wait for a start. Each has a connection of its own: one to a port of this machine where
nobody listens yet may, by chance, get that very port and talk to itself."""
PORTS_TRIED: Final = 5
SHARED_FOLDER: Final = Path("/dev/shm")  # noqa: S108  # where Linux keeps it
"""Where Linux shows shared memory as files."""
PORT_TAKEN: Final = ("Address already in use", "address already in use")

Command = Callable[[Sequence[str]], Sequence[str]]
"""The whole command for a module and its arguments."""


class MpServer:
    """A running server; it can be killed and started again at the same address, with an empty store."""

    def __init__(self, release: Release, launch: Launch, command: Command, variables: Mapping[str, str], host: str) -> None:
        self.release = release
        self.launch = launch
        self.host = host
        self.port = free_port(host)
        self.http_port = free_port(host) if STATUS_PATH[release] is not None else None
        self.log: Path | None = None
        self._command = command
        self._variables = variables
        self._name = f"lmconform-{os.urandom(8).hex()}"
        self._process: subprocess.Popen[bytes] | None = None
        self._leash: leash.Leash | None = None

    @property
    def shm_name(self) -> str | None:
        """The name of the server's shared memory, or None where it has none."""
        return f"{POOL_PREFIX}{self._name}" if self.launch.shared_memory and SHARED_MEMORY[self.release] else None

    @property
    def pid(self) -> int | None:
        """The server's process, while it is held here."""
        return self._process.pid if self._process is not None else None

    def start(self, log: Path) -> None:
        """Start it and wait until it answers NOOP over ZeroMQ, or any connection where it speaks gRPC.

        Raises:
            EnvironmentUnavailable: it does not start, ends, or does not answer in time; the message ends with its log.
        """
        self.log = log
        for attempt in range(1, PORTS_TRIED + 1):
            try:
                self._start_once()
            except EnvironmentUnavailable as error:
                if not any(words in str(error) for words in PORT_TAKEN) or attempt == PORTS_TRIED:
                    raise
                self.port = free_port(self.host)
                self.http_port = free_port(self.host) if self.http_port is not None else None
            else:
                return

    def restart(self) -> None:
        """Kill it as a crash would, and start it again at the same address.

        Raises:
            EnvironmentUnavailable: as :meth:`start`.
        """
        self.kill()
        self._start_once()

    def alive(self, patience: float = 2.0) -> bool:
        """Whether its message thread answers a NOOP in time; the health endpoint says nothing about that."""
        return answers_noop(self.release, self.host, self.port, patience)

    def status(self) -> Mapping[str, Any] | None:
        """What it says of its state over HTTP, or None where it has nothing to say.

        Raises:
            EnvironmentUnavailable: it does not answer.
        """
        path = STATUS_PATH[self.release]
        if path is None:
            return None
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.http_port}{path}", timeout=10) as answer:
                found: Mapping[str, Any] = json.load(answer)
        except (OSError, ValueError, urllib.error.URLError) as error:
            raise EnvironmentUnavailable(f"the server of lmcache {self.release} gives no {path}: {error}") from None
        return found

    def stop(self, patience: float) -> int | None:
        """Ask it to end, as an operator does, and wait so long; the status it ended with, or None where it had to be killed.

        A status below 0 is the signal that it died of.
        """
        process = self._process
        if process is None:
            return None
        process.terminate()
        done = leash.ended(process.pid, patience)
        self.kill()
        return process.returncode if done else None

    def kill(self) -> None:
        """End it at once, and remove the shared memory that it leaves."""
        process, held = self._process, self._leash
        self._process = self._leash = None
        if process is not None and held is not None:
            held.kill()
            process.wait(STOP_TIMEOUT)
            held.let_go()
            leash.remove_directory(_own_memory(process.pid))
        self._remove_memory()

    def _start_once(self) -> None:
        arguments = self.launch.arguments(self.release, self.host, self.port, self.http_port, self._name)
        command = self._command(arguments)
        if self.shm_name is not None:
            leash.keep_directory(SHARED_FOLDER / self.shm_name)
        assert self.log is not None
        with self.log.open("ab") as output:
            try:
                self._process, self._leash = leash.start(
                    command, self._variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    cwd=self.log.parent,
                )  # fmt: skip
            except OSError as error:
                self._remove_memory()
                raise EnvironmentUnavailable(
                    f"the multiprocess server of lmcache {self.release}: {command[0]} does not start ({error})"
                ) from None
        leash.keep_directory(_own_memory(self._process.pid))
        try:
            self._wait()
            require_own(self.port, self._process.pid, f"the multiprocess server of lmcache {self.release}")
        except BaseException:
            self.kill()
            raise

    def _wait(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            if self.launch.grpc:
                self._require_running()
                if self._listens():
                    return
                continue
            with Noop(self.release, self.host, self.port) as noop:
                asked = time.monotonic()
                while time.monotonic() - asked < NOOP_PATIENCE:
                    self._require_running()
                    if noop.answered(0.1):
                        return
        raise EnvironmentUnavailable(
            f"the multiprocess server of lmcache {self.release} at {self.host}:{self.port} answered no NOOP within "
            f"{START_TIMEOUT:.0f} s:\n{tail(self.log)}"
        )

    def _require_running(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            raise EnvironmentUnavailable(
                f"the multiprocess server of lmcache {self.release} ended with status {self._process.returncode}:\n"
                f"{tail(self.log)}"
            )

    def _listens(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=0.2):
                return True
        except OSError:
            time.sleep(0.05)
            return False

    def _remove_memory(self) -> None:
        if self.shm_name is not None:
            leash.remove_directory(SHARED_FOLDER / self.shm_name)


class Noop:
    """One NOOP that waits for a server, however late that begins to listen."""

    def __init__(self, release: Release, host: str, port: int) -> None:
        self._table = operation_table(release)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.connect(f"tcp://{host}:{port}")
        self._socket.send_multipart([b"\x00", *encode_request(self._table, "NOOP", [])])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()
        self._context.term()

    def answered(self, seconds: float) -> bool:
        """Whether the answer is there, after at most so many seconds."""
        if not self._socket.poll(int(seconds * 1000)):
            return False
        frames = self._socket.recv_multipart()
        try:
            return decode_reply(self._table, "NOOP", frames[1:]) is not None
        except ValueRefused:
            return False


def answers_noop(release: Release, host: str, port: int, patience: float) -> bool:
    """Whether the server at an address answers a NOOP in time."""
    with Noop(release, host, port) as noop:
        return noop.answered(patience)


@contextlib.contextmanager
def running_mp_server(
    release: Release, launch: Launch, command: Command, variables: Mapping[str, str], *, host: str = LOCALHOST
) -> Iterator[MpServer]:
    """A server that answers until the block ends; then it is gone, and so is its shared memory.

    Raises:
        EnvironmentUnavailable: it cannot be started; the message says why.
    """
    with leash.directory("lmconform-mp-") as folder:
        seen = with_imports(variables, launch.imports, folder / "imports")
        server = MpServer(release, launch, command, seen, host)
        server.start(folder / "server.log")
        try:
            yield server
        finally:
            server.kill()


def with_imports(variables: Mapping[str, str], imports: Sequence[Path], folder: Path) -> Mapping[str, str]:
    """The variables of an interpreter that finds packages and modules besides its own: these, and nothing that lies beside them.

    Each is linked into a folder that comes last on PYTHONPATH, so that none hides a module of lmcache.
    """
    if not imports:
        return variables
    folder.mkdir()
    for path in dict.fromkeys(imports):
        (folder / path.name).symlink_to(path.absolute())
    before = variables.get("PYTHONPATH", "")
    return {**variables, "PYTHONPATH": os.pathsep.join([*filter(None, [before]), str(folder)])}


def _own_memory(pid: int) -> Path:
    """The shared memory that servers from 0.4.7 to 0.5.4 make in the mode that has no use for it."""
    return SHARED_FOLDER / f"{POOL_PREFIX}{pid}"


def tail(log: Path | None) -> str:
    """The end of a log."""
    return log.read_text(errors="replace")[-3000:] if log is not None else ""
