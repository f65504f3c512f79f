"""A server that does not answer a peer as servers do fails the case."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from harness.failure import PeerFailed
from harness.judge import Judge
from harness.leaks import blame
from harness.targets import Server


@contextlib.contextmanager
def answered(judge: Judge, server: Server, *, what: str = "", cite: str | None = None) -> Iterator[None]:
    """Whatever goes wrong with a peer in the block is the finding of the case; ``what`` was done meanwhile.

    Raises:
        CaseFailure: in place of a ``PeerFailed``.
    """
    try:
        yield
    except PeerFailed as failed:
        judge.fail(f"{what}: {failed}" if what else str(failed), cite=cite, kind=blame(server))
