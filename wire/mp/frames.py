"""Messages: a request is ``[uid, operation, payload ...]``, a reply ``[uid, operation as sent, result]``.

Each frame is one msgpack value. The uid is opaque to servers, which give it back; lmcache's own client packs a counter.
A reply without result has two frames. There is no empty delimiter between address and uid.

Source: ``lmcache.v1.multiprocess.mq``, or ``lmcache.v1.multiprocess.transport.zmq_impl.mq`` where that module exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wire.errors import WireError
from wire.mp.operations import Operation, OperationTable
from wire.mp.types import Scalar, Type
from wire.mp.values import Value, ValueRefused, check_salts, complete, pack, shown, typed, unpack
from wire.release import RangeTable, Release

COERCED: Final = RangeTable("integers and booleans are converted", ("0.3.9.post1", False), ("0.4.7", True))
"""A payload or result that is an ``int`` or a ``bool`` as a whole is read as any value and converted by Python's rules."""


class FrameRefused(WireError):
    """A message that lmcache does not read."""


@dataclass(frozen=True)
class Request:
    """A request behind its uid."""

    operation: Operation
    payloads: Sequence[Value]


def encode_request(table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
    """The frames behind the uid, as lmcache's own client writes them.

    Raises:
        UnknownOperationError: the release does not have the operation.
        FrameRefused: there are more or fewer payloads than it takes.
        ValueRefused: msgpack cannot hold a payload.
    """
    operation = table.named(name)
    _require_count(operation, len(payloads))
    pairs = zip(operation.payloads, payloads, strict=True)
    return [pack(operation.number), *(encode_value(table.release, type_, value) for type_, value in pairs)]


def decode_request(table: OperationTable, frames: Sequence[bytes]) -> Request:
    """Read the frames behind the uid as a server does.

    Raises:
        UnknownOperationError: the release does not have the operation.
        FrameRefused: a frame is missing, or there are more or fewer payloads than the operation takes.
        ValueRefused: a payload is not what the operation takes.
    """
    if not frames:
        raise FrameRefused("a request has no frame behind its uid, and the operation must stand there")
    operation = table.numbered(unpack(frames[0]))
    _require_count(operation, len(frames) - 1)
    pairs = enumerate(zip(operation.payloads, frames[1:], strict=True))
    places = [f"payload {index} of {operation.name}" for index in range(len(frames))]
    return Request(operation, [decode_value(table.release, type_, data, places[index]) for index, (type_, data) in pairs])


def encode_reply(table: OperationTable, name: str, result: Value) -> list[bytes]:
    """The frames behind the uid of a reply; one frame only where the result is nil.

    Raises:
        UnknownOperationError: the release does not have the operation.
        ValueRefused: msgpack cannot hold the result.
    """
    operation = table.named(name)
    if operation.result is None or result is None:
        return [pack(operation.number)]
    return [pack(operation.number), encode_value(table.release, operation.result, result)]


def decode_reply(table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
    """The result in the frames behind the uid of a reply to an operation; frames behind the result are ignored.

    Raises:
        UnknownOperationError: the release does not have the operation.
        FrameRefused: the reply belongs to another operation, has no frame, or a result where there is none.
        ValueRefused: the result is not what the operation gives.
    """
    operation = table.named(name)
    if not frames:
        raise FrameRefused(f"a reply to {name} has no frame behind its uid, and the operation must stand there")
    echoed = unpack(frames[0])
    if echoed != operation.number and not (table.accepts_names and echoed == name.lower()):
        raise FrameRefused(f"a reply to {name} names operation {shown(echoed)}, sent was {operation.number!r}")
    if len(frames) == 1:
        return None
    if operation.result is None:
        if unpack(frames[1]) is not None:
            raise FrameRefused(f"a reply to {name} has a result, and {name} gives none")
        return None
    return decode_value(table.release, operation.result, frames[1], f"result of {name}")


def encode_value(release: Release, type_: Type, value: Value) -> bytes:
    """One payload or result.

    Raises:
        ValueRefused: msgpack cannot hold it, or lmcache's own record refuses it.
    """
    found = complete(release, type_, value)
    check_salts(found)
    return pack(_coerced(type_, found, "the value") if COERCED[release] else found)


def decode_value(release: Release, type_: Type, data: bytes, place: str) -> Value:
    """One payload or result, as lmcache of this release reads it.

    Raises:
        ValueRefused: it is not of the type.
    """
    value = unpack(data)
    return typed(release, type_, _coerced(type_, value, place) if COERCED[release] else value, place)


def _coerced(type_: Type, value: Value, place: str) -> Value:
    """A value that is an integer or a boolean as a whole, converted by Python's rules."""
    if type_ not in (Scalar("int"), Scalar("bool")):
        return value
    try:
        return bool(value) if type_ == Scalar("bool") else int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueRefused(f"{place} cannot be converted to {type_}") from None


def _require_count(operation: Operation, count: int) -> None:
    if count != len(operation.payloads):
        wanted = ", ".join(map(str, operation.payloads)) or "none"
        raise FrameRefused(f"{operation.name} takes {len(operation.payloads)} payloads ({wanted}), there are {count}")
