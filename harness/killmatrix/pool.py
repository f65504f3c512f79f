"""Worker processes, each of which executes one task at a time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Protocol, Self

from harness.interpreter import program
from harness.killmatrix.schedule import Task
from harness.supervise import LineTooLong, PipeClosed, ProcessEnded, SupervisedProcess

START: Final = 120.0
"""Seconds that a worker has to collect the cases."""
SILENCE: Final = 60.0
"""Seconds, besides the deadline of a call, after which a worker that says nothing is taken for dead."""
Line = Mapping[str, Any]


class Work(Protocol):
    """What hands out tasks; it is called from one thread at a time."""

    @property
    def under_way(self) -> int:
        """Tasks that were handed out and have not ended."""

    def next(self) -> Task | None:
        """What to do next; None: nothing now, and nothing at all once no task is under way."""

    def learn(self, task: Task, number: int, *, killed: bool, seconds: float) -> None:
        """Take the outcome of one execution."""

    def end(self, task: Task) -> None:
        """The task is done."""

    def give_up(self, task: Task, number: int | None) -> None:
        """The worker of the task was lost, with an execution under way or none; what comes behind that was not executed."""


class WorkerLost(Exception):
    """A worker died or fell silent; the message says how."""


class Worker:
    """One process that has collected the cases."""

    def __init__(self, arguments: Sequence[str], deadline: float) -> None:
        self._process = SupervisedProcess(program("harness.killmatrix.worker", arguments))
        self._deadline = deadline
        try:
            self.listing: Line = self._receive(START)
        except BaseException:
            self.kill()
            raise

    def perform(self, task: Line, heard: Callable[[Line], None]) -> None:
        """Have a task done; every line of its outcome is handed on.

        Raises:
            WorkerLost: nothing more is to be heard of it.
        """
        try:
            self._process.send(json.dumps(task).encode() + b"\n", time.monotonic() + SILENCE)
        except (TimeoutError, ProcessEnded, PipeClosed) as error:
            raise WorkerLost(f"it takes no task: {error}") from None
        while "done" not in (line := self._receive(SILENCE + self._deadline)):
            heard(line)

    def end(self) -> None:
        """Let it go."""
        self._process.end(time.monotonic() + 10.0)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def _receive(self, patience: float) -> Line:
        try:
            line: Line = json.loads(self._process.receive(time.monotonic() + patience))
        except TimeoutError:
            raise WorkerLost(f"it said nothing for {patience:g} s") from None
        except (ProcessEnded, PipeClosed, LineTooLong, ValueError) as error:
            raise WorkerLost(str(error)) from None
        return line


class Pool:
    """As many workers as run at a time."""

    def __init__(self, jobs: int, arguments: Sequence[str], deadline: float) -> None:
        self._arguments = arguments
        self._deadline = deadline
        self._lock = threading.Condition()
        self._failures: list[BaseException] = []
        self._workers: list[Worker] = []
        starting = [threading.Thread(target=self._start, daemon=True) for _ in range(jobs)]
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join()
        if self._failures:
            for worker in self._workers:
                worker.kill()
        self._raise()

    @property
    def listing(self) -> Line:
        """What the workers have collected."""
        return self._workers[0].listing

    def run(
        self,
        schedule: Work,
        words: Callable[[Task], Line],
        heard: Callable[[Task, Line], None],
        lost: Callable[[Task, int | None, str], None],
    ) -> None:
        """Have everything done that a schedule hands out.

        ``lost`` is told where a worker was lost: the task, the execution that was under way, and why.

        Raises:
            WorkerLost: a worker was lost that had executed nothing of its task.
        """
        threads = [
            threading.Thread(target=self._work, args=(index, schedule, words, heard, lost), daemon=True)
            for index in range(len(self._workers))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._raise()

    def _work(
        self,
        index: int,
        schedule: Work,
        words: Callable[[Task], Line],
        heard: Callable[[Task, Line], None],
        lost: Callable[[Task, int | None, str], None],
    ) -> None:
        try:
            while (task := self._next(schedule)) is not None:
                self._perform(index, schedule, task, words(task), heard, lost)
                with self._lock:
                    self._lock.notify_all()
        except BaseException as error:  # noqa: BLE001  # raised again by whoever waits for this thread
            with self._lock:
                self._failures.append(error)
                self._lock.notify_all()

    def _next(self, schedule: Work) -> Task | None:
        with self._lock:
            while not self._failures:
                task = schedule.next()
                if task is not None or not schedule.under_way:
                    return task
                self._lock.wait()
            return None

    def _perform(
        self,
        index: int,
        schedule: Work,
        task: Task,
        words: Line,
        heard: Callable[[Task, Line], None],
        lost: Callable[[Task, int | None, str], None],
    ) -> None:
        begun: int | None = None
        learned = False

        def hear(line: Line) -> None:
            nonlocal begun, learned
            if "begins" in line:
                begun = line["begins"]
                return
            begun, learned = None, True
            with self._lock:
                schedule.learn(task, line["execution"], killed=line["killed"], seconds=line["seconds"])
                heard(task, line)

        try:
            self._workers[index].perform(words, hear)
        except WorkerLost as error:
            self._workers[index].kill()
            if begun is None and not learned:
                raise
            with self._lock:
                lost(task, begun, str(error))
            self._workers[index] = Worker(self._arguments, self._deadline)
            with self._lock:
                schedule.give_up(task, begun)
        else:
            with self._lock:
                schedule.end(task)

    def _start(self) -> None:
        try:
            worker = Worker(self._arguments, self._deadline)
        except BaseException as error:  # noqa: BLE001  # raised again by whoever waits for this thread
            self._failures.append(error)
        else:
            self._workers.append(worker)

    def _raise(self) -> None:
        if self._failures:
            raise self._failures[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self._workers:
            worker.kill() if error is not None else worker.end()
