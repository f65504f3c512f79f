"""Collisions that are played: what is chosen, what happens at mocks, and what is said where nothing can be shown."""

import contextlib

import pytest

from fixturegen.errors import EnvironmentUnavailable
from harness.compat import demonstrate as demonstrating
from harness.compat import stage as staging
from harness.compat.collide import collisions_of
from harness.compat.demonstrate import demonstrate, plays
from wire.release import Release


def result_of(clients, servers):
    return collisions_of([Release.parse(text) for text in clients.split()], [Release.parse(text) for text in servers.split()])


def chosen(result):
    return [(*_named(play), play.server) for play in plays(result)]


def _named(play):
    return play.kind, play.client, play.fate.operation if play.fate else ""


@pytest.fixture(scope="module")
def played():
    """The known pair, at a mock."""
    return demonstrate(result_of("0.4.7", "0.5.1"), "mock", "venv", lambda _: None)


def test_of_many_the_worst_is_chosen_that_nobody_has_to_ask_for():
    assert chosen(result_of("0.4.6 0.4.7 0.5.4 0.5.6", "0.4.7 0.5.1 0.5.2 0.5.5 0.5.6")) == [
        ("empties", "0.4.7", "GET_CHUNK_SIZE", "0.5.2"),
        ("unlocks", "0.5.6", "LOOKUP", "0.4.7"),
        ("leaks", "0.4.7", "FREE_LOOKUP_LOCKS", "0.5.2"),
        ("ends", "0.5.4", "GET_EXPERIMENTAL", "0.5.5"),
        ("short", "", "", "0.5.2"),
    ]


@pytest.mark.parametrize(
    ("clients", "servers", "expected"),
    [
        (
            "0.4.7",
            "0.5.1",
            [
                ("empties", "0.4.7", "GET_CHUNK_SIZE", "0.5.1"),
                ("leaks", "0.4.7", "FREE_LOOKUP_LOCKS", "0.5.1"),
                ("short", "", "", "0.5.1"),
            ],
        ),
        ("0.4.6", "0.4.7", [("empties", "0.4.6", "GET_CHUNK_SIZE", "0.4.7"), ("short", "", "", "0.4.7")]),
        ("0.5.6", "0.5.6", [("short", "", "", "0.5.6")]),
        ("0.3.9.post1", "0.3.9.post1", []),
    ],
)
def test_the_releases_that_are_named_are_played(clients, servers, expected):
    assert chosen(result_of(clients, servers)) == expected


def test_one_question_of_0_4_7_empties_a_mock_of_0_5_1(played):
    emptied = played[0]
    assert (emptied.problem, emptied.shown) == (None, True)
    assert [(act.did, act.came) for act in emptied.acts] == [
        ("an engine of 0.5.1 stores 3 chunks", "stored"),
        ("an engine of 0.5.1 looks its 3 chunks up", "3 hits"),
        ("a client of 0.4.7 sends GET_CHUNK_SIZE", "an answer, which it reads as nil"),
        ("the engine of 0.5.1 looks them up again", "0 hits"),
    ]
    assert emptied.acts[2].sent == (b"\x11",)


def test_locks_of_0_4_7_stay_at_a_mock_of_0_5_1(played):
    leaked = played[1]
    assert (leaked.problem, leaked.shown) == (None, True)
    assert [(act.did, act.came) for act in leaked.acts[1:]] == [
        ("a client of 0.4.7 sends LOOKUP", "an answer, which it reads as nil"),
        ("a client of 0.4.7 sends QUERY_PREFETCH_STATUS", "an answer, which it reads as 3"),
        ("a client of 0.4.7 sends FREE_LOOKUP_LOCKS", "no answer"),
        ("the state of the server is asked", "3 objects under read locks"),
    ]


def test_a_lookup_of_0_5_6_takes_away_the_locks_of_an_engine_at_a_mock_of_0_4_7():
    (unlocked, *_) = demonstrate(result_of("0.5.6", "0.4.7"), "mock", "venv", lambda _: None)
    assert (unlocked.problem, unlocked.shown) == (None, True)
    assert [act.came for act in unlocked.acts] == [
        "stored",
        "3 hits, 3 objects under read locks",
        "an answer, which it reads as nil",
        "0 objects under read locks",
        "it fails",
    ]


def test_a_message_of_one_frame_ends_a_mock_that_was_started_again(played):
    ended = played[2]
    assert (ended.problem, ended.shown) == (None, True)
    assert [act.came for act in ended.acts[:3]] == ["answered", "no answer", "no answer"]
    assert ended.acts[1].sent == ()
    assert "still takes connections" in ended.acts[3].came


def test_what_does_not_happen_is_not_shown(monkeypatch):
    """A mock of the client's own release, taken for one of the server's: the question is what it should be."""
    result = result_of("0.4.7", "0.5.1")
    real = demonstrating._mock
    monkeypatch.setattr(demonstrating, "_mock", lambda _: real(Release.parse("0.4.7")))
    emptied = demonstrate(result, "mock", "venv", lambda _: None)[0]
    assert (emptied.problem, emptied.shown) == (None, False)
    assert emptied.verdict == "3 hits before it, 3 after it: nothing was lost"


def test_a_server_that_does_not_start_is_a_problem_and_no_verdict(monkeypatch):
    @contextlib.contextmanager
    def refusing(_release):
        raise EnvironmentUnavailable("no disk")
        yield

    monkeypatch.setattr(demonstrating, "_mock", refusing)
    found = demonstrate(result_of("0.4.7", "0.5.1"), "mock", "venv", lambda _: None)
    assert [(one.shown, one.verdict, one.problem) for one in found] == [(False, "", "no disk")] * 3


def test_a_server_that_says_nothing_is_a_problem_and_no_verdict(monkeypatch):
    monkeypatch.setattr(staging, "ANSWERED", {"mock": 0.2})
    monkeypatch.setattr(staging, "encode_request", lambda *_: [b"\xcd\x03\xe7"])
    (found, *_) = demonstrate(result_of("0.4.7", "0.5.1"), "mock", "venv", lambda _: None)
    assert not found.shown
    assert found.problem == "the server of lmcache 0.5.1 does not answer REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"
