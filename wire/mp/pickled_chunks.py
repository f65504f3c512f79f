"""Chunks as a pickled list of torch tensors, which travel where there is no shared memory.

A pickle is a program, so it is never loaded: :func:`read_chunks` walks through the few instructions that a list of plain CPU tensors
needs, builds inert values, imports and calls nothing, and refuses all else. :func:`write_chunks` writes one from a fixed template.

Source: ``pickle.dumps`` of CPython 3.8 and later (protocol 4), ``torch._utils._rebuild_tensor_v2``, and
``torch.storage._load_from_bytes`` with the older form of ``torch.save`` inside.
"""

from __future__ import annotations

import io
import pickletools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from wire.errors import WireError

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
MOST_INSTRUCTIONS: Final = 200_000

_DTYPES: Final = {storage: dtype for dtype, storage in STORAGES.items()}
_MAGIC: Final = 0x1950A86A20F9469CFC6C
_PROTOCOL: Final = 1001
_GLOBALS: Final = frozenset(
    {("torch._utils", "_rebuild_tensor_v2"), ("torch.storage", "_load_from_bytes"), ("collections", "OrderedDict")}
)
_INNER_GLOBALS: Final = frozenset(("torch", storage) for storage in _DTYPES)


class PickleRefused(WireError):
    """Bytes that are no pickled list of plain tensors."""


@dataclass(frozen=True)
class Chunk:
    """A contiguous tensor: elements in row-major order, each little-endian."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class _Global:
    module: str
    name: str


@dataclass(frozen=True)
class _Call:
    what: _Global
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class _Persistent:
    value: Any


class _Mark:
    pass


def read_chunks(data: bytes) -> list[Chunk]:
    """The tensors of a pickled list.

    Raises:
        PickleRefused: it is anything else.
    """
    value, rest = _walk(data, _GLOBALS)
    if rest:
        raise PickleRefused(f"{len(rest)} bytes behind the pickle")
    if not isinstance(value, list):
        raise PickleRefused("the pickle is no list")
    return [_chunk(element) for element in value]


def _chunk(value: Any) -> Chunk:
    match value:
        case _Call(
            _Global("torch._utils", "_rebuild_tensor_v2"),
            (
                _Call(_Global("torch.storage", "_load_from_bytes"), (bytes() as saved,)),
                int() as offset,
                tuple() as shape,
                tuple() as strides,
                False,
                _Call(_Global("collections", "OrderedDict"), ()),
            ),
        ):
            pass
        case _:
            raise PickleRefused("an element is no plain tensor")
    if any(type(number) is not int or number < 0 for number in (*shape, *strides)) or type(offset) is not int:
        raise PickleRefused("a tensor has a shape, strides or an offset that are no whole numbers")
    if strides != _strides(shape) and prod(shape):
        raise PickleRefused(f"a tensor of shape {shape} has strides {strides}, and only contiguous ones are read")
    dtype, elements = _storage(saved)
    size = SIZES[dtype]
    if offset < 0 or (offset + prod(shape)) * size > len(elements):
        raise PickleRefused(f"a tensor of shape {shape} from element {offset} on is larger than its storage")
    return Chunk(dtype, shape, elements[offset * size : (offset + prod(shape)) * size])


def _storage(saved: bytes) -> tuple[str, bytes]:
    """Dtype and elements of a storage that the older form of ``torch.save`` wrote."""
    magic, rest = _walk(saved, frozenset())
    protocol, rest = _walk(rest, frozenset())
    system, rest = _walk(rest, frozenset())
    if magic != _MAGIC or protocol != _PROTOCOL or not isinstance(system, dict) or system.get("little_endian") is not True:
        raise PickleRefused("a storage does not begin as torch begins it")
    described, rest = _walk(rest, _INNER_GLOBALS)
    keys, rest = _walk(rest, frozenset())
    match described:
        case _Persistent(("storage", _Global("torch", name), str() as key, "cpu", int() as count, None)):
            pass
        case _:
            raise PickleRefused("a storage is no plain one on the CPU")
    dtype = _DTYPES[name]
    if keys != [key] or len(rest) != 8 + count * SIZES[dtype] or struct.unpack_from("<q", rest)[0] != count:
        raise PickleRefused(f"a storage of {count} elements of {dtype} has another size")
    return dtype, rest[8:]


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[index + 1 :]) for index in range(len(shape)))


def _walk(data: bytes, permitted: frozenset[tuple[str, str]]) -> tuple[Any, bytes]:  # noqa: PLR0912, PLR0915  # one row each
    """The inert value of the first pickle in the bytes, and the bytes behind it."""
    stream = io.BytesIO(data)
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if count > MOST_INSTRUCTIONS:
                raise PickleRefused("a pickle with too many instructions")
            match opcode.name:
                case "PROTO" | "FRAME":
                    pass
                case "STOP":
                    (value,) = stack
                    return value, data[stream.tell() :]
                case "MARK":
                    stack.append(_Mark)
                case "MEMOIZE":
                    memo[len(memo)] = stack[-1]
                case "BINPUT" | "LONG_BINPUT":
                    memo[argument] = stack[-1]
                case "BINGET" | "LONG_BINGET":
                    stack.append(memo[argument])
                case "EMPTY_LIST":
                    stack.append([])
                case "EMPTY_TUPLE":
                    stack.append(())
                case "EMPTY_DICT":
                    stack.append({})
                case "NONE":
                    stack.append(None)
                case "NEWFALSE" | "NEWTRUE":
                    stack.append(opcode.name == "NEWTRUE")
                case "BININT" | "BININT1" | "BININT2" | "LONG1":
                    stack.append(argument)
                case "SHORT_BINUNICODE" | "BINUNICODE" | "SHORT_BINBYTES" | "BINBYTES" | "BINBYTES8":
                    stack.append(argument)
                case "TUPLE1" | "TUPLE2" | "TUPLE3":
                    size = int(opcode.name[-1])
                    stack[-size:] = [tuple(stack[-size:])]
                case "TUPLE":
                    stack.append(tuple(_since_mark(stack)))
                case "APPEND":
                    element = stack.pop()
                    _kind(stack[-1], list).append(element)
                case "APPENDS":
                    elements = _since_mark(stack)
                    _kind(stack[-1], list).extend(elements)
                case "SETITEMS":
                    members = _since_mark(stack)
                    _kind(stack[-1], dict).update(zip(members[::2], members[1::2], strict=True))
                case "STACK_GLOBAL":
                    name, module = stack.pop(), stack.pop()
                    stack.append(_named(module, name, permitted))
                case "GLOBAL":
                    module, _, name = str(argument).partition(" ")
                    stack.append(_named(module, name, permitted))
                case "REDUCE":
                    arguments, what = stack.pop(), stack.pop()
                    stack.append(_Call(_kind(what, _Global), _kind(arguments, tuple)))
                case "BINPERSID":
                    stack.append(_Persistent(stack.pop()))
                case other:
                    raise PickleRefused(f"a pickle with the instruction {other}")
    except PickleRefused:
        raise
    except Exception as error:
        raise PickleRefused(f"no pickle: {type(error).__name__}") from None
    raise PickleRefused("a pickle without an end")


def _since_mark(stack: list[Any]) -> list[Any]:
    place = len(stack) - 1 - stack[::-1].index(_Mark)
    found = stack[place + 1 :]
    del stack[place:]
    return found


def _kind(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise PickleRefused(f"a pickle with {type(value).__name__} where {kind.__name__} belongs")
    return value


def _named(module: Any, name: Any, permitted: frozenset[tuple[str, str]]) -> _Global:
    if (module, name) not in permitted:
        raise PickleRefused(f"a pickle that names {str(module)[:40]}.{str(name)[:40]}")
    return _Global(module, name)


def write_chunks(chunks: Sequence[Chunk]) -> bytes:
    """A pickled list of tensors, as ``pickle.dumps`` makes it but for the keys of the storages, which are addresses there.

    Raises:
        PickleRefused: a chunk has a dtype without a storage of its own, or its bytes are not of its shape.
    """
    writer = _Writer()
    writer.put(b"]\x94")
    writer.memo += 1
    if len(chunks) > 1:
        writer.put(b"(")
    for index, chunk in enumerate(chunks):
        writer.tensor(chunk, f"{index + 1}")
    if chunks:
        writer.put(b"e" if len(chunks) > 1 else b"a")
    writer.put(b".")
    return writer.finish()


class _Writer:
    """Instructions of protocol 4 in frames of at least 64 KiB, as CPython's pickler cuts them; large bytes stand outside."""

    def __init__(self) -> None:
        self.memo = 0
        self._known: dict[str, int] = {}
        self._out = [b"\x80\x04"]
        self._frame = bytearray()

    def put(self, data: bytes) -> None:
        self._frame += data

    def memoize(self, data: bytes) -> None:
        self._frame += data + b"\x94"
        self.memo += 1

    def text(self, text: str) -> None:
        if text in self._known:
            self._get(self._known[text])
            return
        self._known[text] = self.memo
        self.memoize(b"\x8c" + bytes([len(text)]) + text.encode())

    def named(self, module: str, name: str) -> None:
        place = self._known.get(f"{module} {name}")
        if place is not None:
            self._get(place)
            return
        self.text(module)
        self.text(name)
        self._known[f"{module} {name}"] = self.memo
        self.memoize(b"\x93")

    def _get(self, place: int) -> None:
        self.put(b"h" + bytes([place]) if place < 256 else b"j" + struct.pack("<I", place))

    def integers(self, values: Sequence[int]) -> None:
        if len(values) > 3:
            self.put(b"(")
        for value in values:
            self.put(_integer(value))
        if values:
            self.memoize({1: b"\x85", 2: b"\x86", 3: b"\x87"}.get(len(values), b"t"))
        else:
            self.put(b")")

    def tensor(self, chunk: Chunk, key: str) -> None:
        self.named("torch._utils", "_rebuild_tensor_v2")
        self.put(b"(")
        self.named("torch.storage", "_load_from_bytes")
        self.binary(_saved(chunk, key))
        self.memoize(b"\x85")
        self.memoize(b"R")
        self.put(b"K\x00")
        self.integers(chunk.shape)
        self.integers(_strides(chunk.shape))
        self.put(b"\x89")
        self.named("collections", "OrderedDict")
        self.put(b")")
        self.memoize(b"R")
        self.memoize(b"t")
        self.memoize(b"R")
        self._cut()

    def binary(self, data: bytes) -> None:
        head = b"C" + bytes([len(data)]) if len(data) < 256 else b"B" + struct.pack("<I", len(data))
        if len(data) >= 1 << 16:
            self._end_frame()
            self._out += [head, data]
        else:
            self.put(head + data)
        self.memoize(b"")

    def _cut(self) -> None:
        if len(self._frame) >= 1 << 16:
            self._end_frame()

    def _end_frame(self) -> None:
        if self._frame:
            head = b"\x95" + struct.pack("<Q", len(self._frame)) if len(self._frame) >= 4 else b""
            self._out.append(head + bytes(self._frame))
            self._frame.clear()

    def finish(self) -> bytes:
        self._end_frame()
        return b"".join(self._out)


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
            b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00(X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03",
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
