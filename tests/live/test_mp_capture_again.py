"""The multiprocess protocol, asked again, gives the corpus; a blob is opened by the real class and by nothing else."""

import os
import pickle

import pytest

from fixturegen.corpus import load_corpus
from fixturegen.environment import open_environment
from fixturegen.mp import grpc
from fixturegen.mp.registration import decode_registrations, globals_of
from fixturegen.venv import VenvEnvironment
from wire.release import Release

PICKLED = Release.parse("0.5.5")


class Planted:
    """A pickle of it would run a command where it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def laughs(levels):
    """A pickled tuple of two of the same tuple, and so on: few bytes that hold two to the power of ``levels`` values."""
    slots = [100 + level for level in range(levels)]
    inner = pickle.EMPTY_TUPLE + pickle.LONG_BINPUT + slots[0].to_bytes(4, "little")
    for slot in slots[1:]:
        fetch = pickle.LONG_BINGET + (slot - 1).to_bytes(4, "little")
        inner += fetch + pickle.TUPLE2 + pickle.LONG_BINPUT + slot.to_bytes(4, "little")
    return inner


def require_the_corpus(environment, release):
    """Every captured question, asked once more in one process, has the captured outcome."""
    captured = load_corpus(release, protocol="mp").vectors
    vectors = [vector for op, found in captured.items() if op != grpc.OP for vector in found]
    job = {"vectors": [{"id": vector.id, "op": vector.op, "args": vector.args} for vector in vectors]}
    outcomes = environment.run_mp_probe(release, job, timeout=120)["outcomes"]
    for vector in vectors:
        assert outcomes[vector.id] == {**vector.outcome, "source": vector.source}, vector.id


@pytest.mark.live
@pytest.mark.parametrize("text", ["0.3.14", "0.5.6"])
def test_asked_again_in_a_venv_gives_the_corpus(pinned_release, text):
    require_the_corpus(open_environment("venv"), type(pinned_release).parse(text))


@pytest.mark.live
def test_calls_over_grpc_made_again_give_the_corpus(pinned_release):
    captured = load_corpus(pinned_release, protocol="mp").vectors[grpc.OP]
    made = grpc.calls_made(pinned_release, open_environment("venv"), grpc.calls())
    found = [({"hex": outcome.pop("request")}, outcome) for outcome in made]
    assert found == [(vector.args["request"], vector.outcome) for vector in captured]


@pytest.mark.docker
def test_asked_again_in_a_container_gives_the_corpus(engine, pinned_release):
    require_the_corpus(open_environment("docker"), pinned_release)


@pytest.mark.live
def test_the_real_classes_read_a_blob_that_was_written_with_other_opcodes(pinned_release):
    """A client's own template may write a pickle differently: what counts is what the class makes of it."""
    del pinned_release
    vector = load_corpus(PICKLED, protocol="mp").vector("mp.registration.encode.cpu-shm.plain")
    real = bytes.fromhex(vector.answer["bytes"]["hex"])
    bomb = real.replace(pickle.NONE, laughs(levels=200), 1)
    without_memo = real.replace(pickle.MEMOIZE, b"").replace(real[2:11], b"", 1)
    assert list(globals_of(without_memo)) == list(globals_of(real))
    first, second, third = decode_registrations(VenvEnvironment(), PICKLED, [real, without_memo, bomb])
    assert first == second
    assert (first.wrapper, first.fields["shm_name"]) == ("CpuShmTensorWrapper", "/lmcache_kv_1")
    assert third.refusal == "ValueError: a wrapper holds more than 10000 values"


@pytest.mark.live
def test_the_child_finds_no_other_name_even_if_nobody_looked_before(pinned_release, tmp_path):
    del pinned_release
    blob = pickle.dumps(Planted(tmp_path / "opened"), 4)
    args = {"bytes": {"hex": blob.hex()}, "globals": [["torch", "float16"]]}
    job = {"vectors": [{"id": "planted", "op": "mp_decode_registration", "args": args}]}
    outcome = VenvEnvironment().run_mp_probe(PICKLED, job, timeout=60)["outcomes"]["planted"]
    assert outcome["error"]["message"] == "posix.system is not to be found"
    assert not (tmp_path / "opened").exists()
