"""Hands the cases of a run out to worker processes, and their records back in the order of the cases.

Every worker starts a client of its own, so that no worker waits for the client of another. A worker that dies costs the case
that it was executing, which is recorded as a crash of the client where the client runs inside the worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from harness.case import spec_of
from harness.client import ClientCrash, ClientFailure, ClientHang, NotAsked
from harness.clients import blackbox
from harness.clients.inprocess import STARTING
from harness.clients.spec import runs_inside
from harness.collectors import collectors
from harness.executions import cell_of
from harness.machine import processors
from harness.matrix import Matrix
from harness.nursery import GRACE, Nursery, read_words
from harness.patience import START, Patience
from harness.plugin import matrix_of
from harness.shares import Share, shares, worth_starting
from harness.supervise import exit_text
from harness.worker import ids_hash

DEATHS: Final = 20
"""Workers that may die in a run of something else than the client; each of them takes a moment to be replaced."""
QUIET: Final = 30.0
"""Seconds after which a worker that gave no record is asked whether it is alive, and again as long until it must have answered.

A client that hangs does not keep a worker from answering, unless it runs inside and holds the lock of the interpreter.
"""
_END: Final = 30.0
"""Seconds that workers have to stop their clients and servers at the end."""
_MOMENT: Final = 1.0
_AFTER_KILL: Final = 10.0
"""Seconds in which a process that was killed is gone, unless the system itself holds it."""
BEGINNING: Final = 300.0
"""Seconds in which a worker is there; collecting all cases takes a few, and minutes on a machine with far too much to do."""
LONGEST: Final = 1800.0
"""Seconds that one case may take whatever its worker answers: waits within cases have bounds of their own, far below."""


class WorkerFault(Exception):
    """A worker did not start, or died of something else than the client that it runs."""


def default_jobs() -> int:
    """Two for each processor: cases wait, for timeouts above all, for about half of their time."""
    return 2 * processors()


class Workers:
    """The plugin that takes the place of pytest's own loop over all cases.

    With ``at_once`` the process that workers are forked from starts while this one still collects, because it is clear that they
    will be needed. With ``always`` this process executes nothing, not even a single case.
    """

    def __init__(self, jobs: int, arguments: Sequence[str], *, at_once: bool, always: bool = False) -> None:
        self._jobs = jobs
        self._arguments = arguments
        self._at_once = at_once
        self._always = always
        self._waiting: list[_Worker] = []
        self._nursery: Nursery | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Let the nursery collect at the same time as this process."""
        if self._always:
            matrix_of(session.config).apart = True
        if self._at_once:
            self._waiting += [self._another() for _ in range(self._jobs)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Execute every case elsewhere, unless that is not worth it."""
        cells = [cell_of(item) for item in session.items]
        known = [cell for cell in cells if cell is not None]
        if not cells:  # a shard without a case
            return None
        matrix = matrix_of(session.config)
        costly = _costly(session.items, matrix)
        count = worth_starting(self._jobs, known, costly)
        if (count < 2 and not self._always) or session.testsfailed or len(known) < len(cells):
            return None
        matrix.dismiss_client()
        distribution = _Distribution(session.items, matrix, shares(known, costly), self._start)
        with contextlib.closing(distribution):
            if not distribution.run(count):
                session.shouldstop = f"{DEATHS} workers died"
        return True

    def pytest_sessionfinish(self) -> None:
        """Let go of workers that were started for nothing, and of what they are forked from."""
        _end(self._waiting, at_once=True)
        if self._nursery is not None:
            self._nursery.close()

    def _start(self) -> _Worker:
        return self._waiting.pop() if self._waiting else self._another()

    def _another(self) -> _Worker:
        if self._nursery is None:
            self._nursery = Nursery(self._arguments)
        return _Worker(self._nursery)


def _costly(items: Sequence[pytest.Item], matrix: Matrix) -> set[int]:
    """The numbers of cases that may end a server which the worker starts itself; one of the user is there only once."""
    if matrix.live.address is not None:
        return set()
    specs = (spec_of(item.function) for item in items)  # type: ignore[attr-defined]  # cases are functions
    return {number for number, spec in enumerate(specs) if spec is not None and spec.ends_servers}


def _end(workers: Collection[_Worker], *, at_once: bool) -> None:
    """Wait until workers have ended, by themselves or in the middle of what they do."""
    for worker in workers:
        worker.interrupt() if at_once else worker.end()
    until = time.monotonic() + (GRACE if at_once else _END)
    for worker in workers:
        worker.close(until)


class _Worker:
    """One worker process, seen from here."""

    def __init__(self, nursery: Nursery) -> None:
        self.share: Share = ()
        """What it was asked to execute and has not given a record for."""
        self.ready = False
        self.began = self.heard = time.monotonic()
        """When it began with the first case of its share, or was started; and when it gave the last sign of life."""
        self.asked: float | None = None
        """When it was asked for one, if none came since."""
        self.killed: float | None = None
        """When it was killed, because none came or because it was overdue."""
        self.overdue = False
        """Its beginning or one case of it took too long."""
        self._doing = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the worker
        self._unread = b""
        self._last_words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the worker
        theirs_in, self._numbers = os.pipe()
        self.records, theirs_out = os.pipe()
        self._nursery = nursery
        try:
            self._process = nursery.start((theirs_in, theirs_out, self._doing.fileno(), self._last_words.fileno()))
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def begin(self) -> None:
        """It has collected; from now on it is on the leash."""
        self.ready = True
        self._process.know()

    def ask(self, share: Share) -> None:
        """Give it cases to execute."""
        self.share = share
        self.began = time.monotonic()
        self._send(share)

    def ask_for_life(self) -> None:
        """Let it answer, whatever it does."""
        self.asked = time.monotonic()
        self._send(())

    def kill(self, *, overdue: bool = False) -> None:
        """End it and what runs in its session, because it gives no sign of life, or is overdue."""
        self.overdue = overdue
        self.killed = time.monotonic()
        self._process.kill()

    def over(self) -> bool:
        """Whether it has ended, also where something that it started holds its pipe open."""
        return self._process.poll() is not None

    def end(self) -> None:
        """Tell it that nothing more comes."""
        self._send(None)

    def interrupt(self) -> None:
        """Let it stop what it does, its client and its servers."""
        self._process.interrupt()

    def lines(self) -> Iterator[dict[str, Any]] | None:
        """What arrived, read without waiting for more; None once it is gone."""
        data = os.read(self.records, 1 << 16)
        if not data:
            return None
        self.heard, self.asked = time.monotonic(), None
        *lines, self._unread = (self._unread + data).split(b"\n")
        return map(json.loads, lines)

    def how(self) -> str:
        """How it ended, in words; one that is not gone although its pipe is has a moment left."""
        try:
            status = self._process.wait(_MOMENT)
        except subprocess.TimeoutExpired:
            status = self._process.end_now(_AFTER_KILL)
        return exit_text(status) if status is not None else "an end that nobody saw"

    def doing(self) -> str:
        """The operation that it asked a client inside it for when it ended, or an empty text."""
        return blackbox.read(self._doing.fileno())

    def last_words(self) -> str:
        """What it wrote to standard error outside of any case; where that is long, how it begins and ends."""
        return read_words(self._last_words.fileno()) if self._process.was_there() else self._nursery.last_words()

    def close(self, until: float) -> None:
        """Wait for its end, kill its whole session if that takes too long, and let go of it."""
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.end_now(_AFTER_KILL)
        self._process.let_go()
        for descriptor in (self.records, self._numbers):
            os.close(descriptor)
        self._last_words.close()
        self._doing.close()

    def _send(self, share: Share | None) -> None:
        # A worker that is gone shows in the other pipe.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._numbers, json.dumps(share).encode() + b"\n")


class _Distribution:
    """Shares on their way to workers, and records on their way back."""

    def __init__(self, items: Sequence[pytest.Item], matrix: Matrix, work: Sequence[Share], start: Callable[[], _Worker]) -> None:
        self._items = items
        self._ids = ids_hash(items)
        self._matrix = matrix
        self._work = deque(work)
        self._start_one = start
        self._workers: dict[int, _Worker] = {}
        self._selector = selectors.DefaultSelector()
        self._arrived: dict[int, Mapping[str, Any]] = {}
        self._next = 0
        self._deaths = 0
        self._interrupted = True
        self._inside = matrix.side == "client" and runs_inside(matrix.spec)
        self._budget = Patience(QUIET)

    def run(self, count: int) -> bool:
        """Execute everything; whether that was done.

        Raises:
            WorkerFault: a worker did not start.
        """
        for _ in range(count):
            self._start()
        self._skip()
        while self._work or any(worker.share for worker in self._workers.values()):
            for key, _ in self._selector.select(self._patience()):
                worker = self._workers[key.fd]
                lines = worker.lines()
                if lines is None:
                    self._died(worker)
                    if self._deaths >= DEATHS:
                        return False
                for line in lines or ():
                    self._take(worker, line)
        self._interrupted = False
        return True

    def _patience(self) -> float:
        """Ask the workers that were quiet for long whether they are alive, kill those that do not answer; seconds until then."""
        now = time.monotonic()
        for worker in list(self._workers.values()):
            suspect = worker.asked is not None or worker.killed is not None
            given_up = worker.killed is not None and now - worker.killed >= _AFTER_KILL
            if given_up or (suspect and worker.over()):
                self._died(worker)
            elif worker.killed is not None:
                continue
            elif worker.asked is not None and now - worker.asked >= QUIET:
                worker.kill()
            elif (worker.share and now - worker.began >= LONGEST) or (not worker.ready and now - worker.began >= BEGINNING):
                worker.kill(overdue=True)
            elif worker.ready and worker.asked is None and now - worker.heard >= QUIET:
                worker.ask_for_life()
        return QUIET / 10

    def close(self) -> None:
        """End every worker, and hand out what came out of turn."""
        _end(self._workers.values(), at_once=self._interrupted)
        self._selector.close()
        for number in sorted(self._arrived):
            collectors.add(self._arrived.pop(number))

    def _start(self) -> None:
        worker = self._start_one()
        self._workers[worker.records] = worker
        self._selector.register(worker.records, selectors.EVENT_READ)

    def _take(self, worker: _Worker, line: Mapping[str, Any]) -> None:
        if not worker.ready:
            if (line["cases"], line["ids"]) != (len(self._items), self._ids):
                raise WorkerFault(f"a worker found {line['cases']} other cases than the {len(self._items)} of this run")
            worker.begin()
        elif line:
            number, *rest = worker.share
            assert number == line["case"]
            worker.share = tuple(rest)
            worker.began = time.monotonic()
            self._arrive(number, line["record"])
        if not worker.share:
            self._skip()
            if self._work:
                worker.ask(self._work.popleft())
        if worker.share:
            item = self._items[worker.share[0]]
            item.config.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)

    def _arrive(self, number: int, record: Mapping[str, Any]) -> None:
        collectors.show(record)
        self._arrived[number] = record
        while self._next in self._arrived:
            collectors.add(self._arrived.pop(self._next))
            self._next += 1

    def _died(self, worker: _Worker) -> None:
        """Record the case that it executed, and put another worker in its place."""
        how, words, doing = worker.how(), worker.last_words(), worker.doing()
        self._selector.unregister(worker.records)
        del self._workers[worker.records]
        worker.close(time.monotonic())
        if not worker.ready:
            why = f" because it was not there after {BEGINNING:g} s" if worker.overdue else ""
            said = f": {words}" if words else ""
            raise WorkerFault(f"a worker ended with {how}{why} before it executed anything{said}")
        if worker.share:
            self._lose(worker, how, words, doing)
        self._skip()
        if self._work:
            self._start()

    def _lose(self, worker: _Worker, how: str, words: str, doing: str) -> None:
        number, *rest = worker.share
        seconds = time.monotonic() - worker.began
        error: Exception
        if self._inside:
            prefix = f"{doing}: " if doing else ""
            failure: ClientFailure
            if worker.overdue:
                failure = ClientHang(f"{prefix}the case was not over after {LONGEST:g} s")
            elif worker.killed is not None:
                text = f"{prefix}the client does not let go of the interpreter that it runs in, so that no deadline holds"
                failure = ClientHang(text)
            else:
                failure = ClientCrash(f"{prefix}the client ended the process that it runs in: {how}", stderr=words)
            waited = seconds if worker.killed is not None else 0.0
            self._budget.failed(START if doing == STARTING else doing, failure, waited)
            error = failure
        else:
            self._deaths += 1
            why = f" because the case was not over after {LONGEST:g} s" if worker.overdue else ""
            error = WorkerFault(f"the worker that executed this case ended with {how}{why}: {words}")
        self._record(number, error, seconds)
        if rest:
            self._work.appendleft(tuple(rest))

    def _skip(self) -> None:
        """Record the cases at the head of what is left that a client inside need not be asked for again."""
        while self._inside and self._work:
            kept = []
            for number in self._work.popleft():
                try:
                    spec = spec_of(getattr(self._items[number], "function", None))
                    if spec is not None and spec.judges == "client":
                        self._budget.require(spec.needs)
                    kept.append(number)
                except NotAsked as reason:
                    self._record(number, reason, 0.0)
            if kept:
                self._work.appendleft(tuple(kept))
                return

    def _record(self, number: int, error: Exception, seconds: float) -> None:
        self._arrive(number, self._matrix.record(self._items[number], error, seconds).to_json())
