"""A server under test that is lost is not asked again and again."""

import pytest

from harness.client import ClientCrash, ClientHang, NotAsked
from harness.servers.watch import LIVES, SPENT, Watch


def refuses(_):
    raise ConnectionRefusedError(111, "Connection refused")


def hangs(within):
    raise TimeoutError(f"nothing within {within:.1f} s")


def test_a_server_that_answers_is_there():
    Watch("it", lambda _: True).require()


def test_a_server_that_is_back_in_time_is_there():
    answers = iter([False, False, True])
    Watch("it", lambda _: next(answers)).require()


@pytest.mark.parametrize(("ask", "after"), [(refuses, ClientCrash), (hangs, ClientHang)])
def test_a_lost_server_ends_its_cases_by_a_crash_or_a_hang(ask, after):
    with pytest.raises(NotAsked, match="not run: it was lost in an earlier case") as lost:
        Watch("it", ask, within=0.05).require()
    assert lost.value.after is after


def test_a_lost_server_is_not_asked_again():
    asked = []
    watch = Watch("it", lambda within: asked.append(within) or refuses(within), within=0.0)
    for _ in range(3):
        with pytest.raises(NotAsked):
            watch.require()
    assert len(asked) == 1


def test_a_server_that_we_start_is_started_again_and_not_for_ever():
    starts = []
    watch = Watch("it", refuses, lambda: starts.append(1), within=0.0)
    for _ in range(LIVES):
        watch.require()
    with pytest.raises(NotAsked, match=f"although it was started again {LIVES} times"):
        watch.require()
    assert len(starts) == LIVES


def test_a_server_that_fails_slowly_is_given_up():
    watch = Watch("it", lambda _: True)
    watch.failed(SPENT / 2)
    watch.require()
    watch.failed(SPENT)
    with pytest.raises(NotAsked, match="cases that it failed before took"):
        watch.require()


@pytest.mark.parametrize(("ask", "kind"), [(refuses, ClientCrash), (hangs, ClientHang)])
def test_a_case_after_which_nobody_answers_ended_by_a_crash_or_a_hang_and_the_next_is_not_run(ask, kind):
    watch = Watch("it", ask, within=0.05)
    lost = watch.lost_by("a new connection was not answered")
    assert type(lost) is kind
    assert str(lost).startswith("a new connection was not answered; it did not survive it, and answers nobody any more (")
    with pytest.raises(NotAsked):
        watch.require()


def test_a_case_that_failed_beside_a_server_that_answers_failed():
    assert Watch("it", lambda _: True).lost_by("wrong bytes") is None


def test_a_server_that_we_start_again_is_not_lost_by_a_case():
    assert Watch("it", refuses, lambda: None, within=0.0).lost_by("a new connection was not answered") is None
