"""What can be done to a multiprocess server under test besides talking to it: restart it, and see what its process holds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.leaks import server_process, settled
from harness.mp.targets import MpTarget

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def restart_of(server: MpTarget) -> Callable[[], None]:
    """What restarts a server at its address.

    Raises:
        UnsupportedByClient: somebody else started it.
    """
    found = restart_if_ours(server)
    if found is None:
        raise UnsupportedByClient(None, "the server was started by somebody else, so that it is not restarted")
    return found


def restart_if_ours(server: MpTarget) -> Callable[[], None] | None:
    """What restarts a server at its address; None for one that somebody else started."""
    return server.restart if server.mock is not None or server.live is not None else None


def process_of(server: MpTarget) -> int | None:
    """The process of a server: this one for a mock; None for one that is not ours."""
    return server_process(server)  # type: ignore[arg-type]  # it looks at host, port and mock alone


def resident(process: int) -> int:
    """Bytes of memory that a process holds now.

    Raises:
        ProcessLookupError: it is gone.
    """
    try:
        words = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    except OSError:
        raise ProcessLookupError(f"process {process} is gone") from None
    return int(words[1]) * _PAGE


@contextlib.contextmanager
def left_behind(judge: Judge, server: MpTarget, allowed: int, what: str, cite: str) -> Iterator[None]:
    """When the block has ended, the server's process holds at most so many bytes more than before; where it can be seen."""
    process = process_of(server)
    if process is None:
        yield
        return
    before = resident(process)
    yield
    more = settled(lambda: excess if (excess := resident(process) - before - allowed) > 0 else None)
    if more:
        judge.fail(f"after {what} the server holds {(more + allowed) >> 20} MiB more than before", cite=cite)


def on_this_machine(server: MpTarget) -> bool:
    """Whether the process of a server shares our files: it is ours, or listens on loopback."""
    return process_of(server) is not None or server.host in {"127.0.0.1", "::1", "localhost"}
