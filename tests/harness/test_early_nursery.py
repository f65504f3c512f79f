import os
import sys

import pytest

from harness import nursery
from harness.cli import main as program
from harness.nursery import GRACE, Nursery, begin_early


@pytest.fixture
def early():
    begin_early()
    (begun,) = nursery._early
    yield begun
    nursery._early.clear()
    begun.leash.kill()
    begun.process.wait(60.0)
    begun.leash.let_go()


def test_the_first_nursery_takes_the_process_that_began_early_and_the_next_one_has_its_own(early):
    first, second = Nursery(["--lmcache", "0.5.6"]), Nursery(["--lmcache", "0.5.6"])
    try:
        assert first._process is early.process
        assert second._process.pid != early.process.pid
    finally:
        first.close()
        second.close()


def test_one_with_another_grace_does_not_take_it(early):
    other = Nursery(["--lmcache", "0.5.6"], grace=GRACE / 2)
    try:
        assert other._process.pid != early.process.pid
    finally:
        other.close()


def test_one_that_is_never_told_what_to_collect_ends_by_itself_and_says_nothing(early):
    early.socket.close()
    assert early.process.wait(60.0) == 0
    assert os.fstat(early.words.fileno()).st_size == 0


def test_arguments_longer_than_a_message_arrive_whole(tmp_path):
    long = Nursery(["--lmcache", "0.5.6", "--only", "x" * 100_000])
    try:
        assert long.wait(60.0) not in {0, None}
        assert "matches no case of this selection" in long.last_words()
    finally:
        long.close()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["serve"],
        ["run", "--help"],
        ["run", "-h"],
        ["run", "-j1"],
        ["run", "--jobs", "1"],
        ["run", "--jobs=1"],
        ["run", "--only", "keys.*"],
    ],
)
def test_nothing_begins_early_where_it_may_not_be_wanted(monkeypatch, words):
    begun = []
    monkeypatch.setattr(nursery, "begin_early", lambda: begun.append(words))
    program._prepare(words)
    assert not begun


def test_a_run_of_everything_begins_early(monkeypatch):
    begun = []
    monkeypatch.setattr(nursery, "begin_early", lambda: begun.append(sys.argv))
    program._prepare(["run", "--lmcache", "0.5.6"])
    assert begun
