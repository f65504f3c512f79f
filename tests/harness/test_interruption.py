"""Ctrl-C and SIGTERM: the first ends a command in order, the next one at once, and before there is a command the first does."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading

import pytest

from fixturegen import leash
from harness import interruption

BOTH = [signal.SIGINT, signal.SIGTERM]


class EndedError(BaseException):
    """In the place of the end of this process."""


@pytest.fixture
def ends(monkeypatch, capfd):
    """What ends this process raises instead."""

    def end(status):
        raise EndedError(status)

    monkeypatch.setattr(os, "_exit", end)
    return capfd


@pytest.mark.parametrize("number", BOTH)
def test_before_there_is_a_command_the_first_signal_ends_the_program(ends, number):
    with pytest.raises(EndedError, match="3"), interruption.at_once():
        signal.raise_signal(number)
    assert ends.readouterr().err == "lmconform: interrupted\n"


@pytest.mark.parametrize("second", BOTH)
@pytest.mark.parametrize("first", BOTH)
def test_the_second_signal_ends_a_command_that_the_first_one_interrupted(ends, first, second):
    with interruption.in_order():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(first)
        with pytest.raises(EndedError, match="3"):
            signal.raise_signal(second)
    assert ends.readouterr().err == "lmconform: interrupted\n"


@pytest.mark.parametrize("number", BOTH)
def test_what_a_command_does_last_is_done(ends, number):
    done = False
    with interruption.in_order(), interruption.postponed():
        signal.raise_signal(number)
        done = True
    assert done


def test_what_a_command_does_last_can_be_ended_all_the_same(ends):
    with interruption.in_order(), interruption.postponed():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(EndedError):
            signal.raise_signal(signal.SIGTERM)


def test_the_handlers_are_those_of_before_afterwards():
    before = [signal.getsignal(number) for number in BOTH]
    with interruption.at_once(), interruption.in_order():
        assert [signal.getsignal(number) for number in BOTH] != before
    assert [signal.getsignal(number) for number in BOTH] == before


def test_another_thread_leaves_the_handlers_alone():
    found = []

    def look():
        with interruption.in_order():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]


def test_the_program_ends_with_its_status_after_what_was_promised_for_its_end():
    code = "import atexit, harness.interruption as i; atexit.register(print, 'promised', flush=True); print('said'); i.leave(7)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "said\npromised\n", "")


def test_output_that_cannot_be_written_is_no_success():
    code = "import sys, harness.interruption as i; sys.stdout = open('/dev/full', 'w'); sys.stdout.write('said'); i.leave(0)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 3


CHILD = "import subprocess, sys; p = subprocess.Popen(['sleep', '100']); print(p.pid, flush=True); p.wait()"


@pytest.mark.parametrize("raised", [KeyboardInterrupt, subprocess.TimeoutExpired(["x"], 1)])
def test_a_process_that_is_run_ends_with_its_children_when_the_call_breaks_off(monkeypatch, raised):
    marks = []

    def break_off(process, *_):
        marks.append(process.stdout.readline())
        raise raised

    monkeypatch.setattr(subprocess.Popen, "communicate", break_off)
    with pytest.raises(raised if isinstance(raised, type) else type(raised)):
        leash.run([sys.executable, "-c", CHILD], timeout=60)
    # Where it was reaped as well, it cannot even be opened.
    with contextlib.suppress(ProcessLookupError), os.fdopen(os.pidfd_open(int(marks[0]))) as child:
        assert select.select([child], [], [], 20)[0]


def test_a_process_that_is_run_gives_what_it_wrote():
    done = leash.run([sys.executable, "-c", "import sys; print(input()); sys.exit('no')"], timeout=60, said="hello\n")
    assert (done.returncode, done.stdout, done.stderr) == (1, "hello\n", "no\n")
