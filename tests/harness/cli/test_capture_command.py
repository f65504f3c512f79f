"""``lmconform capture``: which releases are captured, and what becomes of one that fails."""

import json
import threading
import time
from types import SimpleNamespace

import pytest

from fixturegen.errors import CaptureError, EnvironmentUnavailable
from harness.cli import capture as capture_command
from wire.release import Release


class Environment:
    """Runs nothing."""

    runtime = "venv"

    def prepare(self, release):
        """Nothing to build."""


@pytest.fixture
def wires(captured, monkeypatch):
    """Which wires of which releases the command captured."""
    seen = []

    def recorder(name):
        def record(release, environment, *, root, progress):
            seen.append((str(release), name))
            return root / str(release)

        return record

    monkeypatch.setattr(capture_command, "capture", recorder("lm"))
    monkeypatch.setattr(capture_command, "capture_mp", recorder("mp"))
    return seen


@pytest.fixture
def captured(monkeypatch, tmp_path):
    """The releases that the command captured; those in ``broken`` fail."""
    done, broken = [], set()

    def fake(release, environment, *, root, progress):
        if str(release) in broken:
            raise CaptureError(f"lmcache {release} answered differently")
        done.append(str(release))
        return tmp_path / str(release)

    def fake_mp(release, environment, *, root, progress):
        return tmp_path / str(release) / "mp"

    corpus = SimpleNamespace(vectors={"format_key": [1, 2]}, transcripts=[1], mp_transcripts=[])

    monkeypatch.setattr(capture_command, "open_environment", lambda _: Environment())
    monkeypatch.setattr(capture_command, "capture", fake)
    monkeypatch.setattr(capture_command, "capture_mp", fake_mp)
    monkeypatch.setattr(capture_command, "load_corpus", lambda *_, **__: corpus)
    monkeypatch.setattr(capture_command, "captured_mp_releases", lambda _: [Release.parse("0.5.6")])
    monkeypatch.setattr(capture_command, "offered_releases", lambda: [Release.parse(t) for t in ("0.5.4", "0.5.5", "0.5.6")])
    monkeypatch.setattr(capture_command, "missing_releases", lambda _: [Release.parse(t) for t in ("0.5.4", "0.5.5")])
    monkeypatch.setattr(capture_command, "captured_releases", lambda _: [Release.parse("0.5.6")])
    return done, broken


def test_all_goes_on_where_an_earlier_call_stopped(command, captured):
    ended = command("capture", "all", "--out", "corpus", "--jobs", "1")
    assert (ended.code, captured[0]) == (0, ["0.5.4", "0.5.5"])
    assert "2 of 2 releases captured" in ended.out


def test_all_again_captures_everything(command, captured):
    command("capture", "all", "--again", "--out", "corpus", "--jobs", "1")
    assert captured[0] == ["0.5.4", "0.5.5", "0.5.6"]


def test_all_keeps_the_list_of_the_index(command, captured, tmp_path):
    command("capture", "all", "--out", "corpus", "--jobs", "1")
    assert '"0.5.6"' in (tmp_path / "corpus" / "index.json").read_text()


def test_latest_is_the_newest_that_the_corpus_lacks(command, captured):
    command("capture", "latest", "--out", "corpus")
    assert captured[0] == ["0.5.5"]


def test_a_corpus_that_lacks_nothing_is_said_to_be_complete(command, captured, monkeypatch):
    monkeypatch.setattr(capture_command, "missing_releases", lambda _: [])
    ended = command("capture", "latest")
    assert (ended.code, captured[0]) == (0, [])
    assert "has every release" in ended.out


def test_one_release_that_fails_does_not_stop_the_others(command, captured):
    captured[1].add("0.5.4")
    ended = command("capture", "0.5.4", "0.5.6", "--jobs", "1")
    assert (ended.code, captured[0]) == (3, ["0.5.6"])
    assert "lmconform: 0.5.4: lmcache 0.5.4 answered differently" in ended.err
    assert "1 of 2 releases captured" in ended.out


def test_a_single_release_that_fails_says_why(command, captured):
    captured[1].add("0.5.4")
    ended = command("capture", "0.5.4")
    assert ended.code == 3
    assert ended.err.strip().endswith("lmconform: lmcache 0.5.4 answered differently")


def test_programs_are_told_which_release_was_captured_and_which_came_before_it(command, captured, monkeypatch):
    known = [Release.parse(text) for text in ("0.5.4", "0.5.5", "0.5.6")]
    monkeypatch.setattr(capture_command, "captured_releases", lambda _: known)
    ended = command("capture", "latest", "--out", "corpus", "--format", "json")
    assert ended.code == 0
    document = json.loads(ended.out)
    assert document["failed"] == []
    assert [(one["release"], one["previous"], one["vectors"]) for one in document["captured"]] == [("0.5.5", "0.5.4", 4)]


def test_programs_are_told_that_there_was_nothing_to_capture(command, captured, monkeypatch):
    monkeypatch.setattr(capture_command, "missing_releases", lambda _: [])
    ended = command("capture", "latest", "--format", "json")
    assert (ended.code, json.loads(ended.out)) == (0, {"captured": [], "failed": []})


def test_programs_are_told_what_failed(command, captured):
    captured[1].add("0.5.4")
    ended = command("capture", "0.5.4", "--format", "json")
    assert ended.code == 3
    assert json.loads(ended.out)["failed"] == [{"release": "0.5.4", "reason": "lmcache 0.5.4 answered differently"}]
    assert "lmconform: 0.5.4: lmcache 0.5.4 answered differently" in ended.err


def test_all_beside_a_release_is_a_usage_error(command, captured):
    ended = command("capture", "all", "0.5.6")
    assert (ended.code, captured[0]) == (2, [])
    assert "'all' stands alone" in ended.err


def test_a_release_named_twice_is_captured_once(command, captured):
    command("capture", "0.5.6", "0.5.6", "--out", "corpus", "--jobs", "1")
    assert captured[0] == ["0.5.6"]


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_captured(command, captured, tmp_path):
    (tmp_path / "taken").write_text("")
    ended = command("capture", "0.5.6", "--out", str(tmp_path / "taken"))
    assert (ended.code, captured[0]) == (2, [])
    assert f"cannot write the corpus to {tmp_path / 'taken'}" in ended.err


def test_a_first_release_that_cannot_be_prepared_does_not_stop_the_others(command, captured, monkeypatch):
    done, broken = captured
    broken.add("0.5.4")

    def prepare(_, release):
        if str(release) == "0.5.4":
            raise EnvironmentUnavailable("no wheel")

    monkeypatch.setattr(Environment, "prepare", prepare)
    ended = command("capture", "0.5.4", "0.5.6", "--out", "corpus", "--format", "json")
    assert (ended.code, done) == (3, ["0.5.6"])
    assert [one["release"] for one in json.loads(ended.out)["failed"]] == ["0.5.4"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [("0.5.6", "lm"), ("0.5.6", "mp")]),
        (["--protocol", "all"], [("0.5.6", "lm"), ("0.5.6", "mp")]),
        (["--protocol", "lm"], [("0.5.6", "lm")]),
        (["--protocol", "mp"], [("0.5.6", "mp")]),
    ],
    ids=["default", "all", "lm", "mp"],
)
def test_both_wires_are_captured_unless_one_is_named(command, wires, options, expected):
    assert command("capture", "0.5.6", "--out", "corpus", *options).code == 0
    assert wires == expected


def test_of_a_release_without_the_multiprocess_protocol_all_means_the_other_wire(command, wires):
    assert command("capture", "0.3.9", "--out", "corpus").code == 0
    assert wires == [("0.3.9", "lm")]


def test_a_release_without_the_multiprocess_protocol_cannot_be_asked_for_it(command, wires):
    ended = command("capture", "0.3.9", "--protocol", "mp", "--out", "corpus")
    assert (ended.code, wires) == (2, [])
    assert "lmcache 0.3.9 has no multiprocess protocol; it is there from 0.3.9.post1 on" in ended.err


def test_all_goes_on_with_releases_of_which_one_wire_is_captured(command, wires, monkeypatch):
    monkeypatch.setattr(capture_command, "captured_mp_releases", lambda _: [])
    command("capture", "all", "--protocol", "mp", "--out", "corpus", "--jobs", "1")
    assert wires == [("0.5.4", "mp"), ("0.5.5", "mp"), ("0.5.6", "mp")]


def test_an_interrupted_capture_of_many_ends_with_the_steps_that_run(command, captured, monkeypatch, tmp_path):
    running, ends = threading.Event(), []

    def fake(release, environment, *, root, progress):
        if str(release) == "0.5.4":
            running.wait(10)
            raise KeyboardInterrupt
        for number in range(500):
            running.set()
            try:
                progress(f"step {number}")
            except CaptureError as error:
                ends.append(str(error))
                raise
            time.sleep(0.01)
        ends.append("whole")
        return tmp_path

    monkeypatch.setattr(capture_command, "capture", fake)
    command("capture", "0.5.4", "0.5.5", "--protocol", "lm", "--jobs", "2", "--out", str(tmp_path))
    assert ends == ["interrupted"]
