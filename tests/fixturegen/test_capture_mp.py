"""A capture of the multiprocess protocol asks in steps, asks all of it again, and refuses what differs."""

import copy

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.errors import CaptureError
from fixturegen.inputs.mp import STEPS
from fixturegen.mp.capture import PLAYED, capture_mp
from fixturegen.wheel import Wheel
from wire.release import Release

RELEASE = Release.parse("0.5.6")
FROM_SERVERS = ("transcripts.jsonl", "mp_grpc_call.jsonl")
ENVIRONMENT = {"python": "3.11.7", "byte_order": "little", "packages": {"msgspec": "0.23.0"}}


class FakeEnvironment:
    """Answers as the corpus does; ``changed`` are outcomes that it gives in place of those, in its last run."""

    runtime = "venv"

    def __init__(self, changed=()):
        self.known = {v.id: v for vectors in load_corpus(RELEASE, protocol="mp").vectors.values() for v in vectors}
        self.changed = dict(changed)
        self.jobs = []
        self.asked_of = set()

    def wheel(self, release):
        return Wheel(f"lmcache-{release}-cp311-cp311-any.whl", "ab" * 32)

    def run_mp_probe(self, release, job, *, timeout):
        assert timeout > 0
        self.asked_of.add(release)
        self.jobs.append(job)
        outcomes = {vector["id"]: self.outcome(vector["id"]) for vector in job["vectors"]}
        if len(self.jobs) > len(STEPS):
            outcomes |= {name: outcome for name, outcome in self.changed.items() if name in outcomes}
        return {"outcomes": copy.deepcopy(outcomes), "environment": dict(ENVIRONMENT)}

    def outcome(self, name):
        return {**self.known[name].outcome, "source": self.known[name].source}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return capture_mp(RELEASE, FakeEnvironment(), root=tmp_path_factory.mktemp("corpus"), transcripts=[])


def test_the_same_answers_give_the_same_files_as_in_the_corpus(folder):
    kept = load_corpus(RELEASE, protocol="mp")
    for name in kept.manifest.files:
        if name not in FROM_SERVERS:
            assert (folder / name).read_bytes() == (kept.directory / name).read_bytes(), name


def test_the_manifest_tells_the_protocol_and_what_was_played(folder):
    manifest = load_corpus(RELEASE, folder.parent.parent, protocol="mp").manifest
    assert (manifest.protocol, manifest.stubs) == ("mp", list(PLAYED))


def test_the_last_run_is_asked_everything_at_once(tmp_path):
    environment = FakeEnvironment()
    capture_mp(RELEASE, environment, root=tmp_path, transcripts=[])
    asked = [[vector["id"] for vector in job["vectors"]] for job in environment.jobs]
    assert asked[-1] == [name for step in asked[:-1] for name in step]
    assert len(asked) == len(STEPS) + 1


def test_two_processes_that_disagree_fail_the_capture(tmp_path):
    environment = FakeEnvironment({"mp.reply.encode.noop.plain": {"ok": {"frames": []}, "source": "x"}})
    with pytest.raises(CaptureError, match=r"answered mp\.reply\.encode\.noop\.plain differently in two processes"):
        capture_mp(RELEASE, environment, root=tmp_path, transcripts=[])
    assert captured_releases(tmp_path, protocol="mp") == []


def test_an_error_of_the_probe_itself_is_no_refusal(tmp_path):
    environment = FakeEnvironment()
    fault = {"error": {"type": "AttributeError", "message": "no such name"}, "source": "x"}
    environment.outcome = lambda name: fault if name == "mp.objects.range.salt" else FakeEnvironment.outcome(environment, name)
    with pytest.raises(CaptureError, match="it is a fault of fixturegen/probes"):
        capture_mp(RELEASE, environment, root=tmp_path, transcripts=[])


def test_conversations_are_written_beside_the_vectors(tmp_path):
    held = load_corpus(RELEASE, protocol="mp").mp_transcripts[:2]
    capture_mp(RELEASE, FakeEnvironment(), root=tmp_path, transcripts=held)
    assert load_corpus(RELEASE, tmp_path, protocol="mp").mp_transcripts == held


def test_it_leaves_the_other_wire_alone(tmp_path):
    (tmp_path / "0.5.6").mkdir()
    (tmp_path / "0.5.6" / "manifest.json").write_text("of the other wire")
    capture_mp(RELEASE, FakeEnvironment(), root=tmp_path, transcripts=[])
    assert sorted(path.name for path in (tmp_path / "0.5.6").iterdir()) == ["manifest.json", "mp"]
    assert (tmp_path / "0.5.6" / "manifest.json").read_text() == "of the other wire"
