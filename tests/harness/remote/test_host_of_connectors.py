"""The process that opens connectors: hangs, crashes and refusals are told apart, and another can be opened all the same."""

import json
import os
import sys
from pathlib import Path

import pytest

from harness.client import ClientCrash, ClientHang, ClientUnavailable
from harness.remote.host_process import ConnectorRefused, Host, HostFault

TINY = Path(__file__).parent / "tiny_host.py"


@pytest.fixture
def host(tmp_path):
    running = Host([sys.executable, str(TINY)], {}, tmp_path, patience=30.0)
    yield running
    running.stop()


def test_what_was_asked_is_answered(host):
    host.open({}, 30.0)
    assert host.ask("get", {}, 30.0)["ok"] == {"was": "get"}
    host.leave()
    assert not host.occupied


def test_after_a_hang_another_connector_can_be_opened(host):
    host.open({}, 30.0)
    with pytest.raises(ClientHang, match=r"hang: no answer within 0\.3 s"):
        host.ask("hang", {}, 0.3)
    host.open({}, 30.0)
    assert host.ask("get", {}, 30.0)["ok"] == {"was": "get"}


def test_after_a_hang_over_opening_one_another_can_be_opened(host):
    with pytest.raises(ClientHang, match=r"open: no answer within 1 s"):
        host.open({"hang": True}, 1.0)
    assert host.usable
    host.open({}, 30.0)
    assert host.ask("get", {}, 30.0)["ok"] == {"was": "get"}


def test_a_crash_is_told_with_its_signal_and_its_last_words(host):
    host.open({}, 30.0)
    with pytest.raises(ClientCrash, match="the process of the engine ended with signal SIGKILL") as caught:
        host.ask("die", {}, 30.0)
    assert "I am dying" in caught.value.stderr
    host.open({}, 30.0)


def test_a_loop_that_ended_is_a_crash(host):
    host.open({}, 30.0)
    with pytest.raises(ClientCrash, match="SystemExit: 3; every later request"):
        host.ask("end_loop", {}, 30.0)


def test_a_fault_of_the_host_is_none_of_the_connector(host):
    host.open({}, 30.0)
    with pytest.raises(HostFault, match="KeyError: x"):
        host.ask("fault", {}, 30.0)


@pytest.mark.parametrize(("kind", "missing"), [("TypeError", False), ("Missing", True)])
def test_a_refusal_says_whether_there_is_such_a_class(host, kind, missing):
    with pytest.raises(ConnectorRefused, match="no such thing") as caught:
        host.open({"refuse": kind}, 30.0)
    assert caught.value.missing is missing
    host.open({}, 30.0)


def test_a_connector_that_is_killed_in_the_middle_of_a_call_leaves_no_answer_behind(host):
    for _ in range(5):
        host.open({}, 30.0)
        host.begin("get", {}, 30.0)
        host.kill()
        host.open({}, 30.0)
        assert host.ask("exists", {}, 30.0)["ok"] == {"was": "exists"}
        host.leave()


def test_a_large_payload_goes_through_a_file_and_is_removed_once_read(host, tmp_path):
    data = bytes(1 << 17)
    told = host.left(data)
    assert host.taken(told) == data
    assert not list(tmp_path.glob("request-*"))
    assert host.left(b"x") == {"hex": "78"}


def test_a_host_that_does_not_start_is_told(tmp_path):
    with pytest.raises(ClientUnavailable, match="does not start"):
        Host([sys.executable, "-c", "raise SystemExit(3)"], {}, tmp_path, patience=30.0)


@pytest.mark.parametrize("noise", ["a line of a log", "17", "[" * 5000, '"ended"'])
def test_what_is_no_answer_is_a_crash_of_the_connector(tmp_path, noise):
    host = Host([sys.executable, str(TINY)], {"NOISE": json.dumps(noise)}, tmp_path, patience=30.0)
    host.open({}, 30.0)
    with pytest.raises(ClientCrash, match="writes to descriptors that are not its own"):
        host.ask("noise", {}, 30.0)
    assert not host.usable
    host.stop()


@pytest.mark.parametrize("pid", [-1, 0, 1, "12", None, pytest.param(os.getpid(), id="ours")])
def test_a_process_that_the_host_did_not_make_is_never_killed(host, pid, monkeypatch):
    killed = []
    monkeypatch.setattr("harness.remote.host_process.os.kill", lambda which, _: killed.append(which))
    with pytest.raises(ClientCrash, match="not its own"):
        host.open({"pid": pid}, 30.0)
    host.kill()
    assert pid not in killed, "it may have killed what is left of its own, and nothing else"


def test_a_file_elsewhere_is_neither_read_nor_removed(host, tmp_path_factory):
    precious = tmp_path_factory.mktemp("elsewhere") / "precious"
    precious.write_text("not the connector's")
    with pytest.raises(ClientCrash, match="not its own"):
        host.taken({"file": str(precious)})
    link = host.folder / "answer-1"
    link.symlink_to(precious)
    with pytest.raises(ClientCrash, match="not its own"):
        host.taken({"file": str(link)})
    assert precious.exists()
