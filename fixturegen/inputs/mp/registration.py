"""Questions about the blobs that carry KV tensors: every wrapper class, from fixed fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fixturegen.inputs import Question
from wire.errors import UnknownReleaseError
from wire.release import RangeTable, Release

UUID: Final = "6f0e1c1a-2b3c-4d5e-8f90-a1b2c3d4e5f6"
HANDLE: Final = [
    0,
    {"hex": bytes(range(64)).hex()},
    2097152,
    0,
    {"hex": b"/dev/shm-counter".hex()},
    0,
    {"hex": bytes(range(64, 128)).hex()},
    True,
]
"""What torch gives for shared CUDA storage: device, memory handle, size, offset, counter handle and offset, event, its need."""

SHAPE: Final = [2, 4, 16, 8]
STRIDE: Final = [512, 128, 8, 1]
VALUES: Final[Mapping[str, Any]] = {
    "handle": None,
    "dtype": "float16",
    "shape": SHAPE,
    "stride": STRIDE,
    "storage_offset": 0,
    "device": 0,
    "device_uuid": UUID,
    "shm_name": "/lmcache_kv_1",
    "nbytes": 2048,
    "_ipc_handle_reserved": {"hex": bytes(range(64)).hex()},
    "_musa_ipc_handle": {"hex": bytes(range(64)).hex()},
    "_nbytes": 2048,
    "_alloc_offset": 512,
    "_alloc_size": 2097152,
    "_opens": 0,
    "_fd": None,
    "_export_id": {"hex": bytes(range(16)).hex()},
    "_kind": "posix_fd",
    "_fabric_blob": None,
    "_opened_handle": None,
    "_bare": False,
}
AS_DATA: Final = Release.parse("0.5.6")
"""Blobs are data from here on, and pickles before."""
_VIEW: Final = ("handle", "dtype", "shape", "stride", "storage_offset")
WRAPPERS: Final[Mapping[str, RangeTable[tuple[str, ...]]]] = {
    "CudaIPCWrapper": RangeTable(
        "fields of CudaIPCWrapper",
        ("0.3.9.post1", ("handle", "dtype", "shape", "device")),
        ("0.3.12", ("handle", "dtype", "shape", "device_uuid")),
        ("0.3.14", (*_VIEW, "device_uuid")),
    ),
    "RawCudaIPCWrapper": RangeTable(
        "fields of RawCudaIPCWrapper",
        ("0.4.5", ("_ipc_handle_reserved", "_nbytes", *_VIEW, "device_uuid")),
        ("0.5.5", ("_ipc_handle_reserved", "_alloc_offset", "_nbytes", *_VIEW, "_opens", "device_uuid")),
    ),
    "VmmCudaIPCWrapper": RangeTable(
        "fields of VmmCudaIPCWrapper",
        (
            "0.5.5",
            (
                *("_export_id", "_kind", "_fabric_blob", "_fd", "_alloc_size", "_alloc_offset", "_nbytes"),
                *_VIEW,
                *("device_uuid", "_opens"),
            ),
        ),
    ),
    "CpuShmTensorWrapper": RangeTable("fields of CpuShmTensorWrapper", ("0.4.7", ("shm_name", "nbytes", *_VIEW, "device_uuid"))),
    "MusaIPCWrapper": RangeTable(
        "fields of MusaIPCWrapper",
        ("0.5.1", ("_musa_ipc_handle", "_nbytes", *_VIEW, "device_uuid")),
        ("0.5.3", ("handle", "_opened_handle", "dtype", "shape", "stride", "storage_offset", "device_uuid")),
    ),
    "NpuIPCWrapper": RangeTable("fields of NpuIPCWrapper", ("0.5.6", ("_bare", "_plane_records", "device_uuid"))),
}
"""Fields of each wrapper in the order in which its constructor sets them: a pickle writes them in this order."""

OWN: Final[Mapping[str, Mapping[str, Any]]] = {
    "CudaIPCWrapper": {"handle": HANDLE},
    "CpuShmTensorWrapper": {"device_uuid": "cpu"},
    "VmmCudaIPCWrapper": {"handle": {"hex": bytes(range(16)).hex()}},
    "MusaIPCWrapper": {"handle": {"device": 0, "memory": {"hex": bytes(range(16)).hex()}}},
    "NpuIPCWrapper": {
        "_plane_records": [
            [[0, {"hex": bytes(range(16)).hex()}, 4096, 0], {"dtype": "bfloat16"}, SHAPE, STRIDE, 0],
            [[0, {"hex": bytes(range(16, 32)).hex()}, 4096, 2048], {"dtype": "bfloat16"}, SHAPE, STRIDE, 1024],
        ]
    },
}
SHAPES_ARE_SIZES: Final = RangeTable("shapes are torch.Size", ("0.3.9.post1", True), ("0.3.14", False))


def fields_of(release: Release, wrapper: str) -> dict[str, Any] | None:
    """Fixed values for the fields of a wrapper, in order; None where the release has no such class."""
    try:
        names = WRAPPERS[wrapper][release]
    except UnknownReleaseError:
        return None
    if wrapper == "MusaIPCWrapper" and "_musa_ipc_handle" in names:
        return {name: VALUES[name] for name in names}
    return {name: OWN.get(wrapper, {}).get(name, VALUES.get(name)) for name in names}


def encoding(release: Release) -> Iterator[Question]:
    """Every wrapper class that the release has, with variants of what a client chooses."""
    for wrapper in WRAPPERS:
        plain = fields_of(release, wrapper)
        if plain is None:
            continue
        for name, fields in _variants(plain).items():
            args = {"wrapper": wrapper, "fields": fields, **({"size": "torch.Size"} if SHAPES_ARE_SIZES[release] else {})}
            yield Question(f"mp.registration.encode.{_slug(wrapper)}.{name}", "mp_encode_registration", args)


def _variants(plain: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {"plain": plain}
    if "dtype" in plain:
        found["uint8-one-dimension"] = {
            **plain,
            "dtype": "uint8",
            "shape": [2048],
            **({"stride": [1]} if "stride" in plain else {}),
        }
    if "nbytes" in plain:
        found["later-view"] = {**plain, "storage_offset": 1024, "nbytes": 4096}
        found["unicode-name"] = {**plain, "shm_name": "/lmcache_é"}
    if "_kind" in plain:
        found["fabric"] = {**plain, "_kind": "fabric", "_fabric_blob": {"hex": bytes(range(64)).hex()}}
    if "_bare" in plain:
        found["bare"] = {**plain, "_bare": True, "_plane_records": plain["_plane_records"][:1]}
    return found


def decoding(release: Release, outcomes: Mapping[str, Mapping[str, Any]]) -> Iterator[Question]:
    """Every blob that was made, whole and damaged."""
    for name, outcome in outcomes.items():
        if not name.startswith("mp.registration.encode.") or "ok" not in outcome:
            continue
        made = bytes.fromhex(outcome["ok"]["bytes"]["hex"])
        rest = name.removeprefix("mp.registration.encode.")
        found = {"": made}
        if rest == "cuda.plain":
            found |= {"-cut": made[:-1], "-and-more": made + b"\0"}
        for suffix, data in found.items():
            yield Question(f"mp.registration.decode.{rest}{suffix}", "mp_decode_registration", {"bytes": {"hex": data.hex()}})
    # Before blobs were data, reading a pickled None gave None: only the request that holds it is refused.
    pickled = {"pickled-none": b"\x80\x04N."} if release >= AS_DATA else {}
    for name, data in {"empty": b"", **pickled, "empty-map": b"\x80", "nil": b"\xc0"}.items():
        yield Question(f"mp.registration.decode.{name}", "mp_decode_registration", {"bytes": {"hex": data.hex()}})


def _slug(wrapper: str) -> str:
    return {"CpuShmTensorWrapper": "cpu-shm"}.get(wrapper, wrapper.removesuffix("IPCWrapper").lower())
