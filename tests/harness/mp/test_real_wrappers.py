"""Tensors that a client wrote are read by the real classes, and what looks like none of lmcache's is not opened."""

import pickle

import pytest

from fixturegen.corpus import load_corpus
from fixturegen.errors import EnvironmentUnavailable
from harness.failure import TargetUnavailable
from harness.mp import real_wrappers
from harness.mp.real_wrappers import Reading, RealWrappers
from wire.release import Release

RELEASE = Release.parse("0.5.5")
BLOBS = [
    bytes.fromhex(vector.answer["bytes"]["hex"])
    for vector in load_corpus(RELEASE, protocol="mp").vectors["mp_encode_registration"]
]


@pytest.fixture
def opened(monkeypatch):
    """The blobs that the pinned environment was given; it makes a wrapper of each."""
    seen = []

    class Environment:
        def run_mp_probe(self, release, job, *, timeout):
            assert (release, timeout > 0) == (RELEASE, True)
            seen.extend(vector["args"]["bytes"]["hex"] for vector in job["vectors"])
            ok = {"fields": {"wrapper": "CudaIPCWrapper", "shape": [2]}}
            return {"outcomes": {vector["id"]: {"ok": ok} for vector in job["vectors"]}}

    monkeypatch.setattr(real_wrappers, "open_environment", lambda _: Environment())
    return seen


def test_each_blob_has_its_reading(opened):
    assert RealWrappers().read(RELEASE, BLOBS[:2]) == [Reading({"wrapper": "CudaIPCWrapper", "shape": [2]})] * 2
    assert opened == [blob.hex() for blob in BLOBS[:2]]


def test_a_planted_pickle_is_told_and_the_others_are_read(opened):
    planted = pickle.dumps(print, 4)
    first, second = RealWrappers().read(RELEASE, [planted, BLOBS[0]])
    assert "refers to builtins.print" in first.refusal
    assert second.refusal is None
    assert opened == [BLOBS[0].hex()]


def test_nothing_is_started_for_nothing(opened):
    assert "no pickle" in RealWrappers().read(RELEASE, [b""])[0].refusal
    assert opened == []


def test_an_environment_that_cannot_be_had_is_no_fault_of_the_client(monkeypatch):
    def unavailable(_):
        raise EnvironmentUnavailable("not built")

    monkeypatch.setattr(real_wrappers, "open_environment", unavailable)
    with pytest.raises(TargetUnavailable, match=r"classes of lmcache 0\.5\.5 read nothing: not built"):
        RealWrappers().read(RELEASE, BLOBS[:1])
