"""Sessions over Python classes: hangs, exits and wrong results of a class are told apart."""

import sys
import threading

import pytest

from harness.client import (
    AdapterFault,
    Budget,
    ClientCrash,
    ClientError,
    ClientHang,
    ClientUnavailable,
    Error,
    Miss,
    MissError,
    Ok,
    Unsupported,
    UnsupportedError,
)
from harness.clients.contract import ContractViolation
from harness.clients.inprocess import InProcessSession

CALLS = {
    "get": {
        "connection": "c",
        "key": {
            "model": "m",
            "world_size": 1,
            "worker_id": 0,
            "chunk_hash": {"int": "1"},
            "dtype": None,
            "fmt": None,
            "layer": None,
            "tags": [],
        },
        "expect": {"format": "BINARY", "dtype": None, "shape": [0, 0, 0, 0]},
    },
    "health": {"connection": "c"},
    "close": {"connection": "c"},
    "token_hashes": {"release": "0.5.6", "tokens": [], "chunk_size": 1},
}


class Base:
    def hello(self, **_):
        operations = ("get", "health", "close", "token_hashes")
        return {"name": "n", "version": "v", "language": "Python", "operations": operations, "releases": ["*"]}


def answer_of(method, op="health", deadline=5.0):
    session = InProcessSession(type("Client", (Base,), {op: method}))
    try:
        return session.call(op, CALLS[op], deadline=deadline)
    finally:
        session.stop()


def returning(result):
    return lambda _self, **_: result


def raising(error):
    def method(self, **_):
        raise error

    return method


def test_a_result_is_ok():
    assert answer_of(returning({"healthy": True})) == Ok({"healthy": True})


def test_tuples_count_as_arrays():
    assert answer_of(returning({"hashes": ("ab" * 32,)}), "token_hashes") == Ok({"hashes": ["ab" * 32]})


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (UnsupportedError("not yet"), Unsupported("not yet")),
        (ClientError("timeout", "too long"), Error("timeout", "too long")),
        (ClientError("oops", "m"), Error("internal", "ClientError with the unknown class 'oops': m")),
        (KeyError("x"), Error("internal", "KeyError: 'x'")),
        (ZeroDivisionError(), Error("internal", "ZeroDivisionError")),
    ],
)
def test_exceptions_are_answers(error, answer):
    assert answer_of(raising(error)) == answer


def test_a_miss_belongs_to_get_alone():
    assert answer_of(raising(MissError()), "get") == Miss()
    with pytest.raises(AdapterFault, match="only get and mp_retrieve can miss"):
        answer_of(raising(MissError()))


def test_an_operation_without_method_is_unsupported():
    session = InProcessSession(Base)
    assert session.call("health", CALLS["health"], deadline=5) == Unsupported("no operation 'health'")
    assert session.call("list", {"connection": "c"}, deadline=5) == Unsupported("not declared")
    assert session.call_undeclared("made_up", {"x": 1}, deadline=5) == Unsupported("no operation 'made_up'")
    assert session.call_undeclared("__init__", {}, deadline=5) == Unsupported("no operation '__init__'")
    session.stop()


@pytest.mark.parametrize(
    ("result", "fragment"),
    [
        (None, "ok: expected a mapping"),
        ({}, "ok.healthy: expected this member, which is missing"),
        ({"healthy": 1}, "ok.healthy: expected a boolean, got 1"),
    ],
)
def test_a_result_that_does_not_fit_is_a_fault(result, fragment):
    with pytest.raises(AdapterFault) as caught:
        answer_of(returning(result))
    assert fragment in str(caught.value)
    assert "answer received: " in str(caught.value)


def test_bytes_must_be_bytes():
    values = {"payload": "text", "format": "BINARY", "dtype": None, "shape": [4, 0, 0, 0]}
    with pytest.raises(AdapterFault, match=r'ok\.payload: expected bytes, got "text"'):
        answer_of(returning(values), "get")


def test_an_interrupt_raised_by_the_client_does_not_interrupt_the_harness():
    with pytest.raises(ClientCrash, match="KeyboardInterrupt"):
        answer_of(raising(KeyboardInterrupt()))


def test_leaving_the_process_is_a_crash():
    with pytest.raises(ClientCrash, match="health: the client ended its process: SystemExit: 3"):
        answer_of(lambda _self, **_: sys.exit(3))


def test_a_hang_leaves_its_thread_and_the_next_call_gets_a_fresh_instance():
    release = threading.Event()
    made = []

    class Client(Base):
        def __init__(self):
            made.append(self)

        def health(self, **_):
            if len(made) == 1:
                release.wait()
            return {"healthy": len(made) == 2}

    session = InProcessSession(Client)
    with pytest.raises(ClientHang, match=r"health: no answer within 0\.1 s"):
        session.call("health", CALLS["health"], deadline=0.1)
    assert session.call("health", CALLS["health"], deadline=5) == Ok({"healthy": True})
    assert session.starts == 2
    release.set()
    session.stop()


def test_a_constructor_that_hangs_is_a_hang():
    release = threading.Event()
    with pytest.raises(ClientHang, match="starting"):
        InProcessSession(release.wait, budget=Budget(start=0.1))
    release.set()


def test_a_constructor_that_fails_makes_the_client_unavailable():
    def factory():
        raise ValueError("no licence")

    with pytest.raises(ClientUnavailable, match="cannot make the client: ValueError: no licence"):
        InProcessSession(factory)


def test_arguments_of_the_harness_are_checked_too():
    session = InProcessSession(Base)
    with pytest.raises(ContractViolation, match=r"args\.connection"):
        session.call("health", {}, deadline=5)
    session.stop()


def test_a_stopped_session_stays_stopped(tmp_path):
    session = InProcessSession(Base, scratch_parent=tmp_path)
    session.stop()
    session.stop()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ClientUnavailable, match="stopped"):
        session.call("health", CALLS["health"], deadline=5)
