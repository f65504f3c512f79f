"""A client's registration blob is looked at before anything opens it, and then only the real class in a child does."""

import json
import os
import pickle
import pickletools
import struct
from collections import OrderedDict

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.mp import registration
from fixturegen.mp.registration import (
    LARGEST,
    BlobRefused,
    Registration,
    allowed_globals,
    decode_registrations,
    globals_of,
    require_known_globals,
)
from wire.mp.registration import DATA_ONLY
from wire.release import Release

CAPTURED = captured_releases(protocol="mp")
OLD, NEW = Release.parse("0.5.5"), Release.parse("0.5.6")
CUDA = "lmcache.v1.platform.cuda.ipc_wrapper"


class Planted:
    """A pickle of it would run a command where it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


class Child:
    """Stands for the pinned environment: remembers what it was asked, and answers for each blob."""

    def __init__(self, *outcomes):
        self.outcomes = outcomes
        self.jobs = []

    def run_mp_probe(self, release, job, *, timeout):
        self.jobs.append((release, job, timeout))
        return {"outcomes": dict(enumerate_as_text(self.outcomes))}


def enumerate_as_text(values):
    return ((str(number), value) for number, value in enumerate(values))


def blobs_of(release):
    vectors = load_corpus(release, protocol="mp").vectors["mp_encode_registration"]
    return [bytes.fromhex(vector.answer["bytes"]["hex"]) for vector in vectors]


def text(value):
    return pickle.SHORT_BINUNICODE + struct.pack("<B", len(value)) + value.encode()


@pytest.mark.parametrize("release", [release for release in CAPTURED if not DATA_ONLY[release]], ids=str)
def test_no_real_blob_is_refused(release):
    allowed = allowed_globals(release)
    for blob in blobs_of(release):
        require_known_globals(blob, allowed)


@pytest.mark.parametrize("release", CAPTURED, ids=str)
def test_blobs_are_pickles_until_the_release_that_made_them_data(release):
    assert {blob[:1] == pickle.PROTO for blob in blobs_of(release)} == {not DATA_ONLY[release]}


def test_real_blobs_refer_to_their_classes_and_to_torch_alone():
    named = {name for blob in blobs_of(OLD) for name in globals_of(blob)}
    assert {module.partition(".")[0] for module, _ in named} == {"lmcache", "torch"}
    assert (CUDA, "RawCudaIPCWrapper") in named


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_planted_pickle_is_refused_and_not_opened(tmp_path, protocol):
    child = Child()
    blob = pickle.dumps(Planted(tmp_path / "opened"), protocol)
    with pytest.raises(BlobRefused, match="was not opened"):
        decode_registrations(child, OLD, [blob])
    assert child.jobs == []
    assert not (tmp_path / "opened").exists()


def test_one_bad_blob_keeps_all_of_them_closed(tmp_path):
    child = Child()
    with pytest.raises(BlobRefused, match=r"posix\.system"):
        decode_registrations(child, OLD, [blobs_of(OLD)[0], pickle.dumps(Planted(tmp_path / "opened"), 4)])
    assert child.jobs == []


ODD = {
    "a builtin": (pickle.dumps(eval, 4), "refers to builtins.eval"),
    "a class of another library": (pickle.dumps(OrderedDict(), 4), "refers to collections.OrderedDict"),
    "a name put together on the way": (
        pickle.PROTO + b"\x04" + text("os") + pickle.EMPTY_TUPLE + pickle.STACK_GLOBAL + pickle.STOP,
        "a name that it computes",
        ),
    "a name from a slot that was never filled": (
        pickle.PROTO + b"\x04" + text("torch") + pickle.BINGET + b"\x07" + pickle.STACK_GLOBAL + pickle.STOP,
        "a name that it computes",
        ),
    "a name from a slot": (
        pickle.PROTO + b"\x04" + text("os") + pickle.MEMOIZE + text("system") + pickle.MEMOIZE
        + pickle.BINGET + b"\x00" + pickle.BINGET + b"\x01" + pickle.STACK_GLOBAL + pickle.STOP,
        "refers to os.system",
        ),
    "a name of the oldest form": (b"cos\nsystem\n.", "the opcode GLOBAL"),
    "a persistent id": (pickle.PROTO + b"\x04" + text("x") + pickle.BINPERSID + pickle.STOP, "the opcode BINPERSID"),
    "a registered extension": (pickle.PROTO + b"\x04" + pickle.EXT1 + b"\x01" + pickle.STOP, "the opcode EXT1"),
    "a second pickle behind it": (pickle.dumps(None, 4) + pickle.dumps(eval, 4), "bytes follow the end"),
    "no pickle": (b"\x81\xa4type\xa4cuda", "no pickle"),
    "nothing": (b"", "no pickle"),
    "a cut pickle": (pickle.dumps({"handle": 1}, 4)[:-1], "no pickle"),
}  # fmt: skip


@pytest.mark.parametrize(("blob", "reason"), ODD.values(), ids=ODD)
def test_what_no_real_blob_has_is_refused_by_name(blob, reason):
    with pytest.raises(BlobRefused, match=reason):
        require_known_globals(blob, allowed_globals(OLD))


def test_a_name_that_is_allowed_in_one_module_is_not_in_another():
    (module, name), *_ = globals_of(next(blob for blob in blobs_of(OLD) if b"RawCuda" in blob))
    blob = pickle.PROTO + b"\x04" + text("elsewhere") + text(name) + pickle.STACK_GLOBAL + pickle.STOP
    assert (module, name) in allowed_globals(OLD)
    with pytest.raises(BlobRefused, match=f"refers to elsewhere.{name}"):
        require_known_globals(blob, allowed_globals(OLD))


def test_every_opcode_that_finds_or_calls_by_other_means_is_unknown():
    known = registration._HARMLESS | registration._TEXTS | registration._FETCHES | registration._KEEPS | registration._SILENT
    others = {opcode.name for opcode in pickletools.opcodes} - known - {"STACK_GLOBAL"}
    assert {"GLOBAL", "INST", "OBJ", "NEWOBJ_EX", "PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "POP", "DUP"} <= others


def test_the_child_is_told_which_names_it_may_find():
    child = Child({"ok": {"fields": {"wrapper": "CudaIPCWrapper", "shape": [2]}}})
    assert decode_registrations(child, OLD, blobs_of(OLD)[:1]) == [Registration("CudaIPCWrapper", {"shape": [2]})]
    ((_, job, _),) = child.jobs
    assert [CUDA, "CudaIPCWrapper"] in job["vectors"][0]["args"]["globals"]
    json.dumps(job)


def test_what_the_real_class_refuses_is_told_in_its_words():
    child = Child({"error": {"type": "DecodeError", "message": "Input data was truncated"}})
    (found,) = decode_registrations(child, NEW, [b""])
    assert (found.wrapper, found.refusal) == (None, "DecodeError: Input data was truncated")


def test_a_pickle_for_a_release_that_takes_data_goes_to_the_real_class_which_reads_data_alone():
    child = Child({"error": {"type": "ValidationError", "message": "no"}})
    decode_registrations(child, NEW, [pickle.dumps(None)])
    assert child.jobs[0][1]["vectors"][0]["args"]["globals"] == []


def test_a_blob_larger_than_any_real_one_is_not_looked_at():
    with pytest.raises(BlobRefused, match=f"at most {LARGEST}"):
        decode_registrations(Child(), OLD, [bytes(LARGEST + 1)])
