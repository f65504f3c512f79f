"""A client that is a process may be limited in what it uses besides memory."""

import subprocess
import sys

import pytest

from harness.client import Budget, ClientCrash
from harness.clients.stdio import StdioSession
from harness.limits import ClientLimits, LimitsError, parse_client_limits

ADAPTER = """
import json, sys
def tell(line):
    request = json.loads(line)
    if request["op"] == "hello":
        ok = {"name": "x", "version": "1", "language": "Python", "operations": ["encode_request"], "releases": ["0.5.6"]}
    elif request["op"] == "bye":
        ok = {}
    else:
        ok = work()
    print(json.dumps({"id": request["id"], "ok": ok}), flush=True)
    return request["op"]
def work():
    WORK
    return {"bytes": {"hex": ""}}
while tell(sys.stdin.readline()) != "bye":
    pass
"""
BUSY = """
    while True:
        pass
"""
MANY = """
    held = [open("/dev/null") for _ in range(200)]
"""
LARGE = """
    with open("large", "wb") as file:
        for _ in range(1000):
            file.write(bytes(1 << 16)); file.flush()
"""


@pytest.fixture
def session(tmp_path):
    opened = []

    def start(work, limits):
        adapter = tmp_path / "adapter.py"
        adapter.write_text(ADAPTER.replace("    WORK", work.strip("\n")))
        budget = Budget(start=60, call=60, limits=parse_client_limits(limits))
        opened.append(StdioSession([sys.executable, str(adapter)], budget=budget, scratch_parent=tmp_path, cwd=tmp_path))
        return opened[-1]

    yield start
    for one in opened:
        one.stop()


@pytest.mark.parametrize(
    ("work", "limits", "why"),
    [
        (BUSY, "cpu=1", "SIGXCPU"),
        (MANY, "files=64", "exit status 1"),
        (LARGE, "file-size=100000", "exit status 1|SIGXFSZ"),
    ],
)
def test_beyond_a_limit_a_client_crashes_and_the_verdict_says_how(session, work, limits, why):
    with pytest.raises(ClientCrash, match=why):
        session(work, limits).call_undeclared("encode_request", {}, deadline=60)


@pytest.mark.parametrize(
    ("work", "limits"), [(MANY, None), (MANY, "cpu=60"), ("\n    pass\n", "cpu=60,files=64,file-size=100000")]
)
def test_within_its_limits_it_is_answered(session, work, limits):
    session(work, limits).call_undeclared("encode_request", {}, deadline=60)


@pytest.mark.parametrize("text", ["cpu=60,files=64,file-size=100000", "files=64", "cpu=1"])
def test_limits_read_as_they_are_written(text):
    assert parse_client_limits(text).text == text
    assert parse_client_limits(None) is None


@pytest.mark.parametrize(
    "text", ["", "cpu", "cpu=", "cpu=x", "cpu=0", "files=3", "cpu=1,cpu=2", "memory=5", "cpu=" + "9" * 5000, "cpu=-1"]
)
def test_what_are_no_limits_is_refused_in_words(text):
    with pytest.raises(LimitsError, match="--client-limits"):
        parse_client_limits(text)


def test_limits_of_a_process_that_is_gone_are_no_error():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    ClientLimits(cpu=5).impose(process.pid)
