"""The group lm: floor and mock answer alike, and each comparison gives figures."""

from __future__ import annotations

import contextlib

import pytest

from benchmarks.lm import RELEASE, SIZES, comparisons
from benchmarks.lm.load import Job, Worker
from benchmarks.loads import running
from benchmarks.measure import measured
from benchmarks.servers import started
from wire.keys import any_key
from wire.lm.frames import Description, Request, encode_request
from wire.lm.profile import lm_profile

PROFILE = lm_profile(RELEASE)
VALUE = bytes(range(256)) * 40


@pytest.fixture
def servers():
    with contextlib.ExitStack() as ends:
        yield {
            "mock": ends.enter_context(started("benchmarks.lm.mock", str(RELEASE))),
            "mock, journal off": ends.enter_context(started("benchmarks.lm.mock", str(RELEASE), "off")),
            "floor": ends.enter_context(started("benchmarks.lm.floor", str(RELEASE))),
        }


def test_each_comparison_gives_figures_for_all_contenders(servers, monkeypatch):
    monkeypatch.setattr("benchmarks.lm.SIZES", {"4 KiB": 4096, "100 KiB": 100 << 10})
    monkeypatch.setattr("benchmarks.lm._STORED", Job("put", 0, 0, size=4096, keys=2, count=4))
    with running("benchmarks.lm.load", Job, str(RELEASE)) as load:
        found = [measured(comparison, 1, 0.01) for comparison in comparisons(servers, load)]
    assert [outcome.comparison.name for outcome in found][:3] == ["PUT 4 KiB", "PUT 100 KiB", "GET 4 KiB"]
    assert all(figure > 0 for outcome in found for samples in outcome.samples.values() for figure in samples)
    assert SIZES["64 MiB"] == 64 << 20


def test_floor_and_mock_answer_alike(servers):
    about = Description(len(VALUE), "KV_2LTD", "bfloat16", (2, 4, 5, 8))
    key, other = any_key(RELEASE), any_key(RELEASE, "another")
    asked = [
        *(Request("EXIST", key), Request("GET", key), Request("HEALTH", key), Request("PUT", key, about)),
        *(Request("EXIST", key), Request("GET", key), Request("EXIST", other), Request("GET", other)),
    ]
    frames = b"".join(encode_request(PROFILE, ask) + VALUE * (ask.command == "PUT") for ask in asked)
    worker = Worker(PROFILE)
    answers = []
    for server in servers.values():
        (link,) = worker._connected(server.port, 1)
        link.sendall(frames)
        size = 7 * PROFILE.header.reply_size + len(VALUE)
        worker._read(link, size)
        answers.append(bytes(worker._room[:size]))
    worker.close()
    assert VALUE in answers[0]
    assert answers[1:] == answers[:1] * 2


def test_a_job_by_count_makes_so_many_requests(servers):
    worker = Worker(PROFILE)
    done = worker.work(Job("put", servers["floor"].port, 0, size=10, keys=3, count=7))
    assert (done.requests, done.bytes) == (7, 70)
    done = worker.work(Job("exist", servers["floor"].port, 0, connections=3, keys=4, count=5))
    assert (done.requests, done.bytes) == (15, 0)
    worker.close()


def test_a_server_that_says_nothing_is_named():
    said = r"benchmarks\.lm\.load 0\.5\.6 did not say where it listens"
    with pytest.raises(RuntimeError, match=said), started("benchmarks.lm.load", "0.5.6"):
        pass
