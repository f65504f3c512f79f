"""Pickled chunks, as a worker without shared memory sends them: written by a fixed template, and never read here.

A worker pickles a list of float16 tensors on the CPU. What torch writes for each names an address of its own process in the place
of a key; the template has one key for all, and keeps no memory of earlier parts, so that every tensor looks the same.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

_MAGIC: Final = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e80024de9032e")
"""The magic number and the version of torch's older file format, each a pickle."""
_SYSTEM: Final = (
    b"\x80\x02}q\x00(X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03X\r\x00\x00\x00little_endianq\x02\x88"
    b"X\n\x00\x00\x00type_sizesq\x03}q\x04(X\x05\x00\x00\x00shortq\x05K\x02X\x03\x00\x00\x00intq\x06K\x04"
    b"X\x04\x00\x00\x00longq\x07K\x04uu."
)
_KEY: Final = b"X\x01\x00\x00\x000"


def pickled_chunks(chunks: Sequence[bytes], shape: Sequence[int]) -> bytes:
    """A pickled list of float16 tensors of one shape; dimensions and strides are below 256."""
    return b"\x80\x04]" + b"".join(_tensor(chunk, shape) + b"a" for chunk in chunks) + b"."


def _tensor(data: bytes, shape: Sequence[int]) -> bytes:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    storage = _storage(data)
    loaded = b"ctorch.storage\n_load_from_bytes\n" + b"B" + struct.pack("<I", len(storage)) + storage + b"\x85R"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(" + loaded + b"K\x00" + _numbers(shape) + _numbers(strides)
        + b"\x89ccollections\nOrderedDict\n)RtR"
    )  # fmt: skip


def _storage(data: bytes) -> bytes:
    elements = len(data) // 2
    kind = b"X\x07\x00\x00\x00storagectorch\nHalfStorage\n"
    described = b"\x80\x02(" + kind + _KEY + b"X\x03\x00\x00\x00cpu" + b"K" + bytes([elements]) + b"NtQ."
    return _MAGIC + _SYSTEM + described + b"\x80\x02](" + _KEY + b"e." + struct.pack("<q", elements) + data


def _numbers(numbers: Sequence[int]) -> bytes:
    return b"(" + b"".join(b"K" + bytes([number]) for number in numbers) + b"t"
