"""Chunks as a pickled list of torch tensors, which travel where there is no shared memory.

A pickle is a program, so it is never loaded: :func:`read_chunks` reads inert values and compares them with a list of plain CPU
tensors, and refuses all else. :func:`write_chunks` writes one from a fixed template.

Source: ``pickle.dumps`` of CPython 3.8 and later (protocol 4), ``torch._utils._rebuild_tensor_v2``, and
``torch.storage._load_from_bytes`` with the older form of ``torch.save`` inside.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from wire.mp.inert_pickle import Call, Global, Persistent, PickleRefused, walk

__all__ = ["SIZES", "STORAGES", "Chunk", "PickleRefused", "read_chunks", "write_chunks"]

STORAGES: Final = {
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "bool": "BoolStorage",
}
"""torch's class of a storage, by dtype. Other dtypes have another form, which is not read or written here."""
SIZES: Final = {
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "bool": 1,
}
MOST_NUMBERS: Final = 33

_DTYPES: Final = {storage: dtype for dtype, storage in STORAGES.items()}
_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_GLOBALS: Final = frozenset(
    {("torch._utils", "_rebuild_tensor_v2"), ("torch.storage", "_load_from_bytes"), ("collections", "OrderedDict")}
)
_INNER_GLOBALS: Final = frozenset(("torch", storage) for storage in _DTYPES)


@dataclass(frozen=True)
class Chunk:
    """A contiguous tensor: elements in row-major order, each little-endian."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def read_chunks(data: bytes) -> list[Chunk]:
    """The tensors of a pickled list.

    Raises:
        PickleRefused: it is anything else.
    """
    value, rest = walk(data, _GLOBALS)
    if rest:
        raise PickleRefused(f"{len(rest)} bytes behind the pickle")
    if not isinstance(value, list):
        raise PickleRefused("the pickle is no list")
    return [_chunk(element) for element in value]


def _chunk(value: Any) -> Chunk:
    match value:
        case Call(
            Global("torch._utils", "_rebuild_tensor_v2"),
            (
                Call(Global("torch.storage", "_load_from_bytes"), (bytes() as saved,)),
                int() as offset,
                tuple() as shape,
                tuple() as strides,
                False,
                Call(Global("collections", "OrderedDict"), ()),
            ),
        ):
            pass
        case _:
            raise PickleRefused("an element is no plain tensor")
    numbers = (offset, *shape, *strides)
    if len(numbers) > MOST_NUMBERS or any(type(number) is not int or not 0 <= number < 1 << 40 for number in numbers):
        raise PickleRefused("a tensor has a shape, strides or an offset that are no plain numbers")
    if strides != _strides(shape) and prod(shape):
        raise PickleRefused(f"a tensor of shape {shape} has strides {strides}, and only contiguous ones are read")
    dtype, elements = _storage(saved)
    size = SIZES[dtype]
    if (offset + prod(shape)) * size > len(elements):
        raise PickleRefused(f"a tensor of shape {shape} from element {offset} on is larger than its storage")
    return Chunk(dtype, shape, elements[offset * size : (offset + prod(shape)) * size])


def _storage(saved: bytes) -> tuple[str, bytes]:
    """Dtype and elements of a storage that the older form of ``torch.save`` wrote."""
    magic, rest = walk(saved, frozenset())
    protocol, rest = walk(rest, frozenset())
    system, rest = walk(rest, frozenset())
    numbers = (type(magic), type(protocol), type(system)) == (int, int, dict) and (magic, protocol) == (_MAGIC, _PROTOCOL)
    if not numbers or system.get("little_endian") is not True:
        raise PickleRefused("a storage does not begin as torch begins it")
    described, rest = walk(rest, _INNER_GLOBALS)
    keys, rest = walk(rest, frozenset())
    match described:
        case Persistent(("storage", Global("torch", name), str() as key, "cpu", int() as count, None)):
            pass
        case _:
            raise PickleRefused("a storage is no plain one on the CPU")
    dtype = _DTYPES[name]
    if type(keys) is not list or len(keys) != 1 or type(keys[0]) is not str or keys[0] != key or type(count) is not int:
        raise PickleRefused("a storage has another key, or a size that is no number")
    if len(rest) != 8 + count * SIZES[dtype] or struct.unpack_from("<q", rest)[0] != count:
        raise PickleRefused(f"a storage of {count} elements of {dtype} has another size")
    return dtype, rest[8:]


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[index + 1 :]) for index in range(len(shape)))


def write_chunks(chunks: Sequence[Chunk]) -> bytes:
    """A pickled list of tensors, as ``pickle.dumps`` makes it; the keys of the storages, which are addresses there, are numbers.

    Raises:
        PickleRefused: a chunk has a dtype without a storage of its own, or its bytes are not of its shape.
    """
    writer = _Writer()
    writer.memoize(b"]")
    if len(chunks) == 1:
        writer.tensor(chunks[0], str(_FIRST_KEY))
        writer.put(b"a")
    else:
        for start in range(0, len(chunks), _BATCH):
            writer.put(b"(")
            for index, chunk in enumerate(chunks[start : start + _BATCH], start):
                writer.tensor(chunk, str(_FIRST_KEY + index))
            writer.put(b"e")
    writer.put(b".")
    return writer.finish()


_BATCH: Final = 1000
_FRAME: Final = 1 << 16
_FIRST_KEY: Final = 90_000_000_000_000
"""As many digits as an address has in a process on Linux."""


class _Writer:
    """Instructions of protocol 4, cut into frames where CPython's pickler cuts them; large bytes stand outside."""

    def __init__(self) -> None:
        self._memoized = 0
        self._known: dict[str, int] = {}
        self._out = [b"\x80\x04"]
        self._frame = bytearray()

    def finish(self) -> bytes:
        self._end_frame()
        return b"".join(self._out)

    def put(self, data: bytes) -> None:
        self._frame += data

    def memoize(self, data: bytes) -> None:
        self._frame += data + b"\x94"
        self._memoized += 1

    def tensor(self, chunk: Chunk, key: str) -> None:
        self._named("torch._utils", "_rebuild_tensor_v2")
        self._object(b"(")
        self._named("torch.storage", "_load_from_bytes")
        self._binary(_saved(chunk, key))
        self.memoize(b"\x85")
        self.memoize(b"R")
        self._object(_integer(0))
        self._integers(chunk.shape)
        self._integers(_strides(chunk.shape))
        self._object(b"\x89")
        self._named("collections", "OrderedDict")
        self._object(b")")
        self.memoize(b"R")
        self.memoize(b"t")
        self.memoize(b"R")

    def _object(self, data: bytes) -> None:
        """The first instruction of an object; a frame that is full ends before it."""
        if len(self._frame) >= _FRAME:
            self._end_frame()
        self.put(data)

    def _end_frame(self) -> None:
        if self._frame:
            head = b"\x95" + struct.pack("<Q", len(self._frame)) if len(self._frame) >= 4 else b""
            self._out.append(head + bytes(self._frame))
            self._frame.clear()

    def _text(self, text: str) -> None:
        self._object(b"")
        if not self._recalled(text):
            self._known[text] = self._memoized
            self.memoize(b"\x8c" + bytes([len(text)]) + text.encode())

    def _named(self, module: str, name: str) -> None:
        self._object(b"")
        if not self._recalled(f"{module} {name}"):
            self._text(module)
            self._text(name)
            self._known[f"{module} {name}"] = self._memoized
            self.memoize(b"\x93")

    def _recalled(self, what: str) -> bool:
        place = self._known.get(what)
        if place is None:
            return False
        self.put(b"h" + bytes([place]) if place < 1 << 8 else b"j" + struct.pack("<I", place))
        return True

    def _integers(self, values: Sequence[int]) -> None:
        self._object(b"(" if len(values) > 3 else b"")
        for value in values:
            self._object(_integer(value))
        if values:
            self.memoize({1: b"\x85", 2: b"\x86", 3: b"\x87"}.get(len(values), b"t"))
        else:
            self.put(b")")

    def _binary(self, data: bytes) -> None:
        head = b"C" + bytes([len(data)]) if len(data) < 1 << 8 else b"B" + struct.pack("<I", len(data))
        self._object(b"")
        if len(data) >= _FRAME:
            self._end_frame()
            self._out += [head, data]
        else:
            self.put(head + data)
        self.memoize(b"")


def _saved(chunk: Chunk, key: str) -> bytes:
    """A storage as the older form of ``torch.save`` writes it."""
    if chunk.dtype not in STORAGES:
        raise PickleRefused(f"no storage of torch is known for {chunk.dtype}")
    count = prod(chunk.shape)
    if count * SIZES[chunk.dtype] != len(chunk.data):
        raise PickleRefused(f"a chunk of shape {chunk.shape} and dtype {chunk.dtype} has {len(chunk.data)} bytes")
    name = struct.pack("<I", len(key)) + key.encode()
    number = _integer(count)
    return b"".join(
        [
            b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.",
            b"\x80\x02}q\x00(X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03",
            b"X\r\x00\x00\x00little_endianq\x02\x88X\n\x00\x00\x00type_sizesq\x03}q\x04(X\x05\x00\x00\x00shortq\x05K\x02",
            b"X\x03\x00\x00\x00intq\x06K\x04X\x04\x00\x00\x00longq\x07K\x04uu.",
            b"\x80\x02(X\x07\x00\x00\x00storageq\x00ctorch\n" + STORAGES[chunk.dtype].encode() + b"\nq\x01",
            b"X" + name + b"q\x02X\x03\x00\x00\x00cpuq\x03" + number + b"Ntq\x04Q.",
            b"\x80\x02]q\x00X" + name + b"q\x01a.",
            struct.pack("<q", count) + chunk.data,
        ]
    )


def _integer(value: int) -> bytes:
    if value < 1 << 8:
        return b"K" + bytes([value])
    if value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little")
    return b"\x8a" + bytes([len(data)]) + data
