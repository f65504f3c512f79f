"""Who listens on a port of this machine, as far as ``/proc`` tells."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fixturegen.errors import EnvironmentUnavailable
from fixturegen.leash import process_ids

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"


def listener(port: int) -> int | None:
    """The process that listens there; None where nobody does, or the system does not tell."""
    sockets = {f"socket:[{inode}]" for name in ("tcp", "tcp6") for inode in _inodes(_PROC / "net" / name, port)}
    if not sockets:
        return None
    for pid in process_ids():
        with contextlib.suppress(OSError):
            if any(str(entry.readlink()) in sockets for entry in (_PROC / str(pid) / "fd").iterdir()):
                return pid
    return None


def require_own(port: int, leader: int, server: str) -> None:
    """Refuse a port that is known to be that of another program, which may answer as the server would.

    ``leader`` leads the process group of the server, and ``server`` names it.

    Raises:
        EnvironmentUnavailable: the port is another program's; the message has the words of the system for that.
    """
    found = listener(port)
    with contextlib.suppress(ProcessLookupError):
        if found is not None and os.getpgid(found) != leader:
            taken = os.strerror(errno.EADDRINUSE)
            raise EnvironmentUnavailable(f"{server}: port {port}: {taken} by another program")


def _inodes(table: Path, port: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                yield words[9]
