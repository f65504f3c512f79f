"""Processes of plugins that need lmcache, made by one that has imported it already: milliseconds in place of seconds.

See ``harness/l2/host/nursery.py``. There is one nursery for each release and adapter of lmcache, and one for all other plugins;
they end with this process at the latest.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Any, Final

from fixturegen import leash
from harness.client import ClientUnavailable
from harness.l2.calls.watcher import Watcher
from harness.l2.host.adapter import BUILTIN
from harness.l2.host.nursery import PID, READY
from harness.l2.spec import PluginSpec
from harness.supervise import STDERR_LIMIT

HOST: Final = Path(__file__).resolve().parent / "host"
IMPORTS: Final = 120.0
"""Seconds that lmcache and torch may take to be imported, whatever a plugin is allowed to take."""
KEPT: Final = 2
"""Nurseries that are there at a time; each holds lmcache and torch in memory."""
_SUBREAPER: Final = 36
"""PR_SET_CHILD_SUBREAPER of prctl: orphans below this process become its children."""
_STEP: Final = 0.005


class Adopted:
    """A child of this process that somebody else started; as much of ``subprocess.Popen`` as is needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None

    def kill(self) -> None:
        """SIGKILL, unless it was reaped."""
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float) -> int:
        """Its exit status, negative for a signal; it is reaped.

        Raises:
            subprocess.TimeoutExpired: it does not end in time.
        """
        until = time.monotonic() + timeout
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= until:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            else:
                time.sleep(_STEP)
        return self._status


class Nursery:
    """A process that makes processes.

    Raises:
        ClientUnavailable: it does not start, or cannot import what it must.
    """

    def __init__(self, spec: PluginSpec, deadline: float) -> None:
        _adopt_orphans()
        ours, theirs = socket.socketpair()
        about = {"module": spec.module, "name": spec.class_name, "options": dict(spec.options)}
        command = [spec.python, str(HOST), "--nursery", str(theirs.fileno()), json.dumps(about)]
        limit = max(deadline, IMPORTS)
        with tempfile.TemporaryFile() as words:
            with theirs:
                self._popen, self._leash = leash.start(
                    command,
                    spec.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=words,
                    pass_fds=(theirs.fileno(),),
                )
            self._requests = ours
            ours.settimeout(limit)
            try:
                said, problem = ours.recv(len(READY)), "cannot import what the plugin needs of lmcache"
            except TimeoutError:
                said, problem = b"", f"has not imported lmcache within {limit:g} s"
            if said != READY:
                self.end()
                words.seek(max(0, words.seek(0, os.SEEK_END) - STDERR_LIMIT))
                told = words.read().decode(errors="backslashreplace").strip()
                last = f": {told.splitlines()[-1]}" if told else ""
                raise ClientUnavailable(f"plugin {spec.text}: {spec.python} {problem}{last}", stderr=told)

    def make(
        self, incoming: int, outgoing: int, errors: IO[bytes], watcher: Watcher | None = None
    ) -> tuple[Adopted, leash.Leash]:
        """A process that serves two pipes, writes to a file, and may be watched.

        Raises:
            OSError: the nursery is gone.
        """
        data = b"+" if watcher is None else watcher.program
        more = () if watcher is None else watcher.descriptors
        socket.send_fds(self._requests, [data], [incoming, outgoing, errors.fileno(), *more])
        answer = self._requests.recv(PID.size)
        if len(answer) != PID.size:
            raise OSError(f"process {self._popen.pid}, which makes processes of plugins, is gone")
        child = Adopted(PID.unpack(answer)[0])
        held = leash.Leash()
        held.hold(child.pid)
        return child, held

    def end(self) -> None:
        """End it, and whatever it made and is still there."""
        self._requests.close()
        self._leash.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(5)
        self._leash.let_go()


_nurseries: Final[dict[str, Nursery]] = {}


def nursery_of(spec: PluginSpec, deadline: float) -> Nursery | None:
    """The one for a plugin, started if need be; None for plugins that start fast by themselves."""
    if not spec.real:
        return None
    path = (spec.environment or {}).get("PYTHONPATH")  # it leads to the release
    adapter = spec.class_name if spec.module == BUILTIN else None
    key = json.dumps([spec.python, path, adapter, dict(spec.options)], sort_keys=True)
    found = _nurseries.pop(key, None) or Nursery(spec, deadline)
    while len(_nurseries) >= KEPT:
        _nurseries.pop(next(iter(_nurseries))).end()
    _nurseries[key] = found
    return found


@atexit.register
def end_nurseries() -> None:
    """End all of them."""
    while _nurseries:
        _nurseries.popitem()[1].end()


def _adopt_orphans() -> None:
    library: Any = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this process cannot take in orphans")
