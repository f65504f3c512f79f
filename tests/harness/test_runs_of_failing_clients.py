"""A client that hangs or dies again and again does not hold up a run: what needs the operation is no longer run, and told so."""

import shlex
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from harness.client import ALWAYS, LM_OPERATIONS, MP_OPERATIONS, AdapterFault, ClientCrash, ClientHang, ClientTooLarge, NotAsked
from harness.patience import EVERYTHING, LIMITS, START, STARTS, Patience

SUBJECTS = Path(__file__).parent / "subjects"
NEEDED_BY = {
    "encode_request": "lm.request.encode",
    "decode_request": "lm.request.decode",
    "encode_reply": "lm.reply.encode",
    "decode_reply": "lm.reply.decode",
    "encode_metadata": "lm.metadata.encode",
    "decode_metadata": "lm.metadata.decode",
    "format_key": "keys.format.format",
    "parse_key": "keys.parse.parse",
    "chunk_keys": "keys.chunks.keys",
    "deployment_keys": "keys.deployments.keys",
    "token_hashes": "keys.tokens.hashes",
    "pack_layout": "layouts.packing.pack",
    "unpack_layout": "layouts.packing.unpack",
    "connect": "lm.connection.nobody-listens",
    "put": "lm.broken.miss-with-a-length",
    "get": "lm.broken.truncated-payload",
    "exist": "lm.broken.exist-stalls",
    "health": "lm.broken.health-code-is-not-success",
    "list": "lm.roundtrip.list-is-never-answered",
    "close": "lm.connection.close",
    "state": "lm.connection.closed-connections-are-released",
    "bye": "lm.state.bye-ends-everything",
}
"""Cases that an operation is needed for, as few and with connections as impatient as there are."""
NEEDED_BY_MP = {
    "mp_encode_request": "mp.requests.encode*noop*",
    "mp_decode_request": "mp.requests.decode*noop*",
    "mp_encode_reply": "mp.replies.encode*noop*",
    "mp_decode_reply": "mp.replies.decode-more-frames*noop*",
    "mp_object_keys": "mp.keys.names*two-chunks*",
    "mp_encode_registration": "mp.registration.bytes*cuda.plain*",
    "connect": "mp.flow.noop",
    "mp_noop": "mp.flow.noop",
    "mp_ping": "mp.flow.ping",
    "mp_chunk_size": "mp.flow.chunk-size",
    "mp_register": "mp.flow.register",
    "mp_unregister": "mp.flow.control*unregister*",
    "mp_store": "mp.flow.store",
    "mp_lookup": "mp.flow.lookup",
    "mp_retrieve": "mp.flow.retrieve",
    "mp_free_locks": "mp.flow.free-locks",
    "mp_end_session": "mp.flow.control*end*session*",
    "mp_clear": "mp.flow.control*clear*",
    "close": "mp.connection.closed",
}
"""The same for operations on the multiprocess server."""
BOUND = 90.0
"""Seconds for a run with a deadline of half a second, on a machine that does much else."""


@pytest.fixture
def failing(monkeypatch):
    """A client of ``failing_clients`` in a process of its own: ``failing(name, VARIABLE=...)``."""

    def spec(name, **variables):
        words = [f"{variable}={value}" for variable, value in {"PYTHONPATH": SUBJECTS, **variables}.items()]
        host = [sys.executable, "-m", "harness.clients.host", f"failing_clients:{name}"]
        return f"stdio:{shlex.join(['env', *words, *host])}"

    monkeypatch.setattr("harness.subject.GRACE", 0.2)
    return spec


def test_the_tables_know_every_operation():
    assert {*NEEDED_BY, "hello"} == {*LM_OPERATIONS, *ALWAYS}
    assert set(NEEDED_BY_MP) == set(MP_OPERATIONS)


@pytest.mark.parametrize("op", NEEDED_BY)
def test_a_client_that_hangs_in_one_operation_is_told_so_and_the_run_ends(judged, failing, op):
    begin = time.monotonic()
    run = judged(
        failing("HangsIn", FAILS_IN=op), NEEDED_BY[op], "keys.format.unreadable", "keys.parse.parse-refused", deadline=0.5
    )
    assert time.monotonic() - begin < BOUND
    assert (run.code, run.results.incomplete) == (1, None)
    hung = run.with_verdict("hang")
    asked = [case for case in hung if case.why == f"{op}: no answer within {case.why.split()[-2]} s"]
    assert 1 <= len(asked) <= LIMITS[ClientHang].in_a_row
    refused = f"not run: `{op}` of the client hung {LIMITS[ClientHang].in_a_row} times in a row before"
    assert {case.why for case in hung} - {case.why for case in asked} <= {refused}
    assert {case.operation for case in hung if case.why == refused} <= {op}
    assert run.with_verdict("pass")
    assert len(run.with_verdict("pass")) + len(hung) == len(run.cases)


def test_a_client_that_does_nothing_in_an_operation_on_the_multiprocess_server_fails(judged, monkeypatch):
    alone = ({"connect"}, {"mp_store", "close"}, {"mp_retrieve"})
    for ops in (set(NEEDED_BY_MP).difference(*alone), *alone):
        monkeypatch.setenv("FAILS_IN", " ".join(ops))
        run = judged("python:failing_clients:MpLiesIn", *(NEEDED_BY_MP[op] for op in ops), target="mock,fixtures")
        assert {case.verdict for case in run.cases} == {"fail"}
        assert len(run.cases) >= len({NEEDED_BY_MP[op] for op in ops})


@pytest.mark.parametrize(
    ("client", "op", "verdict", "words"),
    [
        ("MpHangsIn", "mp_encode_request", "hang", "no answer within 0.5 s"),
        ("MpDiesIn", "mp_decode_reply", "crash", "the process ended with signal SIGKILL"),
    ],
)
def test_a_client_that_fails_in_an_operation_on_the_multiprocess_server_is_told_so(judged, failing, client, op, verdict, words):
    run = judged(failing(client, FAILS_IN=op), NEEDED_BY_MP[op], "mp.keys.refused", target="mock,fixtures", deadline=0.5)
    failed = run.with_verdict(verdict)
    assert {case.why for case in failed} == {f"{op}: {words}"}
    assert run.with_verdict("pass")
    assert len(run.with_verdict("pass")) + len(failed) == len(run.cases)


@pytest.mark.parametrize(
    ("op", "case"),
    [
        ("encode_request", "lm.properties.request-round-trip"),
        ("decode_reply", "lm.properties.reply-round-trip"),
        ("decode_reply", "lm.properties.any-bytes"),
        ("unpack_layout", "layouts.properties.round-trip[0.5.6-fixtures-KV_2LTD]"),
    ],
)
def test_a_property_ends_with_the_first_example_that_hangs(judged, failing, op, case):
    run = judged(failing("HangsIn", FAILS_IN=op), case, "keys.format.unreadable", deadline=2.0)
    assert [case.why for case in run.with_verdict("hang")] == [f"{op}: no answer within 2 s"]
    assert len(run.with_verdict("pass")) == len(run.cases) - 1


def test_a_client_that_hangs_at_its_start_is_not_run_at_all(command, failing):
    begin = time.monotonic()
    ended = command("run", "--client", failing("HangsIn", FAILS_IN="hello"), "--lmcache", "0.5.6", "--client-start", "1.5")
    assert ended.code == 2
    assert "hello: no answer within 1.5 s" in ended.err
    assert time.monotonic() - begin < BOUND


def test_a_client_that_starts_slowly_but_in_time_is_judged(judged, failing):
    run = judged(failing("StartsSlowly", SLOWLY=0.5), "keys.format.unreadable", client_start=60.0, deadline=0.4)
    assert run.code == 0


def test_a_client_that_dies_at_every_start_is_no_longer_started(judged, failing, tmp_path):
    run = judged(failing("LeavesBehind", GONE=tmp_path / "gone"), "keys.parse.parse", "keys.format.format")
    crashed = Counter(case.why for case in run.with_verdict("crash") if case.name == "keys.parse.parse")
    assert run.code == 1
    assert crashed == {
        "parse_key: the process ended with exit status 7": 1,
        "hello: the process ended with exit status 9": STARTS.in_a_row,
        "not run: `hello` of the client crashed 3 times in a row before": 26 - 1 - STARTS.in_a_row,
    }
    assert {case.verdict for case in run.cases if case.name == "keys.format.format"} <= {"pass", "crash"}


def test_a_client_that_dies_in_one_operation_is_no_longer_asked_for_it(judged, failing):
    run = judged(failing("DiesIn", FAILS_IN="parse_key"), "keys.parse.parse", "keys.format.unreadable", "lm.reply.decode-refused")
    crashed = Counter(case.why for case in run.with_verdict("crash") if case.name == "keys.parse.parse")
    assert crashed == {
        "parse_key: the process ended with signal SIGKILL": LIMITS[ClientCrash].in_a_row,
        "not run: `parse_key` of the client crashed 5 times in a row before": 26 - LIMITS[ClientCrash].in_a_row,
    }
    assert {case.verdict for case in run.cases if case.name == "lm.reply.decode-refused"} == {"pass"}


def test_a_client_that_answers_in_between_has_more_patience_but_not_for_ever(judged, failing, tmp_path):
    run = judged(failing("EveryOther", COUNT=tmp_path / "count"), "keys.parse.parse", deadline=1.0)
    words = Counter(case.why for case in run.with_verdict("hang"))
    limit = LIMITS[ClientHang].of_one
    assert words["parse_key: no answer within 1 s"] == limit
    assert words["not run: `parse_key` of the client hung 10 times before"] == 26 - 2 * limit
    assert len(run.with_verdict("pass")) == limit


def test_a_python_client_that_dies_is_a_crash_also_where_few_cases_run(program):
    words = ("--lmcache", "0.5.6", "--only", "keys.parse.parse", "--jobs", "1")
    ended = program("run", "--client", "python:broken_clients:DiesOnLayers", *words)
    assert ended.code == 1
    assert "parse_key: the client ended the process that it runs in: signal SIGSEGV" in ended.out
    assert "25 pass, 1 crash" in ended.out


def test_a_python_client_that_grows_runs_out_of_memory_alone(program):
    one = "keys.parse.parse-refused[0.5.6-fixtures-lm.key.parse.hash-blank]"
    words = ("--lmcache", "0.5.6", "--only", one, "--only", "keys.format.unreadable")
    ended = program("run", "--client", "python:failing_clients:Grows", *words, "--client-memory", "300MiB", "--jobs", "1")
    assert ended.code == 1
    assert "error internal: MemoryError" in ended.out
    assert "4 pass, 1 fail" in ended.out


def test_a_python_client_that_dies_while_it_is_made_is_told_and_ends_nothing(program):
    ended = program("run", "--client", "python:failing_clients:LeavesBehind", "--lmcache", "0.5.6", GONE="/")
    assert ended.code == 2
    assert ended.err == (
        "lmconform: hello: the process ended with exit status 9\n"
        "  what to do: 'lmconform smoke' with the same --client tries each operation, and says what the answer should have been\n"
    )


def test_a_python_client_that_cannot_be_imported_is_told_by_its_name(program):
    ended = program("run", "--client", "python:failing_clients:NoSuch", "--lmcache", "0.5.6")
    assert (ended.code, ended.err) == (2, "lmconform: module failing_clients has no 'NoSuch'\n")


def hung(patience, op, times, seconds=0.0):
    for _ in range(times):
        patience.failed(op, ClientHang(f"{op}: no answer"), seconds)


def test_an_answer_ends_a_row():
    patience = Patience(1.0)
    for _ in range(2):
        hung(patience, "get", LIMITS[ClientHang].in_a_row - 2)
        patience.answered("get")
    patience.require(["get"])


def test_other_operations_may_still_be_asked_for():
    patience = Patience(1.0)
    hung(patience, "get", LIMITS[ClientHang].in_a_row)
    patience.require(["put", "exist"])
    with pytest.raises(NotAsked, match="not run: `get` of the client hung 6 times in a row before") as caught:
        patience.require(["put", "get"])
    assert (caught.value.operation, caught.value.after) == ("get", ClientHang)


@pytest.mark.parametrize("kind", [ClientHang, ClientCrash, ClientTooLarge, AdapterFault])
def test_in_all_there_is_an_end_whatever_the_operations(kind):
    patience = Patience(1.0)
    for number in range(LIMITS[kind].in_all - 1):
        patience.failed(f"op{number}", kind("no"))
    patience.require(["other"])
    patience.failed("last", kind("no"))
    with pytest.raises(NotAsked, match="`last` of the client last"):
        patience.require(["other"])


def test_without_a_start_nothing_is_asked():
    patience = Patience(1.0)
    for _ in range(STARTS.in_a_row):
        patience.failed(START, ClientCrash("no"))
    with pytest.raises(NotAsked, match="`hello`"):
        patience.require([EVERYTHING])


def test_time_that_is_lost_has_an_end():
    patience = Patience(2.0, start=10.0)
    patience.lost(20 * 2.0 + 4 * 10.0)
    patience.require(["get"])
    patience.lost(0.5)
    with pytest.raises(NotAsked, match="81 s went into failed calls of the client and into starting it again"):
        patience.require(["get"])
