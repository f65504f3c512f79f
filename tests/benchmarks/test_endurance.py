"""Load and soak in small sizes: they find nothing on a mock that is right, and what is wrong on one that is not."""

import json
import shlex
import signal
import subprocess

import pytest

from benchmarks import load, soak, stop
from benchmarks.endurance import lm_load, mp_load
from benchmarks.endurance.lm import LmPeer
from benchmarks.endurance.lm_traffic import LmTraffic
from benchmarks.endurance.mp import Text, peer, sockets
from benchmarks.endurance.mp import load as load_text
from benchmarks.endurance.mp import store as store_text
from benchmarks.endurance.program import conclude
from benchmarks.endurance.trend import FEWEST, trend
from benchmarks.endurance.values import Ledger, value
from benchmarks.servers import Figures, served

SMALL = load.Size(connections=50, rounds=1, churn=60, bytes=20_000_000, value=200_000, slow=2, exchanges=10)
BRIEF = soak.Plan(minutes=0.02, rate=200, every=0.1, warm_up=0.005)


def lost_things(lines):
    """Without what depends on how busy the machine is."""
    return [line for line in lines if "the time of a fast exchange" not in line and "a clean stop" not in line]


@pytest.mark.parametrize("wire", load.WIRES)
def test_a_mock_loses_nothing_under_load(wire):
    said = []
    assert lost_things(load.load(wire, SMALL, said.append)) == []
    assert [line.split(": ")[1] for line in said[:-1]] == ["before", "crowd", "churn", "volume", "slow peers", "after"]


@pytest.mark.parametrize("wire", soak.WIRES)
def test_a_brief_soak_loses_nothing_and_leaves_nothing(wire, tmp_path):
    samples = tmp_path / "samples"
    assert lost_things(soak.soak(wire, BRIEF, lambda _: None, samples)) == []
    assert len(samples.read_text().splitlines()) > 1


def test_a_load_names_what_a_mock_loses():
    with served("--protocol", "lm", faults=["flip-bit:at=body+3,command=GET,connection=4"]) as server:
        assert lm_load.crowd(server, 10, 1).lost == ("connection 3 of the crowd, round 0: GET brought another value",)


def test_a_load_names_the_peers_whose_texts_are_not_found():
    with served("--protocol", "mp", faults=["shrink-hits:chunks=1,operation=QUERY_PREFETCH_STATUS,nth=2"]) as server:
        (lost,) = mp_load.crowd(server, 5, 1).lost
        assert lost.startswith("the text of peer 1, round 0: ")


def test_a_soak_names_a_value_that_is_another_one():
    with served("--protocol", "lm") as server:
        traffic = LmTraffic(server, 1)
        with LmPeer((server.host, server.port)) as stranger:
            stranger.put(5, b"not what was put")
            assert stranger.exist(5)
        traffic.finish()
    assert traffic.lost == ["value 5, version 1: GET brought another value"]


def test_a_text_comes_back_until_it_is_deleted():
    text = Text(3, 1, 2)
    with served("--protocol", "mp") as server, sockets() as context, peer(server, context) as one:
        engine = one.register(1, text.model)
        assert store_text(one, engine, text)
        assert load_text(one, engine, text) == text.contents(engine.chunk_bytes)
        one.clear()
        assert load_text(one, engine, text) is None


def test_descriptors_that_do_not_come_back_are_told():
    (words,) = soak.Soaked(Figures(2, 6, 70.0), Figures(2, 7, 70.0), (), ()).faults()
    assert words.startswith("threads or descriptors that did not come back: 2 threads, 6 descriptors, 70.0 MiB before")


def test_memory_that_rises_is_told():
    seen = [(60.0 * minute, Figures(2, 6, 70.0 + minute)) for minute in range(30)]
    (words,) = soak.Soaked(seen[0][1], seen[0][1], seen, ()).faults()
    assert words.startswith("memory rises: +1.000 MiB/min, +19.00 MiB in 19.0 min")


def test_a_trend_leaves_the_first_third_out_and_says_nothing_of_few_samples():
    level = [(float(second), 50.0 + max(0, 10 - second)) for second in range(30)]
    line = trend(level)
    assert line is not None
    assert line.slope == pytest.approx(0, abs=1e-9)
    assert trend(level[: FEWEST - 1]) is None


def test_a_ledger_takes_either_value_after_a_broken_exchange_and_then_only_the_one_that_was_found():
    old, new = value(1, 1, 100), value(1, 2, 100)
    ledger = Ledger()
    ledger.store(1, old)
    ledger.attempt(1, new)
    assert not ledger.is_certain(1)
    assert ledger.agrees(1, new)
    assert not ledger.agrees(1, old)
    assert ledger.holds(1)
    assert not ledger.holds(2)


@pytest.mark.parametrize(
    ("wrong", "said"), [(["--rate", "0"], "--rate is more than 0"), (["--samples", "/no/such"], "no folder /no")]
)
def test_a_soak_that_cannot_be_is_told_and_ends_with_2(wrong, said, capsys):
    with pytest.raises(SystemExit) as ended:
        soak.main(wrong)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "last", "code"), [([], "passed: all is well", 0), (["a", "b"], "FAILED: 2 wrong, as told above", 1)]
)
def test_the_last_line_says_whether_all_passed_and_so_does_the_exit_code(wrong, last, code, capsys):
    assert conclude(wrong, "all is well") == code
    *before, found = capsys.readouterr().out.splitlines()
    assert (before, found) == ([f"wrong: {line}" for line in wrong], last)


@pytest.mark.parametrize("program", [load, soak])
def test_a_program_says_what_its_options_mean(program, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    assert ended.value.code == 0
    assert "(default: 1000)" in capsys.readouterr().out or program is soak


def test_the_adapter_of_a_run_that_is_stopped_answers():
    words = stop.SCENES["run-adapter"].words
    client = words[words.index("--client") + 1]
    command = shlex.split(client.removeprefix("stdio:"))
    hello = json.dumps({"id": 1, "op": "hello", "args": {"protocol": 1}}) + "\n"
    ended = subprocess.run(command, input=hello, capture_output=True, text=True, check=False, timeout=60)
    assert json.loads(ended.stdout)["ok"]["name"]


def test_a_command_that_had_ended_before_it_was_stopped_counts_apart():
    ends = [
        stop.Stopped(1.0, signal.SIGTERM, 0.5, 3, begun=True),
        stop.Stopped(9.0, signal.SIGINT, 0.0, 0, before=True, begun=True),
    ]
    said = stop.told(stop.SCENES["run"], ends)
    assert said == "stopped 1 times; 1 had ended before; it took 0.50 s in the median, 0.50 s at most; status 0, 3; 1 had results"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_stopped_leaves_nothing(number):
    # The time is left to the program itself: it depends on how busy the machine is.
    assert stop.stop_at(stop.SCENES["serve"], 1.0, number, within=30).wrong == []
