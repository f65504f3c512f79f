"""The commands as a user gives them: tap, explain, and what becomes of recordings."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tapped import KEY, PATIENCE, connect, hit, put, read_all, reply, request, talk

from harness.cli.main import main
from harness.tap.address import Address
from harness.tap.case import differences
from harness.tap.recording import Header, Recorder, Redacted, load
from harness.tap.session import Wishes, tapping
from mockserver.faults import parse_plan
from mockserver.lm import LmServer

ROOT = str(Path(__file__).resolve().parents[3])
VALUE = b"v" * 64
PLANTED = "<script>alert(1)</script>\x1b[31m\u202e|`"


@pytest.fixture
def write(tmp_path):
    """Write a recording of some events."""

    def made(events, name="tap.jsonl", **more):
        recorder = Recorder(
            tmp_path / name, Header("lm", "127.0.0.1:1", "127.0.0.1:2", started="2026-11-30T12:00:00+00:00", **more)
        )
        for event in events:
            recorder.event(event)
        recorder.close({"connections": 1})
        return tmp_path / name

    return made


@pytest.fixture
def run(capfd):
    """Run a command in this process: its exit code, and what it said."""

    def command(*words):
        code = main([str(word) for word in words])
        said = capfd.readouterr()
        return code, said.out, said.err

    return command


GOOD = talk(
    ("client", request(3)), ("server", reply(400)), ("client", put(VALUE) + request(2)), ("server", hit(VALUE)),
    ("client", "half-close"), ("server", "close"),
)  # fmt: skip
BAD = talk(
    ("client", put(VALUE)), ("client", request(2)), ("server", hit(b"w" * 64)), ("client", "half-close"), ("server", "close")
)


def test_a_reason_is_told_once_with_how_often_and_where(write, run):
    again = [step for _ in range(5) for step in (("client", request(2)), ("server", hit(b"w" * 64)))]
    code, out, _ = run("explain", write(talk(("client", put(VALUE)), *again, ("client", "half-close"), ("server", "close"))))
    assert code == 1
    assert out.count("brought other bytes than its PUT") == 1
    assert "the same 4 times more: requests 3 to 6 of connection 1, the last at 1.110 s" in " ".join(out.split())
    assert "5 errors" in out
    assert " ".join(out.split()).count("invalid literal for int") == 2, (
        "one for the key with zero bytes in front, one for that without"
    )


def test_findings_of_another_kind_are_not_counted_together(write, run):
    other = [step for text in (b"w", b"x") for step in (("client", request(2)), ("server", hit(text * 64)))]
    _, out, _ = run("explain", write(talk(("client", put(VALUE)), *other, ("client", "half-close"), ("server", "close"))))
    assert out.count("brought other bytes than its PUT") == 2
    assert "the same" not in out


class Tap:
    """A tap as a process of its own."""

    def __init__(self, to, folder, *words):
        command = [sys.executable, "-m", "harness.cli.main", "tap", "--listen", "127.0.0.1:0", "--to", f"127.0.0.1:{to}", *words]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": ROOT}
        )
        line = self.process.stdout.readline()
        self.address = Address("127.0.0.1", int(re.search(r"listens on 127\.0\.0\.1:(\d+)", line)[1]))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=PATIENCE)
        return out


def test_a_tap_records_and_ends_at_once_with_a_footer(tmp_path):
    with LmServer("0.5.6") as server:
        tap = Tap(server.port, tmp_path, "--out", "it.jsonl")
        try:
            with connect(tap.address) as client:
                client.sendall(put(VALUE) + request(2) + request(2, dtype=9))
                assert read_all(client) == hit(VALUE)
            out = tap.stop()
        finally:
            tap.process.kill()
    assert tap.process.returncode == 1
    assert "unknown-dtype: request 3 (GET) has dtype 9" in out
    assert "LM-REQ-006" in out
    assert "the server seems to be 0.3.13 and later" in out
    found = load(tmp_path / "it.jsonl")
    assert (found.trouble, found.footer.counts["connections"]) == ("", 1)
    assert b"".join(event.data for event in found.events if event.side == "server") == hit(VALUE)


def test_a_tap_ends_by_itself_after_some_time_and_names_its_file(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("tap", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--for", "0.1")
    assert (code, "nothing was found" in out) == (0, True)
    assert [file.name.startswith("lm-2") for file in tmp_path.iterdir()] == [True]


def test_a_server_that_is_not_there_is_found(tmp_path):
    found = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        to = Address("127.0.0.1", free.getsockname()[1])
        wishes = Wishes(Address("127.0.0.1", 0), to, "lm", tmp_path / "x.jsonl")
        with (
            tapping(wishes, tell=found.append) as (address, _),
            pytest.raises(ConnectionResetError),
            connect(address) as client,
        ):
            client.recv(1)
    assert [finding.summary for finding in found] == ["the server is not reachable: Connection refused"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "tap needs --listen HOST:PORT and --to HOST:PORT"),
        (["--listen", "127.0.0.1", "--to", "127.0.0.1:1"], "--listen takes HOST:PORT"),
        (["--listen", "0.0.0.0:0", "--to", "127.0.0.1:1"], "add --allow-remote"),
        (["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--redact", "names"], "--redact takes keys, payloads"),
        (["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--profile", "0.2"], "0.2 is older than"),
        (["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--out", "/nowhere/x"], "to /nowhere/x: No such file"),
        (["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--for", "1e300"], "--for takes seconds from 0"),
        (["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--for=-1"], "--for takes seconds from 0"),
        (["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--patience", "0"], "--patience takes seconds, more than 0"),
    ],
)
def test_what_makes_no_sense_is_told(run, words, said):
    code, _, err = run("tap", *words)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_explain_tells_who_talked_what_was_said_and_what_is_wrong(write, run):
    code, out, _ = run("explain", write(BAD))
    assert code == 1
    for part in (
        "client          seems to be 0.3.13 and later",
        "value-differs",
        "SRV-LM-003",
        f"PUT    {KEY}",
        "-> 200, 64 bytes",
    ):
        assert part in out


def test_explain_of_a_good_recording_ends_with_0(write, run):
    code, out, _ = run("explain", write(GOOD))
    assert (code, "found           nothing" in out) == (0, True)


def test_explain_takes_a_release_to_judge_by(write, run):
    code, out, _ = run("explain", write(GOOD), "--profile", "0.3.1", "--only", "findings")
    assert code == 1
    assert "the client is not lmcache 0.3.1" in out
    assert "connection 1 from" not in out


def test_one_connection_can_be_told_alone(write, run):
    events = [*GOOD, *talk(("client", request(2, dtype=9)), ("server", "half-close"), connection=2, at=5.0)]
    assert run("explain", write(events), "--connection", "1")[0] == 0
    assert run("explain", write(events, "again.jsonl"), "--connection", "3")[0] == 2


def test_json_has_all_of_it(write, run):
    code, out, _ = run("explain", write(BAD), "--format", "json")
    found = json.loads(out)
    assert code == 1
    assert [one["rule"] for one in found["findings"]] == ["value-differs"]
    assert found["sides"]["server"]["candidates"][0] == "0.3.13"
    assert [row["what"] for row in found["conversations"][0]["rows"]] == [
        "PUT",
        "GET",
        "the client sends no more",
        "the server ended the connection",
    ]


def test_packets_are_written(write, run, tmp_path):
    assert run("explain", write(GOOD), "--format", "pcap", "--out", tmp_path / "it.pcap")[0] == 0
    assert put(VALUE) in (tmp_path / "it.pcap").read_bytes()


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_what_a_peer_sent_cannot_act(write, run, form):
    key = f"{PLANTED}@1@0@7f@half"
    events = talk(("client", request(2, key) + request(2, key, dtype=9)), ("server", reply(400)), ("server", "half-close"))
    events[0] = type(events[0])(1.0, 1, "client", "open", text=PLANTED)
    _, out, _ = run("explain", write(events), "--format", form)
    assert "7f@half" in out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert form != "html" or "<script" not in out


@pytest.mark.parametrize("form", ["text", "html", "json", "pcap"])
def test_a_recording_is_never_written_over(write, run, form):
    file = write(GOOD)
    before = file.read_bytes()
    code, _, err = run("explain", file, "--format", form, "--out", file)
    assert (code, "is the recording itself" in err) == (2, True)
    assert file.read_bytes() == before


def test_packets_of_what_was_left_out_are_bounded(write, run, tmp_path):
    events = talk(("client", put(b"v" * 9000)[:186]))
    events += [type(events[0])(2.0, 1, "client", "data", length=1 << 40)]
    code, _, err = run("explain", write(events), "--format", "pcap", "--out", tmp_path / "it.pcap")
    assert (code, "bytes of payload were left out" in err) == (2, True)
    assert not (tmp_path / "it.pcap").exists()


def test_what_is_no_recording_is_told_with_file_and_line(run, tmp_path):
    (tmp_path / "x.jsonl").write_text("{}\n")
    code, _, err = run("explain", tmp_path / "x.jsonl")
    assert (code, "x.jsonl, line 1" in err) == (2, True)


def test_a_recording_is_redacted_once_more(write, run, tmp_path):
    code, _, _ = run("tap", "redact", write(GOOD), tmp_path / "redacted.jsonl")
    assert code == 0
    assert load(tmp_path / "redacted.jsonl").header.redacted == Redacted(keys=True, payloads=True)
    assert VALUE.hex() not in (tmp_path / "redacted.jsonl").read_text()
    assert run("explain", tmp_path / "redacted.jsonl")[0] == 0


def test_a_port_in_use_is_told_with_its_address(run):
    with socket.create_server(("127.0.0.1", 0)) as other:
        listen = "{}:{}".format(*other.getsockname())
        code, _, err = run("tap", "--listen", listen, "--to", "127.0.0.1:1")
    assert (code, f"cannot listen on {listen}: Address already in use" in err) == (2, True)


def test_nothing_is_left_of_a_recording_that_cannot_be_redacted(write, run, tmp_path):
    file = write(GOOD)
    file.write_text(
        file.read_text().replace('"connection":1', '"connection":0', 3).replace('"connection":0', '"connection":1', 2)
    )
    code, _, err = run("tap", "redact", file, tmp_path / "redacted.jsonl")
    assert (code, "line 4: member connection" in err) == (2, True)
    assert not (tmp_path / "redacted.jsonl").exists()


def test_a_server_that_is_not_there_for_a_replay_is_named(write, run):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        to = "{}:{}".format(*free.getsockname())
        code, _, err = run("tap", "replay", write(GOOD), "--to", to)
    assert (code, f"the server at {to}: Connection refused" in err) == (2, True)


@pytest.mark.parametrize("redacted", [False, True])
def test_a_recording_is_replayed_against_a_server_that_answers_so(write, run, tmp_path, redacted):
    file = write(GOOD)
    if redacted:
        run("tap", "redact", file, tmp_path / "redacted.jsonl")
        file = tmp_path / "redacted.jsonl"
    with LmServer("0.5.6") as server:
        code, out, _ = run("tap", "replay", file, "--to", f"127.0.0.1:{server.port}")
    assert (code, out) == (0, "the same answers as recorded, 3 of them\n")


def test_a_replay_names_the_first_difference(write, run):
    code, out, _ = run("tap", "replay", write(BAD), "--to", "mock")
    assert code == 1
    assert out.startswith(f"GET '{KEY}' on c1: step 3: expected 100 bytes c800")


def test_a_replay_names_the_field_that_differs(write, run):
    events = talk(("client", request(5)), ("server", reply(400)), ("client", "half-close"), ("server", "close"))
    code, out, _ = run("tap", "replay", write(events), "--to", "mock")
    assert code == 1
    assert "code: expected 400 (fail), got 200 (success)" in out


def test_what_was_there_before_is_stored_first(write, run):
    events = talk(("client", request(2)), ("server", hit(VALUE)), ("client", "half-close"), ("server", "close"))
    assert run("tap", "replay", write(events), "--to", "mock")[0] == 0


def test_large_values_that_were_left_out_are_replayed_as_patterns(write, run):
    large, header = b"L" * 9000, put(b"L" * 9000)[:186]
    events = talk(
        ("client", header), ("client", request(2)), ("server", hit(large)[:36]), ("client", "half-close"), ("server", "close")
    )
    left_out = {"length": 9000, "sha256": "ab" * 32}
    events.insert(3, type(events[0])(1.011, 1, "client", "data", **left_out))
    events.insert(6, type(events[0])(1.031, 1, "server", "data", **left_out))
    assert run("tap", "replay", write(events), "--to", "mock") == (0, "the same answers as recorded, 2 of them\n", "")


@pytest.fixture
def case(write, run, tmp_path):
    """A test module made of a recording."""
    code, out, _ = run("tap", "case", write(GOOD), "--name", "it_answers", "--out", tmp_path / "made")
    assert (code, "test_it_answers.py" in out) == (0, True)
    return tmp_path / "made"


def pytest_in(folder):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": ROOT}, capture_output=True, text=True, check=False
    )


def test_a_case_passes_where_the_server_answers_as_recorded(case):
    assert pytest_in(case).returncode == 0


def test_a_case_fails_where_it_does_not(case):
    with LmServer("0.5.6", faults=parse_plan(["flip-bit:at=40"])) as server:
        (found,) = differences(*server.address, case / "it_answers.case.json")
    assert "expected 100 bytes" in found
    with LmServer("0.5.6") as server:
        assert differences(*server.address, case / "it_answers.case.json") == []


def test_half_a_case_is_not_written(case, write, run):
    (case / "test_it_answers.py").unlink()
    assert run("tap", "case", write(GOOD, "again.jsonl"), "--name", "it_answers", "--out", case)[0] == 2
    assert not (case / "test_it_answers.py").exists()


def test_a_case_is_not_written_over_another(case, write, run):
    code, _, err = run("tap", "case", write(GOOD, "again.jsonl"), "--name", "it_answers", "--out", case)
    assert (code, "is there already" in err) == (2, True)


@pytest.mark.parametrize("name", ["../x", "", "A", "x-y", "1x"])
def test_a_name_that_is_none_of_a_test_is_refused(write, run, name, tmp_path):
    code, _, err = run("tap", "case", write(GOOD), "--name", name, "--out", tmp_path / "made")
    assert (code, "--name takes" in err) == (2, True)
