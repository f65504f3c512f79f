"""Reading a pickle without executing it: a few instructions that build inert values; nothing is imported, called or made.

A pickle is a program. What it names and calls stays a name and a description of a call here, which the reader compares with what
it expects. Whatever is not known is refused.
"""

from __future__ import annotations

import builtins
import io
import itertools
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from wire.errors import WireError

MOST_INSTRUCTIONS: Final = 200_000


class PickleRefused(WireError):
    """Bytes that are no pickle of the expected kind."""


@dataclass(frozen=True)
class Global:
    """A name in a module."""

    module: str
    name: str


@dataclass(frozen=True)
class Call:
    """What a call would give."""

    what: Global
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Object:
    """What an object of a class would be."""

    what: Global
    arguments: tuple[Any, ...]
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Persistent:
    """What stands outside the pickle, by its id."""

    value: Any


_MARK: Final = object()


def walk(data: bytes, permitted: frozenset[tuple[str, str]]) -> tuple[Any, bytes]:
    """The inert value of the first pickle in the bytes, and the bytes behind it.

    Raises:
        PickleRefused: it is none, has an instruction that is not known here, or names something that is not permitted.
    """
    machine = _Machine(permitted)
    stream = io.BytesIO(data)
    try:
        for opcode, argument, _ in itertools.islice(pickletools.genops(stream), MOST_INSTRUCTIONS):
            if opcode.name == "STOP":
                return machine.value(), data[stream.tell() :]
            _INSTRUCTIONS.get(opcode.name, _Machine.refuse)(machine, opcode.name, argument)
    except PickleRefused:
        raise
    except Exception as error:  # noqa: BLE001  # whatever a hostile pickle does to its reader
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

    def members(self, name: str, _: Any) -> None:
        if name == "SETITEM":
            value, key = self._stack.pop(), self._stack.pop()
            members = [key, value]
        else:
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
        self._stack.append(Global(module, attribute))

    def call(self, _: str, __: Any) -> None:
        arguments, what = self._stack.pop(), self._stack.pop()
        self._stack.append(Call(_kind(what, Global), _kind(arguments, builtins.tuple)))

    def made(self, _: str, __: Any) -> None:
        arguments, what = self._stack.pop(), self._stack.pop()
        self._stack.append(Object(_kind(what, Global), _kind(arguments, builtins.tuple)))

    def build(self, _: str, __: Any) -> None:
        state, what = self._stack.pop(), self._stack.pop()
        made = _kind(what, Object)
        self._stack.append(Object(made.what, made.arguments, _kind(state, dict)))

    def persistent(self, _: str, __: Any) -> None:
        self._stack.append(Persistent(self._stack.pop()))

    def _since_mark(self) -> list[Any]:
        place = next((index for index in reversed(range(len(self._stack))) if self._stack[index] is _MARK), None)
        if place is None:
            raise PickleRefused("no pickle: a mark is missing")
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
    "SETITEM": _Machine.members,
    "SETITEMS": _Machine.members,
    "NEWOBJ": _Machine.made,
    "BUILD": _Machine.build,
    "REDUCE": _Machine.call,
    "BINPERSID": _Machine.persistent,
}
"""What pickles of plain values and objects consist of; any other instruction is refused."""


def _kind(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise PickleRefused(f"a pickle with {type(value).__name__} where {kind.__name__} belongs")
    return value
