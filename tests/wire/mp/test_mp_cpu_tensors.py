"""Wrappers of tensors in shared memory are read from what the real class wrote, and from nothing else."""

from __future__ import annotations

import pickle

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from wire.mp.cpu_tensors import CpuTensor, TensorRefused, read_cpu_tensor
from wire.mp.inert_pickle import PickleRefused, walk
from wire.mp.registration import MODULES, encode_registration
from wire.release import Release

OLD, NEW = Release.parse("0.5.5"), Release.parse("0.5.6")
FIELDS = {
    "shm_name": "/lmcache_kv_1", "nbytes": 64, "handle": None, "dtype": "float16", "shape": [2, 4, 2], "stride": [8, 2, 1],
    "storage_offset": 0, "device_uuid": "cpu",
}  # fmt: skip
TENSOR = CpuTensor("/lmcache_kv_1", 64, "float16", (2, 4, 2), (8, 2, 1), 0)


def captured():
    for release in captured_releases(protocol="mp"):
        if MODULES["CpuShmTensorWrapper"][release] is not None:
            for vector in load_corpus(release, protocol="mp").vectors["mp_encode_registration"]:
                if vector.args["wrapper"] == "CpuShmTensorWrapper" and "ok" in vector.outcome:
                    yield pytest.param(release, vector, id=f"{release}-{vector.id}")


@pytest.mark.parametrize(("release", "vector"), list(captured()))
def test_what_the_real_class_wrote_is_read(release, vector):
    data = bytes.fromhex(vector.outcome["ok"]["bytes"]["hex"])
    fields = vector.args["fields"]
    found = read_cpu_tensor(release, data)
    assert (found.shm_name, found.nbytes, found.dtype) == (fields["shm_name"], fields["nbytes"], fields["dtype"])
    assert (list(found.shape), list(found.stride), found.storage_offset) == (
        fields["shape"], fields["stride"], fields["storage_offset"],
    )  # fmt: skip


@pytest.mark.parametrize("release", [OLD, NEW])
def test_what_we_write_is_read(release):
    assert read_cpu_tensor(release, encode_registration(release, "CpuShmTensorWrapper", FIELDS)) == TENSOR
    assert (TENSOR.is_contiguous, TENSOR.end) == (True, 32)


@pytest.mark.parametrize("release", [OLD, NEW])
@pytest.mark.parametrize(
    "changes",
    [
        {"nbytes": 31}, {"stride": [8, 2]}, {"shape": []}, {"dtype": "complex64"}, {"storage_offset": -1},
        {"shape": [True, 4, 2]}, {"shm_name": None}, {"nbytes": 1 << 60}, {"stride": [1 << 50, 2, 1]},
    ],
)  # fmt: skip
def test_fields_that_make_no_tensor_are_refused(release, changes):
    with pytest.raises(TensorRefused):
        read_cpu_tensor(release, encode_registration(release, "CpuShmTensorWrapper", {**FIELDS, **changes}))


@pytest.mark.parametrize("release", [OLD, NEW, Release.parse("0.4.1")])
@pytest.mark.parametrize("data", [b"", b"\x80", b"\xc0", b"cos\nsystem\n(S'true'\ntR.", pickle.dumps([1]), pickle.dumps(FIELDS)])
def test_anything_else_is_refused(release, data):
    with pytest.raises(TensorRefused):
        read_cpu_tensor(release, data)


def test_a_pickle_of_one_form_is_none_of_the_other():
    with pytest.raises(TensorRefused):
        read_cpu_tensor(NEW, encode_registration(OLD, "CpuShmTensorWrapper", FIELDS))
    with pytest.raises(TensorRefused):
        read_cpu_tensor(OLD, encode_registration(NEW, "CpuShmTensorWrapper", FIELDS))


def test_names_that_are_not_permitted_are_refused_without_being_looked_up():
    with pytest.raises(PickleRefused, match=r"wire\.release\.Release"):
        walk(pickle.dumps(Release), frozenset({("wire.release", "ReleaseRange")}))
