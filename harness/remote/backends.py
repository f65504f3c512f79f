"""Backends for ``--backend`` that lmcache's own connectors store behind: a real Redis, and our ``lm://`` server."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from fixturegen import leash
from fixturegen.corpus import captured_releases
from mockserver.faults import NO_FAULTS, parse_plan
from mockserver.lm import LmServer

HOST: Final = "127.0.0.1"
_START: Final = 10.0
_LOOK: Final = 0.02


class LmBackend:
    """Our server of the newest captured release, without faults unless it is to be slow."""

    def __init__(self) -> None:
        self._server: LmServer | None = None
        self._port = 0

    def start(self) -> str:
        """Serve, with what was stored before; its address."""
        store = self._server.store if self._server is not None else None
        self._server = LmServer(captured_releases()[-1], host=HOST, port=self._port, store=store)
        self._server.start()
        _, self._port = self._server.address
        return f"{HOST}:{self._port}"

    def stop(self) -> None:
        """As a crash would."""
        if self._server is not None:
            self._server.stop()

    def restart(self) -> None:
        """Stop and start, with what was stored."""
        self.stop()
        self.start()

    def slow(self, seconds: float) -> None:
        """Let each answer take so long."""
        assert self._server is not None
        self._server.set_faults(parse_plan([f"delay:seconds={seconds:g}"]) if seconds else NO_FAULTS)


class RedisBackend:
    """A ``redis-server`` of this machine, which keeps nothing on disk."""

    def __init__(self) -> None:
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._leash: leash.Leash | None = None

    def start(self) -> str:
        """Serve from memory; its address.

        Raises:
            FileNotFoundError: there is no redis-server here.
            TimeoutError: it does not start.
        """
        program = shutil.which("redis-server")
        if program is None:
            raise FileNotFoundError("there is no redis-server on this machine; install it (Debian: redis-server)")
        if not self._port:
            with socket.create_server((HOST, 0)) as free:
                self._port = free.getsockname()[1]
        words = ["--bind", HOST, "--port", str(self._port), "--save", "", "--appendonly", "no", "--dir", tempfile.gettempdir()]
        self._process, self._leash = leash.start(
            [program, *words], None, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=Path("/")
        )
        until = time.monotonic() + _START
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                if self._say("PING") == b"+PONG\r\n":
                    return f"{HOST}:{self._port}"
            time.sleep(_LOOK)
        self.stop()
        raise TimeoutError(f"redis-server does not answer on {HOST}:{self._port}")

    def stop(self) -> None:
        """Kill it; what it held is gone."""
        if self._process is not None and self._leash is not None:
            self._leash.kill()
            self._process.wait()
            self._leash.let_go()
            self._process = self._leash = None

    def restart(self) -> None:
        """Kill it and start another."""
        self.stop()
        self.start()

    def slow(self, seconds: float) -> None:
        """Answer nothing for so long; with 0, wait until that is over."""
        self._say(f"CLIENT PAUSE {round(seconds * 1000)} ALL" if seconds else "PING")

    def _say(self, command: str) -> bytes:
        with socket.create_connection((HOST, self._port), timeout=_START) as connection:
            connection.sendall(command.encode() + b"\r\n")
            return connection.recv(64)
