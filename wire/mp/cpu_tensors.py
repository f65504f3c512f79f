"""KV tensors in shared memory of the client, as they cross the wire: extension type 1, a pickle up to 0.5.5 and then a map.

The pickle is read as inert values and compared with what the class has; it is never loaded. Source:
``lmcache.v1.platform.cpu.shm.CpuShmTensorWrapper`` and, for the map, ``lmcache.v1.platform.base.ipc_wire``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from wire.errors import WireError
from wire.mp.inert_pickle import Call, Global, Object, PickleRefused, walk
from wire.mp.registration import DATA_ONLY, MODULES
from wire.mp.values import ValueRefused, shown, unpack
from wire.release import Release

CLASS: Final = "CpuShmTensorWrapper"
ELEMENT_BYTES: Final = {
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
_MOST_DIMENSIONS: Final = 16
_MEMBERS: Final = {"type", "version", "metadata", "shm_name", "nbytes"}
_METADATA: Final = {"dtype", "shape", "stride", "storage_offset", "device_uuid"}


class TensorRefused(WireError):
    """A wrapper that does not describe a tensor in shared memory."""


@dataclass(frozen=True)
class CpuTensor:
    """A view of a shared-memory segment."""

    shm_name: str
    """With its slash in front, or without."""
    nbytes: int
    """Of the segment, as the client says."""
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """In elements."""
    storage_offset: int
    """In elements."""

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements stand in row-major order without gaps."""
        return self.stride == tuple(prod(self.shape[index + 1 :]) for index in range(len(self.shape)))

    @property
    def end(self) -> int:
        """Bytes from the beginning of the segment to the end of the last element."""
        if 0 in self.shape:
            return 0
        last = sum((size - 1) * step for size, step in zip(self.shape, self.stride, strict=True))
        return ELEMENT_BYTES[self.dtype] * (self.storage_offset + 1 + last)


def read_cpu_tensor(release: Release, data: bytes) -> CpuTensor:
    """The tensor that the data of an extension value describes.

    Raises:
        TensorRefused: it is a tensor on a device, or nothing of the kind.
    """
    fields = _from_map(data) if DATA_ONLY[release] else _from_pickle(release, data)
    numbers = (*fields["shape"], *fields["stride"], fields["storage_offset"], fields["nbytes"])
    if any(type(number) is not int or not 0 <= number < 1 << 48 for number in numbers):
        raise TensorRefused("a size, stride or offset is no plain number")
    if not 0 < len(fields["shape"]) == len(fields["stride"]) <= _MOST_DIMENSIONS:
        raise TensorRefused(f"a tensor has {len(fields['shape'])} sizes and {len(fields['stride'])} strides")
    if fields["dtype"] not in ELEMENT_BYTES or type(fields["shm_name"]) is not str:
        raise TensorRefused(f"dtype {fields['dtype']!r:.40} or the name of the memory is not known")
    tensor = CpuTensor(
        fields["shm_name"],
        fields["nbytes"],
        fields["dtype"],
        tuple(fields["shape"]),
        tuple(fields["stride"]),
        fields["storage_offset"],
    )
    if tensor.end > tensor.nbytes:
        raise TensorRefused(f"a tensor ends at byte {tensor.end} of a segment of {tensor.nbytes}")
    return tensor


def _from_map(data: bytes) -> dict[str, Any]:
    try:
        value = unpack(data)
    except ValueRefused as refusal:
        raise TensorRefused(str(refusal)) from None
    if not isinstance(value, dict) or value.get("type") != "cpu_shm":
        raise TensorRefused(f"a wrapper is {shown(value.get('type') if isinstance(value, dict) else value, 40)} and not cpu_shm")
    metadata = value.get("metadata")
    if set(value) != _MEMBERS or value["version"] != 1 or not isinstance(metadata, dict) or set(metadata) != _METADATA:
        raise TensorRefused("a cpu_shm wrapper has other members than its class")
    if (
        not isinstance(metadata["shape"], list)
        or not isinstance(metadata["stride"], list)
        or not isinstance(metadata["dtype"], str)
    ):
        raise TensorRefused("a cpu_shm wrapper has no arrays for its shape and strides")
    return {**metadata, "shm_name": value["shm_name"], "nbytes": value["nbytes"]}


def _from_pickle(release: Release, data: bytes) -> Mapping[str, Any]:
    module = MODULES[CLASS][release]
    if module is None:
        raise TensorRefused(f"lmcache {release} knows no tensors in shared memory")
    permitted = frozenset({(module, CLASS), ("torch", "Size"), *(("torch", dtype) for dtype in ELEMENT_BYTES)})
    try:
        value, rest = walk(data, permitted)
    except PickleRefused as refusal:
        raise TensorRefused(str(refusal)) from None
    if rest or type(value) is not Object or value.what != Global(module, CLASS) or value.arguments:
        raise TensorRefused(f"a wrapper is no pickled {CLASS}")
    state = value.state
    shape = state.get("shape")
    if type(shape) is Call and shape.what == Global("torch", "Size") and len(shape.arguments) == 1:
        shape = shape.arguments[0]
    dtype = state.get("dtype")
    names = ("shm_name", "nbytes", "stride", "storage_offset")
    if type(shape) is not tuple or type(dtype) is not Global or dtype.module != "torch" or not set(names) <= set(state):
        raise TensorRefused(f"a pickled {CLASS} lacks fields, or has others")
    if type(state["stride"]) is not tuple:
        raise TensorRefused(f"a pickled {CLASS} has no tuple of strides")
    return {**{name: state[name] for name in names}, "shape": shape, "dtype": dtype.name}
