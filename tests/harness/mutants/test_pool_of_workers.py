"""Workers of the kill matrix that do not start, or are lost."""

import itertools
import threading

import pytest

from harness.killmatrix import pool as pools
from harness.killmatrix.pool import Pool, WorkerLost
from harness.killmatrix.schedule import Candidate, Schedule
from reports.mutants.model import ExecutionColumn

CASES = [ExecutionColumn(f"lm.{name}[0.5.6-mock]", f"lm.{name}", "It works.", "0.5.6", "mock", "client") for name in "abc"]


class MadeUp:
    """A worker that does what a test says of each task; ``made`` holds all of them."""

    made: list["MadeUp"]
    numbers: itertools.count
    both: threading.Barrier | None = None

    def __init__(self, *_):
        self.number, self.killed, self.listing = next(self.numbers), False, {}
        self.made.append(self)
        if self.both is not None:
            self.both.wait(30)
            if self.number == 1:
                raise WorkerLost("it did not start")

    def perform(self, task, heard):
        for number in (*task["first"], *task["then"]):
            heard({"begins": number})
            if self.number == 0 and number == self.dies_at:
                raise WorkerLost("it died")
            heard({"execution": number, "killed": False, "seconds": 0.1})

    def kill(self):
        self.killed = True

    def end(self):
        pass


@pytest.fixture
def worker(monkeypatch):
    made_up = type("Worker", (MadeUp,), {"made": [], "numbers": itertools.count(), "dies_at": None})
    monkeypatch.setattr(pools, "Worker", made_up)
    return made_up


def executed(pool):
    plan = Schedule([Candidate("m", "client", "0.5.6")], CASES, [0.1] * 3, mode="complete", excused={})
    heard, lost = [], []
    pool.run(
        plan,
        lambda task: {"first": task.first, "then": task.then},
        lambda _, line: heard.append(line["execution"]),
        lambda _, number, why: lost.append((number, why)),
    )
    return heard, lost


def test_workers_that_started_are_ended_when_another_does_not_start(worker):
    worker.both = threading.Barrier(2)
    with pytest.raises(WorkerLost, match="it did not start"):
        Pool(2, (), 1.0)
    assert [made.killed for made in worker.made if made.number == 0] == [True]


def test_a_new_worker_executes_what_the_lost_one_did_not(worker):
    worker.dies_at = 1
    with Pool(1, (), 1.0) as pool:
        assert executed(pool) == ([0, 2], [(1, "it died")])


def test_a_worker_that_is_lost_before_it_executed_anything_ends_the_run(worker, monkeypatch):
    def perform(self, task, heard):
        raise WorkerLost("it takes no task")

    monkeypatch.setattr(worker, "perform", perform)
    with pytest.raises(WorkerLost, match="it takes no task"), Pool(1, (), 1.0) as pool:
        executed(pool)
