"""``lmconform bench``: figures of right clients, slow paths that show, and wrong answers that are refused."""

import contextlib
import json

import pytest
from jsonschema import Draft202012Validator

from harness.bench.place import Place
from harness.bench.plain import PlainClient
from harness.clients.inprocess import InProcessSession
from harness.targets import mock_server
from reports.schema import schema_file
from wire.release import Release

QUICK = ("--seconds", "0.05", "--rounds", "2", "--sizes", "4KiB")


@pytest.fixture
def inside(monkeypatch):
    """Mock and floor in this process: tests of what a client does need not wait for three interpreters."""

    @contextlib.contextmanager
    def served(release, live):
        assert live is None
        with mock_server(release) as server:
            yield Place(server.host, server.port, "a mock", live=False)

    @contextlib.contextmanager
    def floor(deadline):
        del deadline
        session = InProcessSession(PlainClient)
        try:
            yield session
        finally:
            session.stop()

    monkeypatch.setattr("harness.cli.bench.served", served)
    monkeypatch.setattr("harness.cli.bench._floor", floor)


@pytest.fixture
def bench(command, tmp_path):
    """A short bench, and what it left: ``bench(client, *words)`` gives how it ended and the figures by name."""

    def run(client, *words):
        ended = command("bench", "--client", client, *QUICK, *words)
        file = tmp_path / "lmconform-bench" / "bench.json"
        document = json.loads(file.read_text()) if file.exists() else {"measures": []}
        return ended, {one["name"]: one for one in document["measures"]}, document

    return run


def test_the_reference_is_measured_and_all_figures_are_kept(bench, tmp_path):
    ended, found, document = bench("reference", "--json", "copy.json")
    assert ended.code == 0, ended.err
    Draft202012Validator(schema_file("bench", 1)).validate(document)
    assert list(found) == ["put-4KiB", "get-4KiB", "exist", "chunk-keys-builtin", "chunk-keys-sha256_cbor"]
    for one in found.values():
        assert one["state"] == "measured"
        assert one["timed_by"] == "client"
        assert one["client"]["calls"] == one["floor"]["calls"] == one["whole"]["calls"] >= 2
        for side in ("client", "floor", "whole"):
            figures = one[side]
            assert 0 < figures["p50"] <= figures["p90"] <= figures["p99"] <= figures["longest"]
        assert one["client"]["p50"] < one["whole"]["p50"], "the client took longer than from question to answer"
        assert one["pipe"] > 0
        assert one["peak_bytes"] > 1 << 20
        assert one["ratio"] > 0
    get = found["get-4KiB"]["client"]
    assert get["rate"] == pytest.approx(4096 / 1e9 / (get["p50"] / 1e6), rel=0.01)
    assert document["empty_call"]["calls"] > 0
    assert document["conditions"]["release"] == "0.5.6"
    assert "get-4KiB" in ended.out
    assert "lmconform-bench/bench.html, lmconform-bench/bench.json" in ended.out
    assert (tmp_path / "copy.json").read_text() == (tmp_path / "lmconform-bench" / "bench.json").read_text()
    assert "<svg" in (tmp_path / "lmconform-bench" / "bench.html").read_text()


def test_the_floor_against_itself_is_about_as_fast(bench):
    ended, found, _ = bench("python:harness.bench.plain:PlainClient", "--only", "exist", "--seconds", "0.3")
    assert ended.code == 0, ended.err
    assert 0.4 < found["exist"]["ratio"] < 2.5


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("client", ["SleepsInGet", "ByteByByte"])
def test_a_slow_get_shows_as_a_low_ratio_and_fails_below_a_bound(bench, client):
    ended, found, _ = bench(f"python:measured_clients:{client}", "--only", "get-*", "--sizes", "64KiB", "--fail-below", "0.5")
    assert found["get-64KiB"]["ratio"] < 0.4
    assert ended.code == 1
    assert "get-64KiB: the ratio to the floor is" in ended.out


WRONG = {
    "FlipsAByte": ("get-4KiB: expected the value that was stored; at offset 2048 expected ", "get-*"),
    "KeepsValues": ("get-4KiB: expected the value that was stored; at offset ", "get-*"),
    "StoresZeros": ("put-4KiB: expected the server to have the value that was stored; at offset ", "put-*"),
    "HasEverything": ("exist, a key that is not there: expected False, got True", "exist"),
    "SwapsKeys": ("chunk-keys-sha256_cbor: key of chunk 0: expected ", "*cbor"),
}


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize(("client", "words", "only"), [(client, *row) for client, row in WRONG.items()])
def test_a_client_that_answers_wrongly_is_refused_with_what_was_wrong(bench, client, words, only):
    ended, found, _ = bench(f"python:measured_clients:{client}", "--only", only)
    assert ended.code == 1
    assert ended.err.startswith(f"lmconform: wrong answer: {words}")
    assert not found, "figures of wrong answers are kept"


@pytest.mark.usefixtures("inside")
def test_a_put_that_never_arrives_is_a_wrong_answer_also_where_the_client_has_no_exist(bench, monkeypatch):
    monkeypatch.setattr("harness.bench.works._LOOKS", 2)
    ended, _, _ = bench("python:measured_clients:SwallowsPut", "--only", "put-*")
    assert ended.code == 1
    assert "put-4KiB: expected the server to have the value that was stored, but it has none" in ended.err


@pytest.mark.usefixtures("inside")
def test_a_client_that_hangs_costs_a_deadline_and_the_rest_is_measured(bench):
    ended, found, _ = bench("python:measured_clients:HangsInGet", "--deadline", "0.5", "--only", "get-*", "--only", "exist")
    assert ended.code == 1
    assert (found["get-4KiB"]["state"], found["exist"]["state"]) == ("failed", "measured")
    assert found["get-4KiB"]["why"] == "get: no answer within 0.5 s"
    assert "get-4KiB: failed: get: no answer within 0.5 s" in ended.out


@pytest.mark.usefixtures("inside")
def test_a_client_that_dies_is_told_so(bench):
    ended, found, _ = bench("python:measured_clients:DiesInPut", "--only", "put-*", "--only", "exist")
    assert ended.code == 1
    assert found["put-4KiB"]["why"] == "put: the process ended with exit status 3"
    assert found["exist"]["state"] == "measured"


@pytest.mark.usefixtures("inside")
def test_what_a_client_does_not_have_is_unsupported_and_no_failure(bench):
    ended, found, document = bench("python:measured_clients:GetsAlone")
    assert ended.code == 0, ended.err
    assert document["conditions"]["release"] == "0.5.5", "the newest that it declares"
    assert found["put-4KiB"]["state"] == found["exist"]["state"] == "unsupported"
    assert found["put-4KiB"]["why"] == "the client does not declare it"
    assert found["chunk-keys-builtin"]["why"] == "chunk_keys: no hash function today"
    assert found["get-4KiB"]["state"] == "measured"


@pytest.mark.usefixtures("inside")
def test_without_took_ns_the_figures_include_the_pipe_and_say_so(bench, hosted):
    ended, found, _ = bench(hosted("ReferenceClient", "harness.reference.lm"), "--only", "exist")
    assert ended.code == 0, ended.err
    assert found["exist"]["timed_by"] == "harness"
    assert found["exist"]["pipe"] is None
    assert found["exist"]["client"] == found["exist"]["whole"]
    assert "exist: the adapter does not say how long the client took (took_ns), so that its figures include adapter and pipe" in (
        ended.out
    )


@pytest.mark.usefixtures("inside")
def test_the_most_memory_of_each_measure_is_its_own(bench):
    _, found, document = bench("python:measured_clients:NeedsMemory", "--only", "exist", "--only", "*cbor")
    assert found["exist"]["peak_bytes"] > document["idle_bytes"] + (60 << 20)
    assert found["chunk-keys-sha256_cbor"]["peak_bytes"] < found["exist"]["peak_bytes"] - (30 << 20)


def test_a_running_server_keeps_what_was_stored_under_keys_of_the_bench(bench):
    with mock_server(Release.parse("0.4.5")) as server:
        where = ("--live", f"{server.host}:{server.port}", "--lmcache", "0.4.5")
        ended, found, document = bench("reference", *where, "--only", "put-*")
        asked = [exchange.key for exchange in server.journal.exchanges("PUT")]
    assert ended.code == 0, ended.err
    assert found["put-4KiB"]["state"] == "measured"
    assert document["conditions"]["live"] is True
    prefix = document["conditions"]["model"]
    assert f"what was stored stays on the server, under keys whose model begins with {prefix}/" in ended.out
    assert asked
    assert all(key.startswith(prefix) or f"@{prefix}" in key for key in asked)


@pytest.mark.usefixtures("inside")
def test_a_bench_may_not_fall_behind_an_earlier_one(bench, tmp_path):
    bench("reference", "--only", "exist", "--json", "before.json")
    document = json.loads((tmp_path / "before.json").read_text())
    document["measures"][0]["ratio"] = 1000.0
    (tmp_path / "before.json").write_text(json.dumps(document))
    ended, _, _ = bench("reference", "--only", "exist", "--baseline", "before.json", "--fail-below", "0.5")
    assert ended.code == 1
    assert "that of the baseline 1,000" in ended.out
    document["measures"][0]["ratio"] = 0.001
    (tmp_path / "before.json").write_text(json.dumps(document))
    assert bench("reference", "--only", "exist", "--baseline", "before.json", "--fail-below", "0.5")[0].code == 0


BAD = {
    ("--protocol", "mp"): "bench measures the lm:// wire alone",
    ("--live", "nowhere"): "--live 'nowhere' is no address",
    ("--live", "127.0.0.1:1", "--lmcache", "0.5.6"): "127.0.0.1:1",
    ("--baseline", "x.json"): "--baseline needs --fail-below",
    ("--baseline", "x.json", "--fail-below", "0.5"): "x.json: cannot be read",
    ("--fail-below", "much"): "is no ratio",
    ("--client", "reference-mp"): "declares none of put, get, exist, chunk_keys",
    ("--client", "python:measured_clients:GetsAlone", "--lmcache", "0.5.6"): "does not declare lmcache 0.5.6; it declares 0.5.5",
    ("--client", "python:measured_clients:Nobody"): "has no 'Nobody'",
}


@pytest.mark.parametrize(("words", "said"), BAD.items())
def test_bad_input_is_one_paragraph_that_says_what_to_write(command, words, said):
    ended = command("bench", *QUICK, *words)
    assert ended.code == (3 if "127.0.0.1:1" in words else 2)
    assert said in ended.err
    assert "Traceback" not in ended.err
