"""What is left behind when connections have ended: descriptors and threads, of a server's process or as a client tells."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fixturegen.listening import listener
from harness.failure import CaseFailure, LiveServerFailure, MockDriftFailure, TargetUnavailable
from harness.judge import Judge
from harness.processes import PARENT, PROC, stat_number
from harness.subject import Subject
from harness.targets import Server

T = TypeVar("T")

SETTLE: Final = 5.0
"""Seconds that threads and descriptors of connections may outlive them."""
LEFT_BY_MANY: Final = 20
"""Descriptors or threads that may stay behind hundreds of connections: a pool that is made when it is first needed."""
_LOOK_AGAIN: Final = 0.002
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Footprint:
    """What a process holds."""

    descriptors: int
    threads: int

    def above(self, before: Footprint, allowed: int = 0) -> str | None:
        """What this has more than an earlier one, beyond what is allowed, in words."""
        grown = [
            f"{now - then} {name}"
            for name, now, then in (
                ("descriptors", self.descriptors, before.descriptors),
                ("threads", self.threads, before.threads),
            )
            if now - then > allowed
        ]
        return " and ".join(grown) or None


def footprint(process: int) -> Footprint | None:
    """What a process holds; None where the system does not tell."""
    folder = PROC / str(process)
    try:
        return Footprint(*(sum(1 for _ in (folder / kind).iterdir()) for kind in ("fd", "task")))
    except OSError:
        return None


def server_process(server: Server) -> int | None:
    """The process of a server that is ours: this one for a mock, a descendant for a live server; None for any other."""
    if server.mock is not None:
        return os.getpid()
    found = listener(server.port)
    return found if found is not None and os.getpid() in _ancestors(found) else None


def local_process(server: Server) -> int | None:
    """The process of a server on this machine, whoever started it; None for one elsewhere."""
    own = server_process(server)
    return own if own is not None or server.host not in LOOPBACK else listener(server.port)


def blame(server: Server) -> type[CaseFailure]:
    """How a case fails where this server is at fault."""
    return LiveServerFailure if server.mock is None else MockDriftFailure


@contextlib.contextmanager
def server_leaves_nothing(judge: Judge, server: Server, *, allowed: int = 0, cite: str | None = None) -> Iterator[None]:
    """When the block and with it its connections have ended, the server holds no more descriptors and threads than before.

    ``allowed`` so many of each may be more: a server that is not the mock may keep a pool.

    A live server that is not ours is only asked for its health by whoever uses it next.
    """
    process = server_process(server)
    before = footprint(process) if process is not None else None
    yield
    if process is None or before is None:
        return
    left = settled(lambda: _above(footprint(process), before, allowed))
    if left:
        judge.fail(f"the server still holds {left} of connections that have ended", cite=cite, kind=blame(server))


@contextlib.contextmanager
def client_leaves_nothing(client: Subject, judge: Judge, *, connections: int, pool: int) -> Iterator[None]:
    """When the block has closed its connections, the client tells in ``state`` of hardly more than before.

    So many descriptors and threads as a pool may keep are allowed: clients may make some things when they first need them.
    """
    before = client.ok("state")
    yield
    left = settled(lambda: _grown(client.ok("state"), before, pool))
    words = f"after {connections} connections were opened and closed, state tells of {left} more than before"
    judge.holds(not left, words, cite="LM-STATE-001")


def room_for(descriptors: int) -> None:
    """Have room for so many more descriptors in this process, and in clients that it starts.

    Raises:
        TargetUnavailable: the system's hard limit does not allow it; the message says what to do.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = footprint(os.getpid())
    needed = descriptors + (held.descriptors if held is not None else 0)
    if 0 <= hard < needed:
        raise TargetUnavailable(f"{needed} descriptors are needed, the hard limit is {hard}; raise it (ulimit -Hn {needed})")
    if 0 <= soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def settled(look: Callable[[], T | None], seconds: float = SETTLE) -> T | None:
    """What is there to see, when it does not go away for so long; None or nothing where it does."""
    until = time.monotonic() + seconds
    while (seen := look()) and time.monotonic() < until:
        time.sleep(_LOOK_AGAIN)
    return seen


def _above(now: Footprint | None, before: Footprint, allowed: int) -> str | None:
    return now.above(before, allowed) if now is not None else None


def _grown(now: Mapping[str, Any], before: Mapping[str, Any], allowed: int) -> str | None:
    members = (("connections", 0), ("file_descriptors", allowed), ("threads", allowed))
    more = {name: (now.get(name, 0) - before.get(name, 0), limit) for name, limit in members if name in before}
    return " and ".join(f"{count} {name.replace('_', ' ')}" for name, (count, limit) in more.items() if count > limit) or None


def _ancestors(process: int) -> Iterator[int]:
    known: int | None = process
    while known is not None and known > 1:
        yield known
        known = stat_number(known, PARENT)
