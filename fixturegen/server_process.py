"""A real server as a child process: started on a free loopback port, answered before use, stopped always, even if we die."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fixturegen import leash
from fixturegen.environment import LOCALHOST, ServerAddress
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.listening import require_own
from wire.errors import WireError
from wire.keys import any_key
from wire.lm.frames import Request, decode_reply, encode_request
from wire.lm.profile import lm_profile
from wire.release import Release

START_TIMEOUT = 180.0
STOP_TIMEOUT = 5.0
HEALTH_TIMEOUT = 5.0
PORTS_TRIED = 5
PORT_TAKEN = os.strerror(errno.EADDRINUSE)

_ports = threading.Lock()
_handed_out: set[int] = set()


def free_port(host: str = LOCALHOST) -> int:
    """A port of an address that the kernel says is free now, and that was not handed out before in this process."""
    while True:
        with socket.socket() as listener:
            listener.bind((host, 0))
            port: int = listener.getsockname()[1]
        with _ports:
            if port not in _handed_out:
                _handed_out.add(port)
                return port


@contextlib.contextmanager
def running_server(
    release: Release, command: Sequence[str], variables: Mapping[str, str], *, host: str = LOCALHOST
) -> Iterator[ServerAddress]:
    """Run ``command HOST PORT`` until the block ends.

    A server takes seconds until it listens. If another program takes the port meanwhile, it is started again with another one.

    Raises:
        EnvironmentUnavailable: it cannot be started, ended, or did not answer HEALTH in time; then the message ends with its log.
    """
    with leash.directory("lmconform-server-") as folder:
        log = folder / "server.log"
        for attempt in range(1, PORTS_TRIED + 1):
            port = free_port(host)
            process, held = _start(release, [*command, host, str(port)], variables, log)
            try:
                wait_until_healthy(release, host, port, process=process, log=log)
                require_own(port, process.pid, f"the server of lmcache {release}")
            except EnvironmentUnavailable as error:
                _stop(process, held)
                if PORT_TAKEN not in str(error) or attempt == PORTS_TRIED:
                    raise
            except BaseException:
                _stop(process, held)
                raise
            else:
                break
        try:
            yield ServerAddress(host, port, log)
        finally:
            _stop(process, held)


def _start(
    release: Release, command: Sequence[str], variables: Mapping[str, str], log: Path
) -> tuple[subprocess.Popen[bytes], leash.Leash]:
    with log.open("wb") as output:
        try:
            return leash.start(
                command, variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=log.parent
            )
        except OSError as error:
            raise EnvironmentUnavailable(
                f"the server of lmcache {release}: {command[0]} does not start ({error}); "
                "if it belongs to a cached environment, remove that folder so that it is built again"
            ) from None


def _stop(process: subprocess.Popen[bytes], held: leash.Leash) -> None:
    process.terminate()
    leash.ended(process.pid, STOP_TIMEOUT)
    held.kill()
    process.wait(STOP_TIMEOUT)
    held.let_go()


def wait_until_healthy(
    release: Release,
    host: str,
    port: int,
    *,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
    timeout: float = START_TIMEOUT,
) -> None:
    """Return once a server answers HEALTH.

    Raises:
        EnvironmentUnavailable: the process ended, or the time did.
    """
    deadline = time.monotonic() + timeout
    problem = "nothing listens"
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            raise EnvironmentUnavailable(f"the server of lmcache {release} ended with status {process.returncode}:\n{_tail(log)}")
        try:
            if healthy(release, host, port, timeout=min(HEALTH_TIMEOUT, max(deadline - time.monotonic(), 0.1))):
                return
            problem = "HEALTH is not answered with success"
        except (OSError, WireError) as error:
            problem = str(error)
        time.sleep(0.1)
    raise EnvironmentUnavailable(
        f"the server of lmcache {release} at {host}:{port} did not answer within {timeout:.0f} s ({problem}):\n{_tail(log)}"
    )


def healthy(release: Release, host: str, port: int, *, timeout: float = HEALTH_TIMEOUT) -> bool:
    """Whether a server answers a HEALTH request with success.

    Raises:
        OSError: it cannot be reached or closes.
        WireError: it answers something that is no reply header of this release.
    """
    profile = lm_profile(release)
    with socket.create_connection((host, port), timeout=timeout) as connection:
        connection.sendall(encode_request(profile, Request("HEALTH", any_key(release, "lmconform-health"))))
        data = b""
        while len(data) < profile.header.reply_size:
            piece = connection.recv(profile.header.reply_size - len(data))
            if not piece:
                raise ConnectionError("the server closed the connection instead of answering HEALTH")
            data += piece
    return decode_reply(profile, data).code == "SUCCESS"


def _tail(log: Path | None) -> str:
    return log.read_text(errors="replace")[-3000:] if log is not None else ""
