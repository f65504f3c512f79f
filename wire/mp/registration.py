"""KV tensor wrappers, the data of extension type 1: a pickle until 0.5.5, written from a fixed template, and a map from 0.5.6.

Fields are those of the contract: bytes are ``{"hex"}``, the member ``dtype`` and ``{"dtype": "float16"}`` are element types.
Nothing here reads a pickle.

Source: ``DeviceIPCWrapper.Serialize`` and its subclasses of ``lmcache.v1.multiprocess.custom_types`` and ``lmcache.v1.platform``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from wire.errors import WireError
from wire.mp.values import pack
from wire.release import RangeTable, Release

DATA_ONLY: Final = RangeTable("wrappers travel as maps", ("0.3.9.post1", False), ("0.5.6", True))

_OLD: Final = "lmcache.v1.multiprocess.custom_types"
_CUDA: Final = "lmcache.v1.platform.cuda.ipc_wrapper"
MODULES: Final[Mapping[str, RangeTable[str | None]]] = {
    "CudaIPCWrapper": RangeTable("module of CudaIPCWrapper", ("0.3.9.post1", _OLD), ("0.5.1", _CUDA)),
    "RawCudaIPCWrapper": RangeTable("module of RawCudaIPCWrapper", ("0.3.9.post1", None), ("0.4.5", _OLD), ("0.5.1", _CUDA)),
    "VmmCudaIPCWrapper": RangeTable("module of VmmCudaIPCWrapper", ("0.3.9.post1", None), ("0.5.5", _CUDA)),
    "CpuShmTensorWrapper": RangeTable(
        "module of CpuShmTensorWrapper", ("0.3.9.post1", None), ("0.4.7", "lmcache.v1.platform.cpu.shm")
    ),
    "MusaIPCWrapper": RangeTable(
        "module of MusaIPCWrapper",
        ("0.3.9.post1", None),
        ("0.5.1", "lmcache.v1.platform.musa.ipc"),
        ("0.5.2", "lmcache.v1.platform.musa.ipc_wrapper"),
    ),
    "NpuIPCWrapper": RangeTable(
        "module of NpuIPCWrapper", ("0.3.9.post1", None), ("0.5.6", "lmcache.v1.platform.npu.ipc_wrapper")
    ),
}
"""Where the class lives, which its pickle names; None where the release does not have it."""

NOT_PICKLED: Final = ("_opened_handle",)
"""What belongs to the process that holds the wrapper."""

MAPS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "CudaIPCWrapper": ("cuda", {"handle": "handle"}),
    "RawCudaIPCWrapper": (
        "cuda_raw", {"ipc_handle": "_ipc_handle_reserved", "alloc_offset": "_alloc_offset", "nbytes": "_nbytes"},
    ),
    "VmmCudaIPCWrapper": (
        "cuda_vmm",
        {
            "export_id": "_export_id",
            "kind": "_kind",
            "fabric_blob": "_fabric_blob",
            "alloc_size": "_alloc_size",
            "alloc_offset": "_alloc_offset",
            "nbytes": "_nbytes",
        },
    ),
    "CpuShmTensorWrapper": ("cpu_shm", {"shm_name": "shm_name", "nbytes": "nbytes"}),
    "MusaIPCWrapper": ("musa", {"handle": "handle"}),
}  # fmt: skip
"""The tag of a class, and what stands between it and the version: member of the map to field of the wrapper."""
_SAME_OBJECT: Final = {"VmmCudaIPCWrapper": ("handle", "_export_id")}
"""A field that the constructor sets to another one, the first of all: pickle writes that object once and fetches it again."""

_PLACE_OF_FIRST_VALUE: Final = 6
"""Of what pickle remembers: module, class, reference, object, dictionary, name of the first field, its value."""

METADATA: Final = ("dtype", "shape", "stride", "storage_offset", "device_uuid")
VERSION: Final = 1


class WrapperRefused(WireError):
    """A wrapper that the release does not have, or whose fields are not those of its class."""


def encode_registration(release: Release, wrapper: str, fields: Mapping[str, Any], *, size: str | None = None) -> bytes:
    """The data of an extension value. ``size`` is ``torch.Size`` where a pickled wrapper holds its shape as one.

    Raises:
        WrapperRefused: see there.
    """
    module = MODULES[wrapper][release] if wrapper in MODULES else None
    if module is None:
        raise WrapperRefused(f"lmcache {release} has no wrapper {wrapper!r:.60}")
    try:
        if DATA_ONLY[release]:
            return pack(_map(wrapper, fields))
        return _pickled(module, wrapper, fields, size)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, struct.error) as error:
        raise WrapperRefused(f"the fields are not those of a {wrapper}: {type(error).__name__} {error}") from None


def _map(wrapper: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    if wrapper == "NpuIPCWrapper":
        planes = [
            {
                "handle": _plain(handle),
                "metadata": dict(zip(METADATA, (dtype["dtype"], shape, stride, offset, fields["device_uuid"]), strict=True)),
            }
            for handle, dtype, shape, stride, offset in fields["_plane_records"]
        ]
        return {"type": "npu", "version": VERSION, "bare": fields["_bare"], "planes": planes}
    tag, members = MAPS[wrapper]
    return {
        "type": tag,
        **{member: _plain(fields[field]) for member, field in members.items()},
        "version": VERSION,
        "metadata": {name: fields[name] for name in METADATA},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return bytes.fromhex(value["hex"]) if set(value) == {"hex"} else {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _pickled(module: str, wrapper: str, fields: Mapping[str, Any], size: str | None) -> bytes:
    """An object of the class with these attributes, as CPython's ``pickle.dumps`` writes it in protocol 4."""
    state = {
        name: _type_name(value) if name == "dtype" else _size(value) if (name, size) == ("shape", "torch.Size") else _value(value)
        for name, value in fields.items()
        if name not in NOT_PICKLED
    }
    first, shared = next(iter(fields), None), _SAME_OBJECT.get(wrapper)
    if shared is not None and first == shared[1] and fields.get(shared[0]) == fields[first]:
        state[shared[0]] = b"h" + bytes([_PLACE_OF_FIRST_VALUE])
    body = _global(module, wrapper) + b")" + _kept(b"\x81") + _members(state) + b"b."
    return b"\x80\x04\x95" + struct.pack("<Q", len(body)) + body


def _kept(instruction: bytes) -> bytes:
    """An instruction whose object pickle remembers."""
    return instruction + b"\x94"


def _text(text: str) -> bytes:
    data = text.encode()
    return _kept(b"\x8c" + bytes([len(data)]) + data if len(data) < 1 << 8 else b"X" + struct.pack("<I", len(data)) + data)


def _global(module: str, name: str) -> bytes:
    return _text(module) + _text(name) + _kept(b"\x93")


def _type_name(name: str) -> bytes:
    return _global("torch", name)


def _size(values: list[int]) -> bytes:
    return _global("torch", "Size") + _tuple(values) + _kept(b"\x85") + _kept(b"R")


def _members(members: Mapping[str, bytes]) -> bytes:
    head = _kept(b"}")
    if not members:
        return head
    pairs = [_text(name) + value for name, value in members.items()]
    return head + (pairs[0] + b"s" if len(pairs) == 1 else b"(" + b"".join(pairs) + b"u")


def _tuple(values: list[Any]) -> bytes:
    inside = b"".join(map(_value, values))
    if not values:
        return b")"
    return inside + _kept(b"\x85\x86\x87"[len(values) - 1 : len(values)]) if len(values) < 4 else b"(" + inside + _kept(b"t")


def _value(value: Any) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return _tuple(value)
    if set(value) == {"hex"}:
        data = bytes.fromhex(value["hex"])
        return _kept(b"C" + bytes([len(data)]) + data if len(data) < 1 << 8 else b"B" + struct.pack("<I", len(data)) + data)
    if set(value) == {"dtype"}:
        return _type_name(value["dtype"])
    return _members({name: _value(member) for name, member in value.items()})


def _integer(value: int) -> bytes:
    if 0 <= value < 1 << 8:
        return b"K" + bytes([value])
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data
