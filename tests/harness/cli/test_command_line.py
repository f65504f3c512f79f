"""Every command, given something senseless, says so in one paragraph, with the documented exit code."""

import socket
import time

import pytest

from harness.version import TOOL_VERSION

USAGE = {
    "an unknown command": ["judge"],
    "an unknown option": ["run", "--speed", "11"],
    "an option without its value": ["run", "--client"],
    "no examples": ["run", "--examples", "0"],
    "examples that are no number": ["run", "--examples", "many"],
    "a seed that is none": ["run", "--seed", "soon"],
    "a negative seed": ["run", "--seed", "-1"],
    "a seed of 5000 digits": ["run", "--seed", "1" * 5000],
    "a seed in other digits": ["run", "--seed", "٣"],
    "a seed with underscores": ["run", "--seed", "1_0"],
    "examples in other digits": ["run", "--examples", "٣"],
    "jobs with underscores": ["run", "--jobs", "1_0"],
    "failures of 5000 digits": ["run", "--failures", "1" * 5000],
    "a deadline without end": ["run", "--deadline", "1e300"],
    "a deadline of more than a day": ["run", "--deadline", "86401"],
    "a deadline in other digits": ["run", "--deadline", "٣"],
    "a deadline that is no number": ["run", "--deadline", "nan"],
    "a start without end": ["run", "--client-start", "1e300"],
    "a start with underscores": ["run", "--client-start", "1_0"],
    "no memory": ["run", "--client-memory", "1"],
    "less memory than a client needs": ["run", "--client-memory", "63MiB"],
    "more memory than there is": ["run", "--client-memory", "2048TiB"],
    "memory in other digits": ["run", "--client-memory", "٣GiB"],
    "memory of 5000 digits": ["run", "--client-memory", "1" * 5000],
    "a port in other digits": ["run", "--target", "live", "--lmcache", "0.5.6", "--live", "localhost:٣"],
    "a port of 5000 digits": ["run", "--target", "live", "--lmcache", "0.5.6", "--live", "localhost:" + "1" * 5000],
    "no deadline": ["run", "--deadline", "0"],
    "negative failures": ["run", "--failures", "-1"],
    "no client": ["run", "--client", ""],
    "a client that is none": ["run", "--client", "mine"],
    "a program that is not there": ["run", "--client", "stdio:./no-such-adapter"],
    "a module that is not there": ["run", "--client", "python:no_such_module:Client"],
    "a client that refuses hello": ["run", "--client", "python:broken_clients:RefusesHello"],
    "an unknown release": ["run", "--lmcache", "9.9.9"],
    "no version": ["run", "--lmcache", "newest"],
    "no release": ["run", "--lmcache", ""],
    "an unknown target": ["run", "--target", "cloud"],
    "no target": ["run", "--target", ""],
    "an unknown runtime": ["run", "--runtime", "podman"],
    "an address without port": ["run", "--target", "live", "--live", "localhost"],
    "a server without the live target": ["run", "--live", "localhost:1", "--lmcache", "0.5.6", "--target", "mock"],
    "a server of several releases": ["run", "--live", "localhost:1", "--target", "live"],
    "a pattern that matches nothing": ["run", "--lmcache", "0.5.6", "--only", "nothing"],
    "a list of an unknown release": ["list", "--lmcache", "9.9.9"],
    "a list of nothing": ["list", "--lmcache", "0.5.6", "--only", "nothing"],
    "smoke of a client that is none": ["smoke", "--client", "mine"],
    "smoke of a module that is not there": ["smoke", "--client", "python:no_such_module:Client"],
    "an unknown fault": ["serve", "--fault", "nonsense"],
    "a fault with an unknown key": ["serve", "--fault", "delay:minutes=1"],
    "a fault on a field that the release lacks": [
        "serve",
        "--lmcache",
        "0.3.1",
        "--fault",
        "replace-field:name=location,value=1",
    ],
    "a host that other machines can reach": ["serve", "--host", "0.0.0.0"],
    "a multiprocess server that never was": ["serve", "--protocol", "mp", "--lmcache", "0.3.7"],
    "an unknown protocol of a mock": ["serve", "--protocol", "http"],
    "an unknown mode of a mock": ["serve", "--protocol", "mp", "--mode", "gpu"],
    "a fault of the other protocol": ["serve", "--protocol", "mp", "--fault", "stall"],
    "a fault of an operation that the release lacks": [
        "serve",
        "--protocol",
        "mp",
        "--lmcache",
        "0.4.7",
        "--fault",
        "drop-reply:operation=WAIT_PREFETCH_STATUS",
    ],
    "a chunk size of the other wire": ["serve", "--chunk-size", "16"],
    "no shared memory of the other wire": ["serve", "--no-shared-memory"],
    "cases of a wire that the release lacks": ["list", "--protocol", "mp", "--lmcache", "0.3.7"],
    "a port that is none": ["serve", "--port", "65536"],
    "a mock of no version": ["serve", "--lmcache", "newest"],
    "a capture of nothing": ["capture"],
    "a capture of no version": ["capture", "newest"],
    "a capture in an unknown runtime": ["capture", "0.5.6", "--runtime", "podman"],
    "a corpus that is not there": ["verify", "--corpus", "nowhere"],
}


@pytest.mark.parametrize("words", USAGE.values(), ids=USAGE)
def test_senseless_words_are_usage_errors(command, words):
    ended = command(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert_one_paragraph(ended.err)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--deadline", "1e300"], "--deadline 1e+300 is no time to wait; give seconds, such as 15, and at most 86400, a day"),
        (["--client-start", "1e300"], "--client-start 1e+300 is no time to wait; give seconds, such as 30, and at most 86400"),
        (["--client-memory", "1"], "--client-memory 1 is less than a client can have; give from 64MiB to 1024TiB"),
        (["--client-memory", "٣GiB"], "--client-memory ٣GiB is no size; give bytes, or a number with KiB, MiB or GiB"),
        (["--seed", "1" * 5000], f"--seed '{'1' * 40}...' is no seed; give a number of at most 40 digits, or random"),
    ],
)
def test_a_number_out_of_bounds_is_told_the_bounds(command, words, told):
    ended = command("run", *words)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())


def test_nothing_at_all_shows_the_help(command):
    ended = command()
    assert ended.code == 2
    assert "Commands:" in ended.out + ended.err


@pytest.mark.parametrize("name", ["run", "list", "smoke", "serve", "keys", "capture", "verify", "test"])
def test_help_shows_what_a_command_does(command, name):
    ended = command(name, "--help")
    assert ended.code == 0
    assert f"Usage: lmconform {name}" in ended.out
    assert ended.err == ""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("run", "--client --lmcache --target --only --live --runtime --out --examples --seed --properties --deadline --failures"),
        ("list", "--lmcache --target --only --ids"),
        ("smoke", "--client"),
        ("serve", "--lmcache --port --host --allow-remote --fault --faults"),
        ("keys", "--tokens-file --algorithm --lmcache --vllm --no-kv-cache-utils --seed --python --chunk-size --skip --model"),
        ("keys", "--save-unfull-chunk --world-size --worker-id --dtype --fmt --tag --layer --mla --expect --format"),
        ("capture", "--runtime --out"),
        ("verify", "--corpus"),
    ],
)
def test_help_shows_every_option(command, name, options):
    out = command(name, "-h").out
    assert [option for option in options.split() if f" {option} " not in out.replace(",", " ") + " "] == []


def test_the_version_is_shown_with_and_without_company(command):
    assert command("--version").out == f"lmconform {TOOL_VERSION}\n"
    assert command("--version", "run").out == f"lmconform {TOOL_VERSION}\n"


def test_the_version_comes_at_once(program):
    begin = time.monotonic()
    assert program("--version").code == 0
    assert time.monotonic() - begin < 1.0


@pytest.fixture
def exhausted(monkeypatch, tmp_path):
    """A machine without network and without the pinned environment."""
    monkeypatch.setenv("LMCONFORM_OFFLINE", "1")
    monkeypatch.setenv("LMCONFORM_CACHE", str(tmp_path / "cache"))


def test_a_capture_without_environment_is_undecided_and_says_why(command, exhausted):
    ended = command("capture", "0.5.6", "--out", "corpus")
    assert ended.code == 3
    assert "LMCONFORM_OFFLINE" in ended.err
    assert_one_paragraph(ended.err)


def test_a_module_of_cases_that_cannot_be_read_is_the_fault_of_the_harness(command, monkeypatch, tmp_path):
    cases = tmp_path / "cases" / "lm"
    cases.mkdir(parents=True)
    (cases / "test_torn.py").write_text("def test_torn(:\n")
    (tmp_path / "cases" / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setattr("harness.bare_pytest.CASES", tmp_path / "cases")
    for words in (["list"], ["run"]):
        ended = command(*words, "--lmcache", "0.5.6")
        assert ended.code == 3
        assert "test_torn.py cannot be collected" in ended.out + ended.err


def test_an_interrupt_while_the_commands_are_imported_is_no_traceback(monkeypatch, capsys):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    import sys

    from harness.cli.main import main

    monkeypatch.setitem(sys.modules, "harness.cli.app", Interrupted())
    assert main(["run"]) == 3
    assert capsys.readouterr().err == "lmconform: interrupted\n"


def test_a_list_names_requirements_and_counts(command):
    out = command("list", "--lmcache", "0.5.6", "--only", "lm.roundtrip.exist").out
    assert out == (
        "lm.roundtrip.exist  (2 executions)  LM-EXIST-001\n"
        "    Exist is false before a key is stored and true afterwards.\n"
        "\n1 case, 2 executions\n"
    )


def test_a_list_of_ids_is_what_a_run_executes(command, judged):
    listed = command("list", "--ids", "--lmcache", "0.5.6", "--target", "fixtures,mock", "--only", "keys.*").out.split("\n")
    assert listed[:-1] == [case.id for case in judged("reference", "keys.*").cases]


def test_a_port_in_use_is_named(command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = command("serve", "--port", str(port))
    assert ended.code == 2
    assert f"port {port} of 127.0.0.1 is in use" in ended.err
    assert_one_paragraph(ended.err)


def assert_one_paragraph(text):
    assert "Traceback" not in text
    usage, separator, paragraph = text.rpartition("\n\n")
    assert usage.startswith("Usage: lmconform") if separator else True
    assert paragraph.startswith(("lmconform: ", "Error: "))
    assert text.endswith("\n")
