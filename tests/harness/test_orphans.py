"""No process and no directory of a run survives it, whoever is killed: the run, a worker, or the process that keeps watch."""

import os
import select
import shlex
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from waiting import wait_until

from fixturegen import leash
from harness.processes import PARENT, stat_number

HANGS = Path(__file__).parent / "clients" / "broken" / "hangs_with_children.py"
MARK = "LMCONFORM_TEST_OF_ORPHANS"
ROOT = Path(__file__).resolve().parents[2]
WORKS = ("--lmcache", "0.5.6", "--target", "fixtures", "--only", "keys.*", "--only", "lm.re*", "--deadline", "500")
"""Cases enough for two workers."""


def alive(mark):
    """Processes with a mark of ours, by id, with their command lines."""
    found = {}
    for pid in leash.process_ids():
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes()
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in variables:
            found[pid] = words
    return found


@pytest.fixture
def mark():
    mark = uuid.uuid4().hex
    yield mark
    for pid, words in alive(mark).items():
        if "leash.py" not in words:  # a keeper ends by itself, and removes what is left before
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def hanging(start, mark, tmp_path):
    """Start a run of so many jobs whose clients hang, each with two children: ``hanging(jobs)``."""
    pipe = tmp_path / "hangs"
    os.mkfifo(pipe)

    def run(jobs):
        client = f"stdio:{shlex.join([sys.executable, str(HANGS), str(pipe)])}"
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        process = start("run", "--client", client, "--jobs", str(jobs), "--out", "out", *WORKS, **{MARK: mark})
        for _ in range(jobs):
            assert select.select([reader], [], [], 60)[0], f"no client hangs: {process.poll()}"
            os.read(reader, 6)
        os.close(reader)
        wait_until(lambda: adapters(mark) >= 3 * jobs, lambda: f"clients and children: {alive(mark)}")
        return process

    return run


def adapters(mark):
    return sum(
        HANGS.name in words for pid, words in alive(mark).items() if "harness.cli" not in words and "-c" not in words.split()
    )


def nothing_is_left(mark):
    wait_until(lambda: not alive(mark), lambda: f"still there: {alive(mark)}")


def test_a_run_that_is_killed_leaves_nothing(hanging, mark):
    process = hanging(1)
    process.kill()
    nothing_is_left(mark)


def test_a_run_with_workers_that_is_killed_leaves_nothing(hanging, mark):
    process = hanging(2)
    process.kill()
    nothing_is_left(mark)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_is_killed_leaves_no_scratch_directory(hanging, mark, tmp_path, jobs):
    process = hanging(jobs)

    def there():
        named = (tmp_path / "hangs.scratch").read_text().split()
        return [path for path in map(Path, named) if path.exists()]

    wait_until(lambda: len(there()) >= jobs, lambda: f"there are only {there()}")
    process.kill()
    nothing_is_left(mark)
    wait_until(lambda: not there(), lambda: f"still there: {there()}")


def test_a_directory_of_a_killed_process_is_removed_but_nothing_behind_a_link(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("data")
    script = (
        "import pathlib, sys; from harness.clients.scratch import Scratch; parent = pathlib.Path(sys.argv[1]);"
        "full, link = Scratch(parent), Scratch(parent); full.leave(b'abc'); (full.path / 'link').symlink_to(sys.argv[2]);"
        "link.path.rmdir(); link.path.symlink_to(sys.argv[2]); print('made', flush=True); sys.stdin.read()"
    )
    (tmp_path / "scratch").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "scratch"), str(elsewhere)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "made\n"
        assert len(list((tmp_path / "scratch").iterdir())) == 2
        process.kill()
    wait_until(lambda: not list((tmp_path / "scratch").iterdir()), lambda: list((tmp_path / "scratch").iterdir()))
    assert (elsewhere / "precious").read_text() == "data"


def test_a_command_that_was_promised_runs_once_its_process_was_killed_and_one_that_was_withdrawn_does_not(tmp_path):
    promised, withdrawn = tmp_path / "promised", tmp_path / "withdrawn"
    script = (
        "import sys; from fixturegen import leash; promised, withdrawn = (('mkdir', path) for path in sys.argv[1:]);"
        "leash.promise(withdrawn); leash.promise(promised); leash.withdraw(withdrawn);"
        "print('told', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(promised), str(withdrawn)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "told\n"
        assert not promised.exists()
        process.kill()
    wait_until(promised.exists, lambda: "the command was not run")
    assert not withdrawn.exists()


def test_a_worker_that_is_killed_leaves_no_client(hanging, mark):
    process = hanging(2)
    forked = [pid for pid, words in alive(mark).items() if "harness.forking " in words]
    worker = next(pid for pid in forked if stat_number(pid, PARENT) in forked)
    before = adapters(mark)
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: adapters(mark) <= before - 3, lambda: f"still there: {alive(mark)}")
    process.kill()
    nothing_is_left(mark)


def test_the_keeper_may_be_killed_as_well(mark):
    script = (
        "import sys; from fixturegen import leash; first, _ = leash.start(['sleep', '600'], None);"
        "leash._keeper._process.kill(); leash._keeper._process.wait();"
        "second, _ = leash.start(['sleep', '600'], None); print('started', flush=True); second.wait()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "started\n"
        assert sum("sleep" in words.split() for words in alive(mark).values()) == 2
        process.kill()
    nothing_is_left(mark)


def test_a_process_that_has_time_to_end_is_given_it(mark, tmp_path):
    ends = f"import sys, time; sys.stdin.read(); time.sleep(0.3); open({str(tmp_path / 'ended')!r}, 'w').close()"
    script = (
        "import sys, subprocess; from fixturegen import leash;"
        f"p, _ = leash.start([sys.executable, '-c', {ends!r}], None, grace=20.0, stdin=subprocess.PIPE);"
        "print('started', flush=True); p.wait()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "started\n"
        process.kill()
    nothing_is_left(mark)
    assert (tmp_path / "ended").exists()


def test_without_proc_the_group_is_killed_all_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(leash, "_PROCESSES", tmp_path)
    process, held = leash.start(["sleep", "600"], None)
    held.kill()
    assert process.wait(10) == -signal.SIGKILL
    held.let_go()
    assert list(leash.marked(held.mark)) == []
