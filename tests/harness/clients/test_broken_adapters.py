"""Every way an adapter can be broken ends in the right failure, within bounded time, and the next call gets a fresh one."""

import os
import select
import shlex
import sys
import time
from pathlib import Path

import pytest

from harness.client import AdapterFault, Budget, ClientCrash, ClientHang, Ok
from harness.clients.spec import open_client
from harness.clients.stdio import StdioSession

BROKEN = Path(__file__).parent / "broken"
BUDGET = Budget(start=10, call=10, stop=1)
HASHES = {"release": "0.5.6", "tokens": [1], "chunk_size": 1}
PACK = {
    "release": "0.5.6",
    "format": "KV_2LTD",
    "dtype": "uint8",
    "slots": [0],
    "paged": b"ab",
    "paged_shape": [1, 2, 1, 1, 1, 1],
}


def adapter(name, *arguments, budget=BUDGET):
    return StdioSession([sys.executable, str(BROKEN / f"{name}.py"), *arguments], budget=budget)


def failure_of(session, expected, op="token_hashes", args=HASHES, deadline=10.0):
    begin = time.monotonic()
    with pytest.raises(expected) as caught:
        session.call(op, args, deadline=deadline)
    assert caught.type is expected
    assert time.monotonic() - begin < deadline + 5
    begin = time.monotonic()
    session.stop()
    assert time.monotonic() - begin < 5
    return str(caught.value), caught.value


def test_a_hang_is_a_hang():
    message, _ = failure_of(adapter("hangs"), ClientHang, deadline=0.2)
    assert message == "token_hashes: no answer within 0.2 s"


def test_half_a_line_and_then_nothing_is_a_hang_that_quotes_the_half():
    message, _ = failure_of(adapter("half_a_line"), ClientHang, deadline=0.5)
    assert '{"id": 2, "ok": {"hash' in message


def test_an_adapter_that_reads_nothing_is_a_hang_even_when_the_request_fills_the_pipe():
    session = adapter("never_reads")
    failure_of(session, ClientHang, args={**HASHES, "tokens": list(range(200_000))}, deadline=0.2)


def test_a_crash_names_the_signal_and_the_last_words():
    message, failure = failure_of(adapter("segfaults"), ClientCrash)
    assert "signal SIGSEGV" in message
    assert "about to die" in message
    assert failure.stderr == "about to die\n"


def test_an_exit_names_the_status():
    message, _ = failure_of(adapter("exits"), ClientCrash)
    assert "exit status 3" in message


def test_an_exit_in_the_middle_of_a_line_quotes_it():
    message, _ = failure_of(adapter("exits_mid_line"), ClientCrash)
    assert "exit status 0" in message
    assert '{"id": 2, "ok"' in message


@pytest.mark.parametrize(
    ("line", "fragments"),
    [
        ("garbage\n", ["one JSON object", "line received: garbage"]),
        ("\n", ["one JSON object"]),
        ("[2]\n", ["one JSON object", "[2]"]),
        ('{"id": 2, "ok": {"hashes": [NaN]}}\n', ["NaN is not JSON"]),
        ('{"id": 2, "ok": {"hashes": ["\\ud800"]}}\n', ["surrogate"]),
        ('{"id": 2, "ok": \udcff}\n', ["UTF-8"]),
        ("[" * 100_000 + "\n", ["one JSON object"]),
        ('{"id": 99, "ok": {"hashes": []}}\n', ["id: expected 2", "got 99"]),
        ('{"id": 1, "ok": {"hashes": []}}\n', ["id: expected 2", "answered before"]),
        ('{"id": "2", "ok": {"hashes": []}}\n', ["id: expected 2", 'got "2"']),
        ('{"ok": {"hashes": []}}\n', ["id: expected 2", "missing"]),
        ('{"id": 2}\n', ["exactly one of ok, miss, unsupported, error, found none of them"]),
        ('{"id": 2, "ok": {"hashes": []}, "error": null}\n', ["found ok and error", "leave a member out"]),
        ('{"id": 2, "miss": true}\n', ["only get and mp_retrieve can miss"]),
        ('{"id": 2, "miss": false}\n', ["only get and mp_retrieve can miss"]),
        ('{"id": 2, "unsupported": {}}\n', ["unsupported.reason", "missing"]),
        ('{"id": 2, "error": {"class": "oops", "message": "m"}}\n', ["error.class", '"refused"', 'got "oops"']),
        ('{"id": 2, "ok": {}}\n', ["ok.hashes", "missing", "line received: "]),
        ('{"id": 2, "ok": {"hashes": [7]}}\n', ["ok.hashes[0]: expected 32 bytes as lower-case hexadecimal, got 7"]),
        ('{"id": 2, "ok": {"hashes": []}}\n{"id": 2, "ok": {"hashes": []}}\n', ["one line for each request"]),
        ('{"id": 2, "ok": {"hashes": []}}\n{"id"', ["one line for each request"]),
    ],
)
def test_a_line_that_breaks_the_contract_is_quoted_with_what_was_expected(line, fragments):
    message, _ = failure_of(adapter("says", line), AdapterFault)
    for fragment in fragments:
        assert fragment in message
    assert "line received: " in message
    assert len(message) < 1500


@pytest.mark.parametrize("name", ["endless_output", "huge_line"])
def test_a_line_without_end_is_bounded(name):
    message, _ = failure_of(adapter(name), AdapterFault)
    assert "16777216 bytes without a line feed" in message


def test_closing_standard_input_is_a_fault():
    message, _ = failure_of(adapter("closes_stdin"), AdapterFault)
    assert "closed its standard input" in message


def test_closing_standard_output_is_a_crash():
    message, _ = failure_of(adapter("closes_stdout"), ClientCrash)
    assert "closed its standard output" in message


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "alive"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    yield path, descriptor
    os.close(descriptor)


def test_a_child_that_keeps_the_pipes_is_killed_with_the_adapter(fifo):
    path, descriptor = fifo
    message, _ = failure_of(adapter("leaves_a_child", str(path), "stay"), ClientCrash)
    assert "exit status 0" in message
    readable, _, _ = select.select([descriptor], [], [], 5)
    assert readable
    assert os.read(descriptor, 1) == b""


def test_a_child_that_left_the_group_does_not_block_anything(fifo):
    path, _ = fifo
    message, _ = failure_of(adapter("leaves_a_child", str(path), "escape"), ClientCrash)
    assert "exit status 0" in message
    os.write(os.open(path, os.O_RDWR), b"x")


def test_a_start_without_answer_is_a_hang():
    with pytest.raises(ClientHang, match=r"hello: no answer within 0\.2 s"):
        adapter("starts_slowly", budget=Budget(start=0.2, stop=1))


def test_a_hello_that_does_not_fit_is_a_fault(tmp_path):
    script = tmp_path / "hello.py"
    script.write_text('input()\nprint(\'{"id": 1, "ok": {"name": "x"}}\', flush=True)\ninput()\n')
    with pytest.raises(AdapterFault, match=r"ok\.version: expected this member, which is missing"):
        open_client(f"stdio:{shlex.join([sys.executable, str(script)])}")


def test_a_hello_that_is_no_ok_is_a_fault(tmp_path):
    script = tmp_path / "hello.py"
    script.write_text('input()\nprint(\'{"id": 1, "unsupported": {"reason": "no"}}\', flush=True)\ninput()\n')
    with pytest.raises(AdapterFault, match="hello must be answered ok"):
        open_client(f"stdio:{shlex.join([sys.executable, str(script)])}")


def test_a_flood_on_standard_error_blocks_nothing_and_only_its_end_is_kept():
    session = adapter("floods_stderr")
    assert session.call("token_hashes", HASHES, deadline=10) == Ok({"hashes": []})
    assert session.stderr.endswith("line 19999 of a flood of words that nobody will ever read to its end\n")
    assert session.stderr.startswith("[")
    assert len(session.stderr) < 70_000
    session.mark()
    assert session.stderr == ""
    session.stop()


@pytest.mark.parametrize(
    ("kind", "fragment"),
    [
        ("traversal", "ok.bytes.file: expected the name of a file in the scratch directory, without a path"),
        ("symlink", "ok.bytes.file: expected a regular file"),
        ("fifo", 'ok.bytes.file: expected "answer" to be a regular file'),
        ("directory", 'ok.bytes.file: expected "answer" to be a regular file'),
        ("short", 'ok.bytes.length: expected the size of file "answer", 2 bytes, got 3'),
        ("missing", "ok.bytes.file: expected a regular file"),
    ],
)
def test_a_file_that_is_not_what_the_line_says_is_a_fault(kind, fragment):
    message, _ = failure_of(adapter("leaves_a_file", kind), AdapterFault, op="pack_layout", args=PACK)
    assert fragment in message


def test_a_file_is_read_and_deleted(tmp_path):
    session = StdioSession([sys.executable, str(BROKEN / "leaves_a_file.py"), "good"], budget=BUDGET, scratch_parent=tmp_path)
    assert session.call("pack_layout", PACK, deadline=10) == Ok({"bytes": b"abc", "shape": [3]})
    (scratch,) = tmp_path.iterdir()
    assert list(scratch.iterdir()) == []
    session.stop()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "found"), [("link", "a symbolic link"), ("other", "another directory"), ("file", "a file"), ("nothing", "nothing")]
)
def test_a_client_that_replaces_its_scratch_directory_is_told_and_what_the_link_leads_to_stays(tmp_path, kind, found):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("data")
    parent = tmp_path / "parent"
    parent.mkdir()
    command = [sys.executable, str(BROKEN / "replaces_its_scratch.py"), kind, str(elsewhere)]
    session = StdioSession(command, budget=BUDGET, scratch_parent=parent)
    try:
        with pytest.raises(AdapterFault, match=f"expected the client to leave it in place, and found {found}"):
            session.call("token_hashes", HASHES, deadline=10)
        (scratch,) = parent.iterdir()
        assert scratch.is_dir()
        assert not scratch.is_symlink()
    finally:
        session.stop()
    assert list(parent.iterdir()) == []
    assert (elsewhere / "precious").read_text() == "data"


def test_a_client_that_replaces_its_scratch_directory_when_it_ends_is_told_as_well(tmp_path):
    command = [sys.executable, str(BROKEN / "replaces_its_scratch.py"), "at-the-end", str(tmp_path / "nowhere")]
    parent = tmp_path / "parent"
    parent.mkdir()
    session = StdioSession(command, budget=BUDGET, scratch_parent=parent)
    try:
        with pytest.raises(AdapterFault, match="bye: the scratch directory: expected the client to leave it in place"):
            session.call("bye", {}, deadline=10)
    finally:
        session.stop()
    assert list(parent.iterdir()) == []


def test_the_call_after_a_crash_gets_a_fresh_adapter(tmp_path):
    session = adapter("dies_once", str(tmp_path / "died"))
    with pytest.raises(ClientCrash, match="exit status 7"):
        session.call("token_hashes", HASHES, deadline=10)
    assert session.call("token_hashes", HASHES, deadline=10) == Ok({"hashes": []})
    assert session.starts == 2
    session.stop()
    assert session.exit_status == 0


def test_an_adapter_deaf_to_bye_and_terminate_is_killed():
    session = adapter("ignores_bye")
    begin = time.monotonic()
    session.stop()
    assert time.monotonic() - begin < 5
    assert session.exit_status is None
