"""A client that is a process may be limited in what it uses besides memory."""

import subprocess
import sys

import pytest

from harness.cli.main import main
from harness.client import Budget, ClientCrash, ClientUnavailable
from harness.clients.stdio import StdioSession
from harness.limits import ClientLimits, LimitRefused, LimitsError, parse_client_limits
from harness.usage import UsageError, read_client_limits

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
    "text",
    [
        "",
        "cpu",
        "cpu=",
        "cpu=x",
        "cpu=0",
        "files=3",
        "cpu=1,cpu=2",
        "memory=5",
        "cpu=" + "9" * 5000,
        "cpu=-1",
        "file-size=8XB",
        "cpu=1k",
    ],
)
def test_what_are_no_limits_is_refused_in_words(text):
    with pytest.raises(LimitsError, match="--client-limits"):
        parse_client_limits(text)


def test_limits_of_a_process_that_is_gone_are_no_error():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    ClientLimits(cpu=5).impose(process.pid)


class Kernel:
    """Stands in for the module of limits: refuses one kind of them."""

    RLIMIT_CPU, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIM_INFINITY = 0, 1, 2, -1

    def __init__(self, refused):
        self.refused = refused
        self.set = {}

    def prlimit(self, _pid, kind, pair=None):
        if pair is None:
            return -1, -1
        if kind in self.refused:
            raise PermissionError(1, "Operation not permitted")
        self.set[kind] = pair
        return None


def test_a_limit_that_the_kernel_refuses_is_told_and_the_others_are_set(monkeypatch):
    kernel = Kernel({Kernel.RLIMIT_CPU})
    monkeypatch.setattr("harness.limits.resource", kernel)
    with pytest.raises(LimitRefused, match=r"cpu=5: Operation not permitted"):
        ClientLimits(cpu=5, files=64, file_size=100).impose(1)
    assert kernel.set == {Kernel.RLIMIT_NOFILE: (64, 65), Kernel.RLIMIT_FSIZE: (100, 101)}


def test_a_client_whose_limit_is_refused_is_not_started(session, monkeypatch):
    kernel = Kernel({Kernel.RLIMIT_FSIZE})
    monkeypatch.setattr("harness.limits.resource", kernel)
    with pytest.raises(ClientUnavailable, match="file-size=100: Operation not permitted"):
        session("\n    pass\n", "file-size=100")


@pytest.mark.parametrize("client", ["stdio:./adapter", "stdio:python3 x.py", "lmcache:0.5.6", "lmcache-mp:0.5.6"])
def test_clients_that_are_processes_take_limits(client):
    assert read_client_limits("cpu=5", client) == ClientLimits(cpu=5)


@pytest.mark.parametrize("client", ["reference", "reference-mp", "python:a.b:C", "mutant:x", "docker:image", "nonsense"])
def test_limits_that_nothing_would_keep_are_a_usage_error(client):
    with pytest.raises(UsageError, match=r"stdio:, lmcache: and lmcache-mp:, and not for "):
        read_client_limits("cpu=5", client)
    assert read_client_limits(None, client) is None


def test_a_run_says_which_clients_take_limits(tmp_path, capsys):
    words = ["run", "--client", "reference", "--lmcache", "0.5.6", "--client-limits", "cpu=5", "--out", str(tmp_path)]
    assert main(words) == 2
    assert "--client-limits holds for clients that are processes" in " ".join(capsys.readouterr().err.split())


def test_where_the_kernel_limits_no_other_process_it_is_said_in_words(monkeypatch):
    monkeypatch.setattr("harness.usage.CAN_LIMIT", False)
    with pytest.raises(UsageError, match="needs a kernel that limits another process"):
        read_client_limits("cpu=5", "stdio:./adapter")


@pytest.mark.parametrize(("text", "size"), [("file-size=4096", 4096), ("file-size=8MiB", 8 << 20), ("file-size=1k", 1024)])
def test_the_size_of_a_file_may_have_a_unit(text, size):
    assert parse_client_limits(text) == ClientLimits(file_size=size)
