"""What the supervision of processes promises beyond what sessions show."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.supervise import LineTooLong, ProcessEnded, SupervisedProcess, Tail, exit_text

ROOT = Path(__file__).parents[3]
BROKEN = Path(__file__).parent / "broken"
NEVER_STOPPED = """
import sys
from pathlib import Path
from harness.clients.stdio import StdioSession
session = StdioSession(sys.argv[2:], scratch_parent=Path(sys.argv[1]))
raise SystemExit(len(list(Path(sys.argv[1]).iterdir())) - 1)
"""


def test_a_tail_keeps_the_end_and_says_what_it_dropped():
    tail = Tail(limit=4)
    tail.add(b"abcdef")
    assert tail.text() == "[2 bytes before this were dropped]\ncdef"


def test_what_is_kept_begins_with_a_whole_line():
    tail = Tail(limit=8)
    tail.add(b"first\nsecond\n")
    assert tail.text() == "[6 bytes before this were dropped]\nsecond\n"
    tail.add(b"3\n")
    assert tail.text() == "[13 bytes before this were dropped]\n3\n"
    tail.add("\N{EURO SIGN}".encode() * 4)
    assert tail.text() == f"[{15 + 4} bytes before this were dropped]\n" + "\\x82\\xac\N{EURO SIGN}\N{EURO SIGN}"
    tail.clear()
    tail.add(b"\xff")
    assert tail.text() == "\\xff"


@pytest.mark.parametrize(("status", "text"), [(0, "exit status 0"), (-11, "signal SIGSEGV"), (-99, "signal 99")])
def test_ends_have_words(status, text):
    assert exit_text(status) == text


def test_lines_before_the_end_are_received_and_then_the_end():
    process = SupervisedProcess([sys.executable, "-c", "print('one'); print('two')"])
    until = time.monotonic() + 20
    assert process.receive(until) == b"one"
    assert process.receive(until) == b"two"
    with pytest.raises(ProcessEnded, match="exit status 0"):
        process.receive(until)
    process.kill()
    process.kill()


def test_the_limit_of_a_line_is_the_callers():
    process = SupervisedProcess([sys.executable, "-c", "print('x' * 1000); input()"], line_limit=100)
    with pytest.raises(LineTooLong, match="more than 100 bytes"):
        process.receive(time.monotonic() + 20)
    process.kill()


def test_nothing_outlives_an_interpreter_that_forgot_to_stop(tmp_path):
    fifo = tmp_path / "alive"
    os.mkfifo(fifo)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    descriptor = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    adapter = [sys.executable, str(BROKEN / "leaves_a_child.py"), str(fifo), "stay"]
    subprocess.run([sys.executable, "-c", NEVER_STOPPED, str(scratch), *adapter], cwd=ROOT, timeout=60, check=True)
    readable, _, _ = select.select([descriptor], [], [], 5)
    assert readable
    assert os.read(descriptor, 1) == b""
    os.close(descriptor)
    assert list(scratch.iterdir()) == []
