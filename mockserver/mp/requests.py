"""Reading a request as the message thread of a release does: what ends the thread, what is dropped, what is executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mockserver.mp import behaviour
from wire.errors import WireError
from wire.mp.frames import decode_value
from wire.mp.operations import Operation, OperationTable, UnknownOperationError


class MessageThreadDies(Exception):  # a deed, not an error of ours
    """The real message thread ends here; the socket stays open and nobody reads it any more."""


class Dropped(Exception):  # likewise
    """The real server writes a line into its log and goes on."""


@dataclass(frozen=True)
class StreamControl:
    """A message about a running stream: what to do with it."""

    words: tuple[bytes, ...]


@dataclass(frozen=True)
class Request:
    """A request that names an operation."""

    operation: Operation
    payloads: Sequence[bytes]


def read_operation(table: OperationTable, frames: Sequence[bytes]) -> Request | StreamControl:
    """The operation of a message, its payloads unread.

    Raises:
        MessageThreadDies: there is no operation, or one that ends the thread of this release.
        Dropped: there is one that is passed over.
    """
    if len(frames) < 2:
        raise MessageThreadDies(f"a message of {len(frames)} frame")
    release = table.release
    if behaviour.STREAM_CONTROL[release] and frames[1] == b"":
        return StreamControl(tuple(frames[2:4]))
    refused = MessageThreadDies if behaviour.UNKNOWN_OPERATION_KILLS[release] else Dropped
    try:
        number = msgspec.msgpack.decode(frames[1])
    except RecursionError:
        raise MessageThreadDies("an operation that is nested too deep") from None
    except (msgspec.DecodeError, ValueError):
        raise refused("an operation that is no msgpack value") from None
    if isinstance(number, bool) and behaviour.BOOLEAN_OPERATIONS[release]:
        number = int(number)
    try:
        return Request(table.numbered(number), frames[2:])
    except UnknownOperationError as error:
        raise refused(str(error)) from None


def read_payloads(table: OperationTable, operation: Operation, payloads: Sequence[bytes]) -> list[Any]:
    """The payloads of a request.

    Raises:
        Dropped: there are more or fewer, or one is not what the operation takes.
    """
    if len(payloads) != len(operation.payloads):
        raise Dropped(f"{operation.name} takes {len(operation.payloads)} payloads, there are {len(payloads)}")
    try:
        return [
            decode_value(table.release, type_, data, f"payload {index} of {operation.name}")
            for index, (type_, data) in enumerate(zip(operation.payloads, payloads, strict=True))
        ]
    except WireError as refusal:
        raise Dropped(str(refusal)) from None
