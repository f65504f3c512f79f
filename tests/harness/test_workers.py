"""Cases in worker processes: the same records as in one process, whatever becomes of a worker."""

import os
import random
import select
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from fixturegen import leash
from harness import interpreter, workers
from harness.case import Cell, Variant
from harness.mp.keys import MpKeys
from harness.shares import SIZE, shares, worth_starting
from harness.values import Keys
from reports.results import read_results
from wire.release import Release

PURE = ("keys.*", "lm.request.*", "lm.reply.*")
"""So many cases of one release that workers are worth it, none of which waits."""
OLD, NEW = Release.parse("0.3.1"), Release.parse("0.5.6")


def cells(count, target="mock", release=NEW):
    return [Cell(release, target, Variant(str(number), number)) for number in range(count)]


def timeless(run):
    return [replace(case, seconds=0.0) for case in run.cases]


@pytest.fixture
def started(monkeypatch):
    """The workers that were started."""
    found = []

    class Noted(workers._Worker):
        def __init__(self, nursery):
            found.append(self)
            super().__init__(nursery)

    monkeypatch.setattr(workers, "_Worker", Noted)
    return found


def test_shares_hold_every_case_once_in_order():
    found = shares(cells(5 * SIZE + 3))
    assert [number for share in found for number in share] == list(range(5 * SIZE + 3))
    assert {len(share) for share in found} == {SIZE, 3}


def test_the_live_cases_of_a_release_stay_together():
    mixed = [cell for pair in zip(cells(40), cells(40, "live", OLD), cells(40, "live", NEW), strict=True) for cell in pair]
    live = [share for share in shares(mixed) if mixed[share[0]].target == "live"]
    assert live == [tuple(range(1, 120, 3)), tuple(range(2, 120, 3))]


def test_cases_that_may_cost_a_live_server_go_in_small_pieces():
    costly = range(10, 20)
    found = shares([*cells(20, "live", NEW), *cells(2)], costly)
    assert found == [tuple(range(10)), (10, 11, 12, 13), (14, 15, 16, 17), (18, 19), (20, 21)]
    assert worth_starting(8, cells(20, "live", NEW), costly) == 3


def test_shares_come_in_the_order_of_their_first_cases():
    mixed = [*cells(2 * SIZE), *cells(3, "live", OLD), *cells(2 * SIZE)]
    assert [share[0] for share in shares(mixed)] == [0, SIZE, 2 * SIZE, 2 * SIZE + 3, 3 * SIZE + 3]


@pytest.mark.parametrize(
    ("jobs", "of_mock", "live_releases", "count"), [(4, 10, (), 1), (4, 250, (), 2), (4, 900, (), 4), (4, 0, (OLD, NEW), 2)]
)
def test_few_cases_are_not_worth_a_worker_and_live_servers_are(jobs, of_mock, live_releases, count):
    chosen = [*cells(of_mock), *(cell for release in live_releases for cell in cells(3, "live", release))]
    assert worth_starting(jobs, chosen) == count


def test_records_and_their_order_do_not_depend_on_the_number_of_jobs(judged, started):
    only = (*PURE, "lm.segments.split-header*", "servers.*")
    one = judged("reference", *only, lmcache="0.3.1,0.5.6", jobs=1)
    assert started == []
    several = judged("reference", *only, lmcache="0.3.1,0.5.6", jobs=3)
    assert len(started) == 3
    assert several.code == 0
    assert timeless(several) == timeless(one)


def test_failures_are_explained_the_same_in_workers(judged):
    one, two = (judged("python:broken_clients:WrongByte", *PURE, jobs=jobs) for jobs in (1, 2))
    assert one.code == two.code == 1
    assert timeless(two) == timeless(one)


def test_every_worker_has_a_client_of_its_own(judged, hosted, tmp_path, monkeypatch):
    monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
    run = judged(hosted("NotesItsProcess"), *PURE, jobs=2)
    processes = (tmp_path / "starts").read_text().split()
    assert run.code == 0
    assert len(processes) == len(set(processes)) == 4  # one to see whether it starts, one for the header, one for each worker


def test_few_cases_run_in_this_process(judged, started):
    assert judged("reference", "keys.tokens.*", jobs=4).code == 0
    assert started == []


def test_a_pattern_that_matches_nothing_is_told_as_ever(command):
    ended = command("run", "--lmcache", "0.5.6", "--jobs", "3", "--only", "lm.*", "--only", "lm.gte.*")
    assert ended.code == 2
    assert ended.err.startswith("lmconform: --only 'lm.gte.*' matches no case of this selection")


def test_a_client_that_kills_its_worker_has_crashed_and_the_run_goes_on(judged, started):
    run = judged("python:broken_clients:DiesOnLayers", *PURE, jobs=2)
    crashed = run.with_verdict("crash")
    assert [case.id for case in crashed] == ["keys.parse.parse[0.5.6-fixtures-lm.key.parse.layer-31]"]
    assert crashed[0].diagnosis.summary == "parse_key: the client ended the process that it runs in: signal SIGSEGV"
    assert "Segmentation fault" in crashed[0].diagnosis.client_stderr
    assert len(started) == 3
    assert run.results.incomplete is None
    assert run.code == 1
    assert len(run.with_verdict("pass")) == len(run.cases) - 1


def test_a_client_that_kills_its_worker_again_and_again_is_no_longer_asked_for_that(judged):
    run = judged("python:broken_clients:DiesAlways", *PURE, jobs=2)
    crashed = [case.why for case in run.with_verdict("crash")]
    died = [why for why in crashed if why == "parse_key: the client ended the process that it runs in: exit status 7"]
    assert (run.code, run.results.incomplete) == (1, None)
    assert 5 <= len(died) <= 6  # the other worker may be dying when the limit is reached
    assert set(crashed) - set(died) == {"not run: `parse_key` of the client crashed 5 times in a row before"}
    assert {case.topic for case in run.with_verdict("pass")} >= {"lm.request", "lm.reply", "keys.format"}


def test_after_many_deaths_beside_the_client_the_run_stops(judged, hosted, started, monkeypatch):
    monkeypatch.setattr(workers, "DEATHS", 3)
    take = workers._Distribution._take

    def take_and_kill(self, worker, line):
        take(self, worker, line)
        if worker.share:
            os.kill(worker._process.pid, signal.SIGKILL)

    monkeypatch.setattr(workers._Distribution, "_take", take_and_kill)
    run = judged(hosted("FormatsKeysOnly"), *PURE, jobs=2)
    assert run.code == 3
    assert len(run.with_verdict("harness-error")) == 3
    assert "stopped before its end" in run.results.incomplete


def test_a_client_that_holds_the_interpreter_hangs_and_the_run_goes_on(judged, monkeypatch):
    monkeypatch.setattr(workers, "QUIET", 1.0)
    run = judged("python:broken_clients:HoldsTheInterpreter", *PURE, jobs=2)
    (hung,) = run.with_verdict("hang")
    assert hung.variant == "lm.key.parse.layer-31"
    assert "does not let go of the interpreter" in hung.diagnosis.summary
    assert run.code == 1


def test_a_worker_that_dies_beside_its_client_is_no_fault_of_the_client(judged, hosted, started, monkeypatch):
    take = workers._Distribution._take

    def take_and_kill(self, worker, line):
        take(self, worker, line)
        if worker is started[0] and worker.share:
            os.kill(worker._process.pid, signal.SIGKILL)

    monkeypatch.setattr(workers._Distribution, "_take", take_and_kill)
    run = judged(hosted("WrongByte").replace("WrongByte", "FormatsKeysOnly"), *PURE, jobs=2)
    assert len(run.with_verdict("harness-error")) == 1
    assert "signal SIGKILL" in run.with_verdict("harness-error")[0].diagnosis.summary
    assert run.results.incomplete is None
    assert run.code == 3


def test_a_worker_that_does_not_start_ends_the_run_with_its_last_words(command, monkeypatch):
    monkeypatch.setattr(interpreter, "_BOOT", "import sys; sys.exit('no room')")
    ended = command("run", "--lmcache", "0.5.6", "--jobs", "2", "--target", "fixtures")
    assert ended.code == 3
    assert "the run cannot go on: a worker ended with exit status 1 before it executed anything: no room" in ended.out
    assert "Traceback" not in ended.out + ended.err


def test_a_worker_that_is_not_there_in_time_ends_the_run(command, monkeypatch):
    monkeypatch.setattr(interpreter, "_BOOT", "import time; time.sleep(60)")
    monkeypatch.setattr(workers, "QUIET", 1.0)
    monkeypatch.setattr(workers, "BEGINNING", 0.2)
    ended = command("run", "--lmcache", "0.5.6", "--jobs", "2", "--target", "fixtures")
    assert ended.code == 3
    why = "a worker ended with signal SIGKILL because it was not there after 0.2 s before it executed anything"
    assert why in " ".join(ended.out.split())


def test_a_case_that_takes_too_long_is_ended_although_its_worker_answers(judged, tmp_path, monkeypatch):
    monkeypatch.setenv("GO_ON", str(tmp_path / "never"))
    monkeypatch.setattr(workers, "QUIET", 1.0)
    monkeypatch.setattr(workers, "LONGEST", 0.5)
    run = judged("python:broken_clients:SlowOnFirstRequest", "lm.re*", jobs=2, deadline=60.0)
    hung = [case.why for case in run.with_verdict("hang")]
    assert "encode_request: the case was not over after 0.5 s" in hung
    assert "not run: `encode_request` of the client hung 6 times in a row before" in hung
    assert {case.topic for case in run.with_verdict("pass")} >= {"lm.reply"}
    assert (run.code, run.results.incomplete) == (1, None)


def test_a_worker_whose_pipe_something_else_holds_open_is_seen_to_have_ended(judged, started, monkeypatch):
    monkeypatch.setattr(workers, "QUIET", 1.0)
    take, copies = workers._Distribution._take, []

    def take_and_kill_the_first(self, worker, line):
        take(self, worker, line)
        if not copies and worker.share:
            copies.append(os.open(f"/proc/{worker._process.pid}/fd/{writing_end(worker)}", os.O_WRONLY))
            os.kill(worker._process.pid, signal.SIGKILL)

    monkeypatch.setattr(workers._Distribution, "_take", take_and_kill_the_first)
    run = judged("reference", *PURE, jobs=2)
    os.close(copies[0])
    assert len(run.with_verdict("crash")) == 1
    assert (run.code, run.results.incomplete) == (1, None)


def test_a_case_that_takes_too_long_is_given_up_also_where_something_holds_the_pipe_open(judged, tmp_path, monkeypatch):
    monkeypatch.setenv("GO_ON", str(tmp_path / "never"))
    monkeypatch.setattr(workers, "QUIET", 2.0)
    monkeypatch.setattr(workers, "LONGEST", 0.5)
    take, copies = workers._Distribution._take, {}

    def take_and_hold(self, worker, line):
        take(self, worker, line)
        if worker.share and worker not in copies:
            copies[worker] = os.open(f"/proc/{worker._process.pid}/fd/{writing_end(worker)}", os.O_WRONLY)

    monkeypatch.setattr(workers._Distribution, "_take", take_and_hold)
    run = judged("python:broken_clients:SlowOnFirstRequest", "lm.request.encode[*", "lm.reply*", jobs=2, deadline=60.0)
    for copy in copies.values():
        os.close(copy)
    assert "encode_request: the case was not over after 0.5 s" in {case.why for case in run.with_verdict("hang")}
    assert (run.code, run.results.incomplete) == (1, None)


def writing_end(worker):
    """The descriptor of a worker's records, in the worker."""
    mine = os.fstat(worker.records)
    for entry in Path(f"/proc/{worker._process.pid}/fd").iterdir():
        try:
            theirs = entry.stat()
        except OSError:
            continue
        if (theirs.st_dev, theirs.st_ino) == (mine.st_dev, mine.st_ino):
            return entry.name
    raise AssertionError("the worker has no such pipe")


def test_a_slow_case_does_not_hold_up_the_others(judged, tmp_path, monkeypatch):
    go_on = tmp_path / "go-on"
    monkeypatch.setenv("GO_ON", str(go_on))
    arrived = []

    def note(self, number, record):
        arrived.append(record["id"])
        if len(arrived) == 100:
            go_on.touch()
        return arrive(self, number, record)

    arrive = workers._Distribution._arrive
    monkeypatch.setattr(workers._Distribution, "_arrive", note)
    run = judged("python:broken_clients:SlowOnFirstRequest", *PURE, jobs=3, deadline=60.0)
    assert run.code == 0
    assert arrived != [case.id for case in run.cases]
    assert [case.id for case in run.cases] == [case.id for case in judged("reference", *PURE).cases]


@pytest.fixture
def stuck(start, tmp_path):
    """A run in two workers, with a client inside each that hangs in its fourth key."""
    pipe = tmp_path / "stopped"
    os.mkfifo(pipe)
    words = ("run", "--client", "python:broken_clients:StopsAndTells", "--lmcache", "0.5.6", "--jobs", "2", "--out", "out")
    process = start(*words, "--target", "fixtures", "--only", "keys.*", "--only", "lm.re*", STOPPED=str(pipe))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reader) as stopped:
        assert select.select([stopped], [], [], 60)[0], f"the run never came to the fourth key: {process.poll()}"
        assert stopped.read().isdigit()
    return process


def children(pid):
    """Processes that one started, besides its keeper, which ends last."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed if leash.__file__.encode() not in Path(f"/proc/{child}/cmdline").read_bytes()]


def workers_of(run):
    """The workers of a run, and what they are forked from."""
    (nursery,) = children(run.pid)
    return nursery, children(nursery)


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pids):
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        with os.fdopen(descriptor):
            assert select.select([descriptor], [], [], 20)[0], f"process {pid} is still there"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_it_has_in_order_and_leaves_no_worker(stuck, tmp_path, number):
    nursery, found = workers_of(stuck)
    assert len(found) == 2
    processes = [nursery, *found]
    stuck.send_signal(number)
    out, err = stuck.communicate(timeout=30)
    assert stuck.returncode == 3
    assert "INCOMPLETE  the run was stopped before its end" in out
    assert "Traceback" not in out + err
    assert [pid for pid in processes if not gone(pid)] == []
    ids = [case.id for case in read_results(tmp_path / "out" / "results.jsonl").cases]
    assert len(ids) > 3


def test_workers_end_when_the_run_is_killed(stuck):
    nursery, found = workers_of(stuck)
    assert len(found) == 2
    stuck.kill()
    stuck.wait(10)
    wait_until_gone([nursery, *found])


def test_a_run_whose_workers_have_lost_their_parent_goes_on_and_ends(judged, started, monkeypatch):
    take = workers._Distribution._take

    def take_and_kill_the_parent(self, worker, line):
        take(self, worker, line)
        if all(worker.ready for worker in started) and len(self._arrived) == 0 and started[0]._nursery._process.poll() is None:
            started[0]._nursery._process.kill()

    monkeypatch.setattr(workers._Distribution, "_take", take_and_kill_the_parent)
    run = judged("reference", *PURE, jobs=2)
    assert (run.code, run.results.incomplete) == (0, None)
    assert started[0]._nursery._process.returncode == -signal.SIGKILL


def test_a_worker_that_cannot_be_replaced_ends_the_run(command, monkeypatch):
    take = workers._Distribution._take

    def take_and_kill_both(self, worker, line):
        take(self, worker, line)
        worker._nursery._process.kill()
        worker.kill()

    monkeypatch.setattr(workers._Distribution, "_take", take_and_kill_both)
    ended = command("run", "--lmcache", "0.5.6", "--jobs", "2", "--target", "fixtures")
    assert ended.code == 3
    assert "a worker ended with signal SIGKILL before it executed" in ended.out
    assert "Traceback" not in ended.out + ended.err


def test_workers_of_one_parent_draw_names_and_random_numbers_of_their_own():
    drawn = set()
    for _ in range(2):
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            os.write(writing, f"{Keys(NEW).model.split('/')[1]} {MpKeys(NEW).model.split('/')[1]} {random.random()}".encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            drawn |= set(told.read().split())
        os.waitpid(pid, 0)
    assert len(drawn) == 6


def test_a_whole_matrix_starts_its_workers_before_it_knows_its_cases(judged, started):
    assert judged("reference", lmcache="0.5.6", target="fixtures", jobs=2).code == 0
    assert len(started) == 2


def test_workers_that_were_started_for_nothing_are_ended(judged, started, monkeypatch):
    monkeypatch.setattr(workers, "worth_starting", lambda *_: 1)
    assert judged("reference", lmcache="0.5.6", target="fixtures", jobs=2).code == 0
    assert [worker._process.poll() is not None for worker in started] == [True, True]
