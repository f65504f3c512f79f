"""What the run knows of a worker: whether it is there, whether it has ended, and what a nursery told of it."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from harness.nursery import Child, Nursery, _runs


@pytest.fixture
def killed():
    return []


@pytest.fixture
def child(killed, monkeypatch):
    one = Child(SimpleNamespace(kill=lambda: killed.append("nursery")), 1)
    monkeypatch.setattr(one, "leash", SimpleNamespace(kill=lambda: killed.append("worker"), hold=lambda *_, **__: None))
    return one


def test_one_that_is_not_there_ends_with_its_nursery(child, killed):
    child.kill()
    assert killed == ["nursery"]


def test_one_that_is_there_ends_alone(child, killed):
    child.born(1, 0.1)
    child.kill()
    assert killed == ["worker"]


@pytest.fixture
def nursery():
    made = Nursery(["--lmcache", "0.5.6", "--protocol", "lm", "--only", "keys.parse.*"], grace=0.1)
    yield made
    made.close()


@pytest.fixture
def descriptors(tmp_path):
    opened = [os.open(tmp_path / str(number), os.O_RDWR | os.O_CREAT) for number in range(4)]
    yield opened
    for descriptor in opened:
        os.close(descriptor)


def test_what_is_interrupted_while_it_takes_a_message_finds_it_again(nursery, descriptors, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(nursery, "_take", interrupted)
        worker = nursery.start(descriptors)
        with pytest.raises(KeyboardInterrupt):
            nursery.listen(60.0)
    assert nursery.listen(60.0)
    assert worker.pid > 0
    assert worker.wait(60.0) is not None
    worker.let_go()


def test_one_that_was_interrupted_before_it_was_there_loses_no_message_of_its_nursery(nursery, descriptors):
    workers = [nursery.start(descriptors) for _ in range(2)]
    for worker in workers:
        worker._interrupted = True
    for worker in workers:
        assert worker.wait(60.0) == 2  # pytest's status for an interrupt
        worker.let_go()


def interrupted(_):
    raise KeyboardInterrupt


def test_a_dead_process_that_nobody_reaps_does_not_run():
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not _runs(process.pid)
    process.wait()
    assert not _runs(process.pid)
    assert _runs(os.getpid())


def test_a_killed_worker_whose_end_nobody_sees_is_given_up(child, monkeypatch):
    monkeypatch.setattr(child, "_nursery", SimpleNamespace(gone=True, listen=lambda _: False, kill=lambda: None))
    child.born(os.getpid(), 0.1)
    assert child.end_now(0.05) is None
