"""Several requests under way at once: handed over together, matched by id, and every failure named for what it is."""

import sys
import threading
import time
from pathlib import Path

import pytest

from harness.client import IN_FLIGHT, AdapterFault, Budget, Call, ClientCrash, ClientHang, NotAsked, Ok, Unsupported
from harness.clients.contract import ContractViolation
from harness.clients.inprocess import InProcessSession
from harness.clients.stdio import StdioSession

BROKEN = Path(__file__).parent / "broken"
BUDGET = Budget(start=20, call=10, stop=0.2)
ROOT = Path(__file__).parents[3]


def hashes(*numbers, padding=0):
    return [Call.of("token_hashes", release="0.5.6", tokens=[number, *[1] * padding], chunk_size=1) for number in numbers]


def answers(*numbers):
    return [f"{number:064x}" for number in numbers]


def first_hashes(found):
    assert all(isinstance(answer, Ok) for answer in found), found
    return [
        answer.values["hashes"][0].hex() if isinstance(answer.values["hashes"][0], bytes) else answer.values["hashes"][0]
        for answer in found
    ]


@pytest.fixture
def adapter():
    running = []

    def start(how, count):
        running.append(StdioSession([sys.executable, str(BROKEN / "several.py"), how, str(count)], budget=BUDGET))
        return running[-1]

    yield start
    for session in running:
        session.stop()


class Together:
    """Answers only once so many calls are under way."""

    def __init__(self, count=3, *, concurrent=True):
        self._all_there = threading.Barrier(count)
        self._concurrent = concurrent
        self._counting = threading.Lock()
        self.under_way = 0
        self.most = 0

    def hello(self, **_):
        operations = ["exist", "health", "close"]
        described = {"name": "n", "version": "v", "language": "Python", "operations": operations, "releases": ["*"]}
        return {**described, "concurrent": self._concurrent}

    def exist(self, *, connection, **_):
        if connection == "together":
            self._all_there.wait(20)
        return {"exists": True}

    def health(self, *, connection, **_):
        with self._counting:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        try:
            return {
                "fine": lambda: {"healthy": True}, "leave": lambda: sys.exit(5), "wrong": lambda: {"healthy": 7},
                "wait": threading.Event().wait, "no": lambda: {"healthy": False},
            }[connection]()  # fmt: skip
        finally:
            with self._counting:
                self.under_way -= 1


def health(*connections):
    return [Call.of("health", connection=connection) for connection in connections]


KEY = {
    "model": "m",
    "world_size": 1,
    "worker_id": 0,
    "chunk_hash": {"int": "1"},
    "dtype": "float16",
    "fmt": None,
    "layer": None,
    "tags": [],
}


@pytest.fixture
def inside():
    running = []

    def start(*, concurrent=True):
        made = Together(concurrent=concurrent)
        running.append(InProcessSession(lambda: made, budget=BUDGET))
        return running[-1], made

    yield start
    for session in running:
        session.stop()


def test_all_are_handed_over_before_one_is_answered_and_answers_are_matched_by_id(adapter):
    session = adapter("backwards", 5)
    assert first_hashes(session.call_all(hashes(7, 8, 9, 10, 11), deadline=20)) == answers(7, 8, 9, 10, 11)
    assert first_hashes(session.call_all(hashes(1, 2, 3, 4, 5), deadline=20)) == answers(1, 2, 3, 4, 5)
    assert session.starts == 1


def test_in_this_process_too(inside):
    session, _ = inside()
    calls = [Call.of("exist", connection="together", key=KEY) for _ in range(3)]
    assert session.call_all(calls, deadline=20) == [Ok({"exists": True})] * 3


def test_answers_come_in_the_order_of_the_calls_in_this_process_too(inside):
    session, _ = inside()
    assert session.call_all(health("fine", "no", "fine"), deadline=20) == [
        Ok({"healthy": True}),
        Ok({"healthy": False}),
        Ok({"healthy": True}),
    ]


def test_no_call_is_no_request(adapter, inside):
    assert list(adapter("backwards", 5).call_all([], deadline=20)) == []
    assert list(inside()[0].call_all([], deadline=20)) == []


def test_more_than_the_contract_allows_are_sent_as_answers_come(adapter):
    numbers = range(2 * IN_FLIGHT)
    session = adapter("backwards", IN_FLIGHT)
    assert first_hashes(session.call_all(hashes(*numbers), deadline=30)) == answers(*numbers)


def test_neither_side_waits_for_the_other_with_full_pipes(adapter):
    session = adapter("at-once", 1)
    assert first_hashes(session.call_all(hashes(*range(12), padding=200_000), deadline=30)) == answers(*range(12))


def test_what_was_not_declared_is_unsupported_and_not_sent(adapter):
    session = adapter("backwards", 2)
    calls = [*hashes(1), Call.of("health", connection="c"), *hashes(2)]
    found = session.call_all(calls, deadline=20)
    assert found[1] == Unsupported("not declared")
    assert first_hashes([found[0], found[2]]) == answers(1, 2)


def test_wrong_arguments_of_one_are_a_fault_of_the_harness_and_nothing_is_sent(adapter):
    session = adapter("backwards", 1)
    with pytest.raises(ContractViolation):
        session.call_all([*hashes(1), Call.of("token_hashes", tokens="x")], deadline=20)
    assert first_hashes(session.call_all(hashes(3), deadline=20)) == answers(3)


def test_a_client_that_does_not_declare_it_is_never_sent_two_at_once(inside):
    session, client = inside(concurrent=False)
    assert session.call_all(health(*["fine"] * 8), deadline=20) == [Ok({"healthy": True})] * 8
    assert client.most == 1


def test_an_adapter_that_does_not_declare_it_is_never_sent_two_at_once(tmp_path):
    (tmp_path / "alone.py").write_text(
        f"import sys; sys.path.insert(0, {str(BROKEN)!r})\n"
        "import os, json, select\n"
        "from polite import hello, write\n"
        "sys.stdin = os.fdopen(0, 'rb', buffering=0)\n"
        "class Raw:\n    buffer = sys.stdin\n"
        "sys.stdin = Raw\n"
        "hello()\n"
        "while True:\n"
        "    data = b''\n"
        "    while not data.endswith(b'\\n'):\n"
        "        data += os.read(0, 1 << 20) or os._exit(0)\n"
        "    first, *others = data.splitlines()\n"
        "    request = json.loads(first)\n"
        "    write(id=request['id'], ok={'hashes': [f'{len(others):064x}']})\n"
    )
    session = StdioSession([sys.executable, str(tmp_path / "alone.py")], budget=BUDGET)
    try:
        assert first_hashes(session.call_all(hashes(1, 2, 3), deadline=20)) == answers(0, 0, 0)
    finally:
        session.stop()


def failure(session, expected, calls, deadline=20.0):
    began = time.monotonic()
    with pytest.raises(expected) as caught:
        session.call_all(calls, deadline=deadline)
    assert caught.type is expected
    assert time.monotonic() - began < deadline + 5
    return str(caught.value)


def test_a_hang_of_one_names_it(adapter):
    message = failure(adapter("all-but-the-second", 3), ClientHang, hashes(1, 2, 3), deadline=1)
    assert message == "token_hashes (2 of 3): no answer within 1 s"


def test_a_hang_quotes_the_half_of_a_line(adapter):
    message = failure(adapter("half", 3), ClientHang, hashes(1, 2, 3), deadline=1)
    assert message.startswith("token_hashes (2 of 3), token_hashes (3 of 3): no answer within 1 s")
    assert '{"id": 3, "ok"' in message


def test_a_hang_of_one_names_it_in_this_process_too(inside):
    session, _ = inside()
    message = failure(
        session, ClientHang, [*health("fine"), Call.of("exist", connection="together", key=KEY), *health("wait")], deadline=0.5
    )
    assert message == "exist (2 of 3), health (3 of 3): no answer within 0.5 s"


def test_a_hang_of_many_gives_their_number(adapter):
    message = failure(adapter("nothing", 9), ClientHang, hashes(*range(9)), deadline=0.5)
    assert message == "token_hashes (1 of 9), token_hashes (2 of 9), token_hashes (3 of 9) and 6 more: no answer within 0.5 s"


def test_a_crash_names_those_that_have_no_answer(adapter):
    message = failure(adapter("dies", 3), ClientCrash, hashes(1, 2, 3))
    assert message == "token_hashes (2 of 3), token_hashes (3 of 3): the process ended with exit status 3"


def test_a_crash_in_this_process_names_those_that_have_no_answer(inside):
    session, _ = inside()
    message = failure(session, ClientCrash, health("leave", "wait"))
    assert message == "health (1 of 2), health (2 of 2): the client ended its process: SystemExit: 5"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("one-twice", "id: expected 3 or 4, the id of a request that has no answer yet; that request was answered before, got 2"),
        ("an-unknown-one", "id: expected 2 or 3 or 4, the id of a request that has no answer yet, got 99"),
    ],
)
def test_an_answer_that_nobody_waits_for_is_a_fault_that_quotes_it(adapter, how, said):
    message = failure(adapter(how, 3), AdapterFault, hashes(1, 2, 3))
    assert said in message
    assert "line received: " in message


def test_a_line_behind_the_last_answer_is_a_fault_at_the_latest_of_the_next_call(adapter):
    session = adapter("one-too-many", 3)

    def ask_twice():
        session.call_all(hashes(1, 2, 3), deadline=20)
        session.call_all(hashes(1, 2, 3), deadline=20)

    with pytest.raises(AdapterFault, match='"id": 99'):
        ask_twice()


def test_a_wrong_answer_of_one_is_a_fault_in_this_process_too(inside):
    session, _ = inside()
    message = failure(session, AdapterFault, health("fine", "wrong"))
    assert message.startswith("health: ok.healthy: expected a boolean, got 7")


def test_after_each_failure_the_next_call_gets_a_fresh_client(inside):
    session, _ = inside()
    for calls, expected in ((health("leave"), ClientCrash), (health("wait"), ClientHang), (health("wrong"), AdapterFault)):
        failure(session, expected, calls, deadline=0.5)
    assert session.call_all(health("fine", "fine"), deadline=20) == [Ok({"healthy": True})] * 2
    assert session.starts == 4


def test_a_client_that_fails_at_it_again_and_again_is_no_longer_asked_for_several(inside):
    session, _ = inside()
    for _ in range(5):
        failure(session, ClientCrash, health("leave"))
    assert "`concurrent` of the client crashed 5 times in a row before" in failure(session, NotAsked, health("fine"))
    assert session.call("health", {"connection": "fine"}, deadline=20) == Ok({"healthy": True})


def test_a_stopped_session_takes_nothing_more(adapter, inside):
    for session in (adapter("backwards", 1), inside()[0]):
        session.stop()
        with pytest.raises(Exception, match="the session was stopped"):
            session.call_all(hashes(1) if isinstance(session, StdioSession) else health("fine"), deadline=5)


@pytest.fixture
def hosted(tmp_path, monkeypatch):
    """The class above in a process of its own."""
    (tmp_path / "together.py").write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom test_several_at_once import Together\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    session = StdioSession([sys.executable, "-m", "harness.clients.host", "together:Together"], budget=BUDGET)
    yield session
    session.stop()


def test_a_hosted_client_serves_requests_in_threads(hosted):
    calls = [Call.of("exist", connection="together", key=KEY) for _ in range(3)]
    assert hosted.call_all(calls, deadline=20) == [Ok({"exists": True})] * 3


def test_a_hosted_client_that_leaves_in_a_thread_ends_its_process(hosted):
    assert failure(hosted, ClientCrash, health("leave", "wait")).startswith(
        "health (1 of 2), health (2 of 2): the process ended with exit status 5"
    )


def test_a_hosted_client_that_hangs_in_a_thread_says_goodbye(hosted):
    assert failure(hosted, ClientHang, health("fine", "wait"), deadline=2).startswith("health (2 of 2): no answer within 2 s")
    assert hosted.call_all(health("fine"), deadline=20) == [Ok({"healthy": True})]
    assert hosted.call("bye", {}, deadline=20) == Ok({})
