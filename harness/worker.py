"""A process that executes cases for a run: it takes numbers of cases and gives their records.

Started by :mod:`harness.workers` with two pipes. A line that comes is a list of numbers, or ``null`` at the end of the run; a
line that goes is ``{"cases": N, "ids": HASH}`` once, and then ``{"case": NUMBER, "record": {...}}`` for each case.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import signal
import threading
from collections.abc import Sequence
from typing import IO, Any

import pytest

from harness.bare_pytest import bare_pytest
from harness.plugin import matrix_of


def main(words: Sequence[str]) -> int:
    """The program: descriptors of the pipe that numbers come from and of the one that records go to, arguments of pytest."""
    numbers, records = int(words[0]), int(words[1])
    for descriptor in (numbers, records):
        os.set_inheritable(descriptor, False)
    with os.fdopen(numbers, "rb") as incoming, os.fdopen(records, "wb") as outgoing:
        return bare_pytest(words[2:], Worker(incoming, outgoing))


class Worker:
    """The plugin that takes the place of pytest's own loop over all cases."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._shares: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()
        self._case = -1

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Execute what is asked for, until nothing more is."""
        self._say({"cases": len(session.items), "ids": ids_hash(session.items)})
        threading.Thread(target=self._listen, name="lmconform-shares", daemon=True).start()
        while (share := self._shares.get()) is not None:
            following = [session.items[number] for number in share[1:]]
            for number, next_item in zip(share, [*following, None], strict=True):
                self._case = number
                item = session.items[number]
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
            matrix_of(session.config).live.close()
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the record, which comes with the report of the last phase."""
        record = getattr(report, "lmconform", None)
        if record is not None:
            self._say({"case": self._case, "record": record})

    def _say(self, line: dict[str, Any]) -> None:
        self._outgoing.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
        self._outgoing.flush()

    def _listen(self) -> None:
        """Hand on what is asked for; if the run is gone, end as if it had been interrupted."""
        for line in self._incoming:
            share = json.loads(line)
            self._shares.put(share)
            if share is None:
                return
        os.kill(os.getpid(), signal.SIGINT)


def ids_hash(items: Sequence[pytest.Item]) -> str:
    """One hash over all cases in order, so that both sides mean the same by a number."""
    return hashlib.sha256("\n".join(item.nodeid for item in items).encode()).hexdigest()
