"""A gateway that can be stopped, slowed, restarted and damaged: what ``--backend`` asks for."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any, Final

from harness.reference.l2.damage import How, damage
from harness.reference.l2.gateway.frames import receive, send
from harness.reference.l2.writer import remove

PATIENCE: Final = 30.0
"""Seconds for a process to start or end, or a request to be answered."""


class GatewayBackend:
    """One gateway process, always at the same address, over a folder of its own that outlives it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lmconform-gateway-"))
        """Where its objects lie."""
        # Bound and never listening: it keeps the port for us while no gateway runs, and callers are refused.
        self._port = socket.socket()
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._port.bind(("127.0.0.1", 0))
        self._process: subprocess.Popen[str] | None = None
        self._end = weakref.finalize(self, _give_back, self._port, self.folder)

    @property
    def address(self) -> str:
        """Where it is or will be; known before it runs."""
        host, port = self._port.getsockname()
        return f"{host}:{port}"

    def start(self) -> str:
        """Run it, if it does not; its address."""
        if self._process is None:
            port = self.address.rpartition(":")[2]
            program = [sys.executable, "-m", "harness.reference.l2.gateway", "--folder", str(self.folder), "--port", port]
            program += ["--temporary"]  # should this process be killed, nobody else would remove it
            self._process = subprocess.Popen(
                program, cwd=_above(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
            )
            assert self._process.stdout is not None
            if not self._process.stdout.readline():
                self.stop()
                raise RuntimeError(f"the gateway did not start at {self.address}; its own words are above")
        return self.address

    def stop(self) -> None:
        """End it without a warning, as a crash would."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def restart(self) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start()

    def restart_empty(self) -> None:
        """The same, without what it kept."""
        self.stop()
        for path in self.folder.iterdir():
            remove(path)
        self.start()

    def slow(self, seconds: float) -> None:
        """From now on each answer comes so much later; 0 ends that."""
        self._tell({"do": "slow", "seconds": seconds})

    def refuse(self, on: bool) -> None:
        """Take no stores from now on, or take them again."""
        self._tell({"do": "refuse", "on": on})

    def _tell(self, words: dict[str, Any]) -> None:
        host, port = self._port.getsockname()
        with socket.create_connection((host, port), timeout=PATIENCE) as connection:
            until = time.monotonic() + PATIENCE
            send(connection, words, until=until)
            receive(connection, until=until)

    def corrupt(self, key: str, how: How) -> bool:
        """Damage what it keeps of a key; False if there is nothing."""
        return damage(self.folder, key, how)

    def close(self) -> None:
        """Stop it, give the port back and remove the folder."""
        self.stop()
        self._end()


def _give_back(port: socket.socket, folder: Path) -> None:
    port.close()
    shutil.rmtree(folder, ignore_errors=True)


def _above() -> Path:
    """The folder that holds the package, so that the program is found wherever it is started."""
    return Path(__file__).resolve().parents[len(__name__.split(".")) - 1]
