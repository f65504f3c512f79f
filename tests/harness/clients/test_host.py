"""The host that serves Python classes over standard streams."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from harness.client import AdapterFault, ClientCrash, ClientHang, Error, Ok, Unsupported
from harness.clients.host import Host
from harness.clients.stdio import StdioSession

ROOT = Path(__file__).parents[3]
CLIENT = """
import os, signal, sys
class Client:
    def hello(self, **_):
        print("hello from the client")
        operations = ["health", "exist", "list", "close", "encode_reply"]
        return {"name": "n", "version": "v", "language": "Python", "operations": operations, "releases": ["*"]}
    def health(self, *, connection, **_):
        return {"leave": lambda: sys.exit(5), "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
                "wait": signal.pause, "wrong": lambda: {"healthy": "yes"}, "object": lambda: {"healthy": object()},
                "fine": lambda: {"healthy": True}}[connection]()
"""


@pytest.fixture
def session(tmp_path, monkeypatch):
    (tmp_path / "hosted_client.py").write_text(CLIENT)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    made = StdioSession([sys.executable, "-m", "harness.clients.host", "hosted_client:Client"])
    yield made
    made.stop()


def health(session, connection, deadline=20.0):
    return session.call("health", {"connection": connection}, deadline=deadline)


def test_what_the_client_prints_is_not_an_answer(session):
    assert health(session, "fine") == Ok({"healthy": True})
    assert "hello from the client" in session.stderr


def test_failures_keep_their_class(session):
    with pytest.raises(ClientCrash, match="exit status 5"):
        health(session, "leave")
    with pytest.raises(ClientCrash, match="signal SIGKILL"):
        health(session, "die")
    with pytest.raises(ClientHang):
        health(session, "wait", deadline=0.2)
    with pytest.raises(AdapterFault, match='expected a boolean, got "yes"'):
        health(session, "wrong")
    answer = health(session, "object")
    assert isinstance(answer, Error)
    assert "cannot be written as JSON" in answer.message
    assert health(session, "no such case") == Error("internal", "KeyError: 'no such case'")
    assert session.starts == 5


def test_operations_without_method_are_unsupported(session):
    assert session.call("close", {"connection": "c"}, deadline=20) == Unsupported("no operation 'close'")
    assert isinstance(session.call_undeclared("made_up", {"bytes": [None]}, deadline=20), Unsupported)


def test_senseless_bytes_are_refused_by_the_host():
    host = Host(object())
    for value in (7, {}, {"hex": "0"}, {"file": "../x", "length": 1}):
        answer = host.answer("decode_reply", {"release": "0.5.6", "bytes": value})
        assert isinstance(answer, Error)
        assert answer.kind == "refused"


def test_bye_ends_and_so_does_the_end_of_input():
    requests = io.BytesIO(b'{"id": 1, "op": "bye", "args": {}}\n{"id": 2, "op": "state", "args": {}}\n')
    answers = io.BytesIO()
    assert Host(object()).serve(requests, answers) == 0
    assert [json.loads(line) for line in answers.getvalue().splitlines()] == [{"id": 1, "ok": {}}]
    assert Host(object()).serve(io.BytesIO(), answers) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [([], 2, "usage: "), (["json:NoSuchClass"], 69, "module json has no 'NoSuchClass'")],
)
def test_usage_errors_have_no_traceback(arguments, status, message):
    command = [sys.executable, "-m", "harness.clients.host", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr
