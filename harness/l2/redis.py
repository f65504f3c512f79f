"""A Redis of ours as the backend of a plugin, behind a relay that keeps its address while it is down and delays its answers.

``redis-server`` is a package of the system (``apt-get install redis-server``); nothing of a Redis that already runs is touched.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import BinaryIO, Final, Literal

from fixturegen import leash

PROGRAM: Final = "redis-server"
LOCALHOST: Final = "127.0.0.1"
START: Final = 15.0
"""Seconds that it may take to answer."""
_STEP: Final = 0.02
_PIECE: Final = 1 << 18


class RedisBackend:
    """A Redis on a port that the kernel picks, with a folder of its own: what it was told survives a restart."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / f"lmconform-redis-{leash.Leash().mark.replace('.', '-')}"
        self._relay = Relay()
        self._running: tuple[subprocess.Popen[bytes], leash.Leash] | None = None

    def start(self) -> str:
        """Run it, if it does not; its address.

        Raises:
            RuntimeError: there is no such program, or it does not answer.
        """
        program = shutil.which(PROGRAM)
        if program is None:
            raise RuntimeError(f"there is no {PROGRAM}; install the package of that name (Debian: apt-get install {PROGRAM})")
        if self._running is None:
            if not self._folder.exists():
                leash.keep_directory(self._folder)
                self._folder.mkdir(mode=0o700)
            port = _free_port()
            words = ["--port", str(port), "--bind", LOCALHOST, "--dir", str(self._folder)]
            words += ["--save", "", "--appendonly", "yes", "--loglevel", "warning"]
            with (self._folder / "log").open("ab") as log:
                self._running = leash.start([program, *words], None, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self._await(port)
            self._relay.open(port)
        return self._relay.address

    def stop(self) -> None:
        """End it without a warning, as a crash would; who is connected is cut off, and who connects is refused."""
        self._relay.close()
        if self._running is not None:
            (process, held), self._running = self._running, None
            process.send_signal(signal.SIGKILL)
            held.kill()
            process.wait(START)
            held.let_go()

    def restart(self) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start()

    def slow(self, seconds: float) -> None:
        """From now on each answer comes so much later; 0 ends that."""
        self._relay.delay = seconds

    def corrupt(self, key: str, how: Literal["flip", "truncate", "delete"]) -> bool:
        """Damage what it keeps of a key; False if there is nothing."""
        names = [name for name in self._command(b"KEYS", b"*").split(b"\0") if name.endswith(key.encode())]
        if not names:
            return False
        data = bytearray(self._command(b"GET", names[0]))
        if how == "delete":
            self._command(b"DEL", names[0])
            return True
        if how == "flip":
            data[len(data) // 2] ^= 1
        else:
            del data[-1]
        self._command(b"SET", names[0], bytes(data))
        return True

    def clear(self) -> None:
        """Forget everything, if it runs."""
        if self._running is not None:
            self._command(b"FLUSHALL")

    def close(self) -> None:
        """Stop it and remove its folder."""
        self.stop()
        self._relay.forget()
        leash.remove_directory(self._folder)

    def _command(self, *words: bytes) -> bytes:
        """The answer to a command: a string, or the strings of a list with zero bytes in between."""
        host, _, port = self._relay.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=START) as connection:
            parts = [b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)]
            connection.sendall(b"".join(parts))
            with connection.makefile("rb") as answers:
                return _answer(answers)

    def _await(self, port: int) -> None:
        until = time.monotonic() + START
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection((LOCALHOST, port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(64).startswith(b"+PONG"):
                    return
            time.sleep(_STEP)
        words = (self._folder / "log").read_text(errors="replace")[-2000:]
        self.stop()
        raise RuntimeError(f"{PROGRAM} does not answer on port {port}: {words}")


class Relay:
    """Passes connections on to a port, at an address that stays."""

    def __init__(self) -> None:
        self.delay = 0.0
        """Seconds by which everything that comes back is late."""
        # Bound and never listening: it keeps the port for us while nothing is passed on, and callers are refused.
        self._kept = _bound(0)
        self._listener: socket.socket | None = None
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        """``HOST:PORT``."""
        host, port = self._kept.getsockname()
        return f"{host}:{port}"

    def open(self, port: int) -> None:
        """Pass connections on to a port from now on."""
        self._listener = _bound(self._kept.getsockname()[1])
        self._listener.listen(128)
        threading.Thread(target=self._accept, args=(self._listener, port), name="lmconform-relay", daemon=True).start()

    def close(self) -> None:
        """Pass nothing on any more, and cut what is connected."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            ends, self._ends = self._ends, set()
        for end in ends:
            _cut(end)

    def forget(self) -> None:
        """Give the address back."""
        self._kept.close()

    def _accept(self, listener: socket.socket, port: int) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((LOCALHOST, port), timeout=START)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._ends |= {near, far}
            for source, target, back in ((near, far, False), (far, near, True)):
                target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass, args=(source, target, back), name="lmconform-relay", daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, back: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(_PIECE):
                if back and self.delay:
                    time.sleep(self.delay)
                target.sendall(piece)
        with self._lock:
            self._ends -= {source, target}
        for end in (source, target):
            _cut(end)


def _answer(answers: BinaryIO) -> bytes:
    line: bytes = answers.readline().rstrip()
    kind, rest = line[:1], line[1:]
    if kind == b"$":
        size = int(rest)
        data: bytes = b"" if size < 0 else answers.read(size)
        if size >= 0:
            answers.read(2)
        return data
    if kind == b"*":
        return b"\0".join(_answer(answers) for _ in range(int(rest)))
    if kind == b"-":
        raise RuntimeError(f"Redis refused a command: {rest.decode(errors='replace')}")
    return rest


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOCALHOST, port))
    return made


def _free_port() -> int:
    with _bound(0) as probe:
        return int(probe.getsockname()[1])


def _cut(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
