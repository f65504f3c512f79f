"""What the frames of a message mean: the value that a server of the release reads in each of them, whatever their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.captures import Vector
from harness.judge import Judge
from wire.mp.operations import Operation, OperationTable, UnknownOperationError
from wire.mp.types import Type
from wire.mp.values import Value, ValueRefused, shown, to_json, typed, unpack
from wire.release import Release

FROM_THE_FIRST: Final = "0.3.9.post1 and later"
"""The releases that have the protocol."""


def raw_frames(frames: Sequence[Mapping[str, str]]) -> list[bytes]:
    """The frames behind ``{"hex": ...}``."""
    return [bytes.fromhex(frame["hex"]) for frame in frames]


def meant_as_written(vector: Vector) -> bool:
    """Vectors of a request whose numbers and booleans are of the type that the operation takes.

    Python converts others, such as true for 1; a client may do so or refuse them.
    """
    frames = raw_frames(vector.answer["frames"])[1:]
    pairs = zip(vector.args["payloads"], frames, strict=False)
    return all(isinstance(unpack(frame), bool) == isinstance(payload, bool) for payload, frame in pairs)


def request_in_words(judge: Judge, table: OperationTable, operation: Operation, frames: Sequence[bytes]) -> dict[str, Any]:
    """The operation that a server executes and the payloads of a request, defaults filled in; all of it must be readable."""
    judge.holds(frames, "the request has no frame for the operation", cite="MP-FRAME-001")
    payloads = {
        f"payload {index}": _read(judge, table.release, type_, frame, f"payload {index} of {operation.name}")
        for index, (type_, frame) in enumerate(zip(operation.payloads, frames[1:], strict=False))
    }
    return {"operation": _executed(judge, table, frames[0], operation), "payloads": len(frames) - 1, **payloads}


def result_in_words(judge: Judge, table: OperationTable, operation: Operation, frames: Sequence[bytes]) -> dict[str, Any]:
    """The operation and the result of a reply, likewise."""
    judge.holds(frames, "the reply has no frame for the operation", cite="MP-REPLY-006")
    number = _executed(judge, table, frames[0], operation)
    if operation.result is None or len(frames) == 1:
        return {"operation": number, "frames": len(frames)}
    result = _read(judge, table.release, operation.result, frames[1], f"the result of {operation.name}")
    return {"operation": number, "frames": len(frames), "result": result}


def _executed(judge: Judge, table: OperationTable, frame: bytes, operation: Operation) -> str:
    """The operation that a server executes for a frame."""
    number = _unpacked(judge, frame, f"the operation's frame of {operation.name}")
    try:
        return table.numbered(number).name
    except UnknownOperationError:
        return f"{shown(number)}, which is no operation of lmcache {table.release}"


def _read(judge: Judge, release: Release, type_: Type, frame: bytes, place: str) -> Any:
    value = _unpacked(judge, frame, place)
    try:
        return to_json(typed(release, type_, value, place))
    except ValueRefused:
        return {"of another type": to_json(value)}


def _unpacked(judge: Judge, frame: bytes, place: str) -> Value:
    try:
        return unpack(frame)
    except ValueRefused as refusal:
        judge.fail(f"{place} is {refusal}", cite="MP-FRAME-001")
