"""Chunks as a pickled list of torch tensors, which travel where there is no shared memory.

A pickle is a program, so it is never loaded: :func:`read_chunks` walks through the few instructions that a list of plain CPU
tensors needs, builds inert values, imports and calls nothing, and refuses all else. :func:`write_chunks` writes one from a fixed
template.

Source: ``pickle.dumps`` of CPython 3.8 and later (protocol 4), ``torch._utils._rebuild_tensor_v2``, and
``torch.storage._load_from_bytes`` with the older form of ``torch.save`` inside.
"""

from __future__ import annotations

import builtins
import io
import itertools
import pickletools
import struct
from collections.abc import Callable, Sequence
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
MOST_NUMBERS: Final = 33

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


_MARK: Final = object()


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
    magic, rest = _walk(saved, frozenset())
    protocol, rest = _walk(rest, frozenset())
    system, rest = _walk(rest, frozenset())
    numbers = (type(magic), type(protocol), type(system)) == (int, int, dict) and (magic, protocol) == (_MAGIC, _PROTOCOL)
    if not numbers or system.get("little_endian") is not True:
        raise PickleRefused("a storage does not begin as torch begins it")
    described, rest = _walk(rest, _INNER_GLOBALS)
    keys, rest = _walk(rest, frozenset())
    match described:
        case _Persistent(("storage", _Global("torch", name), str() as key, "cpu", int() as count, None)):
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


def _walk(data: bytes, permitted: frozenset[tuple[str, str]]) -> tuple[Any, bytes]:
    """The inert value of the first pickle in the bytes, and the bytes behind it."""
    machine = _Machine(permitted)
    stream = io.BytesIO(data)
    try:
        for opcode, argument, _ in itertools.islice(pickletools.genops(stream), MOST_INSTRUCTIONS):
            if opcode.name == "STOP":
                return machine.value(), data[stream.tell() :]
            _INSTRUCTIONS.get(opcode.name, _Machine.refuse)(machine, opcode.name, argument)
    except PickleRefused:
        raise
    except (ValueError, TypeError, LookupError, struct.error, RecursionError, MemoryError) as error:
        raise PickleRefused(f"no pickle: {type(error).__name__}") from None
    raise PickleRefused("a pickle without an end, or with too many instructions")


class _Machine:
    """The stack and the memo of a pickle; each instruction gets its name and its argument."""

    def __init__(self, permitted: frozenset[tuple[str, str]]) -> None:
        self._permitted = permitted
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def value(self) -> Any:
        (value,) = self._stack
        return value

    def refuse(self, name: str, _: Any) -> None:
        raise PickleRefused(f"a pickle with the instruction {name}")

    def nothing(self, _: str, __: Any) -> None:
        """Go on."""

    def mark(self, _: str, __: Any) -> None:
        self._stack.append(_MARK)

    def push(self, _: str, argument: Any) -> None:
        self._stack.append(argument)

    def constant(self, name: str, _: Any) -> None:
        self._stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}[name])

    def empty(self, name: str, _: Any) -> None:
        self._stack.append([] if name == "EMPTY_LIST" else {})

    def memoize(self, _: str, argument: Any) -> None:
        self._memo[len(self._memo) if argument is None else argument] = self._stack[-1]

    def recall(self, _: str, argument: Any) -> None:
        self._stack.append(self._memo[argument])

    def short_tuple(self, name: str, _: Any) -> None:
        size = int(name[-1])
        self._stack[-size:] = [tuple(self._stack[-size:])]

    def tuple(self, _: str, __: Any) -> None:
        self._stack.append(builtins.tuple(self._since_mark()))

    def append(self, name: str, _: Any) -> None:
        elements = self._since_mark() if name == "APPENDS" else [self._stack.pop()]
        _kind(self._stack[-1], list).extend(elements)

    def members(self, _: str, __: Any) -> None:
        members = self._since_mark()
        keys = [_kind(key, str) for key in members[::2]]
        _kind(self._stack[-1], dict).update(zip(keys, members[1::2], strict=True))

    def named(self, name: str, argument: Any) -> None:
        if name == "GLOBAL":
            module, _, attribute = str(argument).partition(" ")
        else:
            attribute, module = _kind(self._stack.pop(), str), _kind(self._stack.pop(), str)
        if (module, attribute) not in self._permitted:
            raise PickleRefused(f"a pickle that names {module[:40]}.{attribute[:40]}")
        self._stack.append(_Global(module, attribute))

    def call(self, _: str, __: Any) -> None:
        arguments, what = self._stack.pop(), self._stack.pop()
        self._stack.append(_Call(_kind(what, _Global), _kind(arguments, builtins.tuple)))

    def persistent(self, _: str, __: Any) -> None:
        self._stack.append(_Persistent(self._stack.pop()))

    def _since_mark(self) -> list[Any]:
        place = next(index for index in reversed(range(len(self._stack))) if self._stack[index] is _MARK)
        found = self._stack[place + 1 :]
        del self._stack[place:]
        return found


_INSTRUCTIONS: Final[dict[str, Callable[[_Machine, str, Any], None]]] = {
    **dict.fromkeys(("PROTO", "FRAME"), _Machine.nothing),
    **dict.fromkeys(("NONE", "NEWTRUE", "NEWFALSE", "EMPTY_TUPLE"), _Machine.constant),
    **dict.fromkeys(("EMPTY_LIST", "EMPTY_DICT"), _Machine.empty),
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "LONG1"), _Machine.push),
    **dict.fromkeys(("SHORT_BINUNICODE", "BINUNICODE", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"), _Machine.push),
    **dict.fromkeys(("MEMOIZE", "BINPUT", "LONG_BINPUT"), _Machine.memoize),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Machine.recall),
    **dict.fromkeys(("TUPLE1", "TUPLE2", "TUPLE3"), _Machine.short_tuple),
    **dict.fromkeys(("APPEND", "APPENDS"), _Machine.append),
    **dict.fromkeys(("STACK_GLOBAL", "GLOBAL"), _Machine.named),
    "MARK": _Machine.mark,
    "TUPLE": _Machine.tuple,
    "SETITEMS": _Machine.members,
    "REDUCE": _Machine.call,
    "BINPERSID": _Machine.persistent,
}
"""What the pickles of plain tensors consist of; any other instruction is refused."""


def _kind(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise PickleRefused(f"a pickle with {type(value).__name__} where {kind.__name__} belongs")
    return value


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
