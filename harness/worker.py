"""A process that executes cases for a run: it takes numbers of cases and gives their records.

Forked by :mod:`harness.forking` for :mod:`harness.workers`, with two pipes. A line that comes is a list of numbers, empty for a
question whether it is alive, or ``null`` at the end of the run; a line that goes is ``{"cases": N, "ids": HASH}`` once, then
``{"case": NUMBER, "record": {...}}`` for each case, and ``{}`` for each such question.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from harness.direct import Direct
from harness.memory import confine
from harness.plugin import matrix_of


class Worker:
    """The plugin that executes cases as they are asked for."""

    def __init__(self, numbers: int, records: int) -> None:
        self._numbers = numbers
        self._records = os.fdopen(records, "wb", closefd=False)
        self._shares: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()
        self._case = -1
        self._speaking = threading.Lock()

    def execute(self, session: pytest.Session, found: Mapping[str, Any]) -> None:
        """Tell what cases were found, then execute what is asked for, until nothing more is."""
        matrix = matrix_of(session.config)
        if matrix.may_kill and matrix.budget.memory is not None:
            confine(matrix.budget.memory)
        self._say(found)
        threading.Thread(target=self._listen, name="lmconform-shares", daemon=True).start()
        direct = Direct()
        while (share := self._shares.get()) is not None:
            following = [session.items[number] for number in share[1:]]
            with _captured(session.config) as manager:
                for number, next_item in zip(share, [*following, None], strict=True):
                    self._case = number
                    item = session.items[number]
                    record = direct.execute(item) if isinstance(item, pytest.Function) else None
                    if record is not None:
                        self._say({"case": number, "record": record})
                    else:
                        item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
                        manager.resume_global_capture()
            matrix.live.close()
            matrix.live_mp.close()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the record, which comes with the report of the last phase."""
        record = getattr(report, "lmconform", None)
        if record is not None:
            self._say({"case": self._case, "record": record})

    def _say(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        with self._speaking:
            self._records.write(data)
            self._records.flush()

    def _listen(self) -> None:
        """Hand on what is asked for; if the run is gone, end as if it had been interrupted."""
        for line in self._lines():
            share = json.loads(line)
            if share == []:
                self._say({})
                continue
            self._shares.put(share)
            if share is None:
                return
        os.kill(os.getpid(), signal.SIGINT)

    def _lines(self) -> Iterator[bytes]:
        # No file object: its lock, held by the thread that waits here, would hold up the end of the process.
        unread = b""
        while data := os.read(self._numbers, 1 << 16):
            *lines, unread = (unread + data).split(b"\n")
            yield from lines


@contextlib.contextmanager
def _captured(config: pytest.Config) -> Iterator[Any]:
    """What cases write goes where pytest puts it, and is forgotten at the end of their share."""
    manager = config.pluginmanager.getplugin("capturemanager")
    assert manager is not None
    manager.resume_global_capture()
    try:
        yield manager
    finally:
        manager.suspend_global_capture(in_=False)
        manager.read_global_capture()


def ids_hash(items: Sequence[pytest.Item]) -> str:
    """One hash over all cases in order, so that both sides mean the same by a number."""
    return hashlib.sha256("\n".join(item.nodeid for item in items).encode()).hexdigest()
