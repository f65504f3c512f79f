"""The endurance run in small, and that it notices what it is there for."""

from __future__ import annotations

import pytest

from benchmarks import random_frames
from benchmarks.random_frames import Resources, main, run
from wire.errors import DecodeError
from wire.lm.frames import decode_request
from wire.lm.profile import lm_profile
from wire.release import Release


@pytest.mark.parametrize("release", ["0.3.1", "0.5.6"])
def test_random_frames_crash_nothing_grow_nothing_and_disturb_nobody(release):
    findings = run(Release.parse(release), 20_000, seed=1)
    assert findings.failures == ()
    assert findings.frames == 20_000
    assert findings.exchanges > 5_000
    assert findings.checks > 0
    assert findings.after.threads <= 3


def test_the_frames_of_a_seed_are_the_same_each_time():
    def drawn(seed):
        frames = random_frames._Frames(Release.parse("0.5.6"), seed)
        return [frames.conversation(100) for _ in range(20)]

    assert drawn("a") == drawn("a")
    assert drawn("a") != drawn("b")


def test_some_frames_are_refused_and_most_are_not():
    release = Release.parse("0.5.6")
    profile = lm_profile(release)
    frames = random_frames._Frames(release, "any")
    headers = [frame[: profile.header.request_size] for _ in range(300) for frame in frames.conversation(100)]

    def sound(header):
        try:
            decode_request(profile, header)
        except DecodeError:
            return False
        return True

    share = sum(map(sound, headers)) / len(headers)
    assert 0.8 < share < 0.999


def findings(**changes):
    held = Resources(30 << 20, 3, 11)
    made = random_frames.Findings("0.5.6", 1, frames=10, checks=5, warm=held, after=Resources(**{**vars(held), **changes}))
    return tuple(random_frames._growth(made))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resident_bytes": 70 << 20}, "grew from 30 to 70 MiB"),
        ({"threads": 4}, "4 threads"),
        ({"descriptors": 12}, "12 descriptors"),
    ],
)
def test_growth_is_noticed(changes, words):
    assert words in "".join(findings(**changes))


def test_no_growth_is_no_failure():
    assert findings() == ()


def test_its_command_line_reports_and_ends_with_0(capsys):
    assert main(["--frames", "500", "--senders", "2"]) == 0
    assert "values stored and loaded by a well-behaved client" in capsys.readouterr().out


def test_a_thread_that_dies_is_told_and_ends_it_with_1(capsys, monkeypatch):
    monkeypatch.setattr(
        random_frames,
        "run",
        lambda *_: random_frames.Findings(
            "0.5.6", 1, warm=Resources(1, 1, 1), after=Resources(1, 1, 1), failures=("a thread of the mock died",)
        ),
    )
    assert main(["--frames", "10"]) == 1
    assert "WRONG: a thread of the mock died" in capsys.readouterr().out
