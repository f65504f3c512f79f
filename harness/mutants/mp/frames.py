"""Defects in how requests of the multiprocess server are written, and replies read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.mutants.mutant import mp_mutant
from harness.reference.mp.client import ReferenceMpClient
from harness.reference.mp.codec import MpCodec
from harness.reference.mp.connection import MpConnection
from wire.errors import WireError
from wire.mp.frames import FrameRefused, Request
from wire.mp.operations import Operation, OperationTable, operation_table
from wire.mp.records import RECORDS
from wire.mp.types import Array, Named, Optional, Type
from wire.mp.values import Value, ValueRefused, pack, unpack
from wire.release import KNOWN_RELEASES, Release


def table_before(table: OperationTable) -> OperationTable:
    """The operations of the last release whose numbers were others."""
    older = [release for release in map(Release.parse, KNOWN_RELEASES) if FIRST <= release < table.release]
    own = {operation.name: operation.number for operation in table.operations}
    for release in reversed(older):
        found = operation_table(release)
        if any(own.get(operation.name, operation.number) != operation.number for operation in found.operations):
            return found
    return table


FIRST = Release.parse("0.3.9.post1")


class _OlderNumbers(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        before, frames = table_before(table), super().encode_request(table, name, payloads)
        return [pack(before.named(name).number), *frames[1:]] if name in before else frames

    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        before = table_before(table)
        sent = before.named(name).number if name in before else table.named(name).number
        echoed = [pack(table.named(name).number)] if frames and unpack(frames[0]) == sent else list(frames[:1])
        return super().decode_reply(table, name, [*echoed, *frames[1:]])


@mp_mutant(
    "mp-numbers-of-an-older-release",
    stands_for="A client that was built against the release before: the GET_CHUNK_SIZE of 0.4.7 is the CLEAR of 0.5.1.",
    releases="0.3.10 and later",
    found_by=("mp.requests.encode", "mp.flow.control*"),
)
class OlderNumbers(ReferenceMpClient):
    """Sends the numbers that operations had before they were last renumbered."""

    codec = _OlderNumbers()


class _TextOperations(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        frames = super().encode_request(table, name, payloads)
        return [pack(name.lower()), *frames[1:]]


@mp_mutant(
    "mp-operations-as-text",
    stands_for="A client of 0.5.6, which takes both, that speaks to an older server: there a text ends the message thread.",
    releases="0.3.9.post1 to 0.5.5",
    found_by=("mp.requests.encode",),
)
class TextOperations(ReferenceMpClient):
    """Sends the names of operations where releases before 0.5.6 know only numbers."""

    codec = _TextOperations()


class _Arrays(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        frames = super().encode_request(table, name, payloads)
        return [frames[0], *(pack(_as_array(unpack(frame))) for frame in frames[1:])]


def _as_array(value: Value) -> Value:
    if isinstance(value, dict):
        return [_as_array(member) for member in value.values()]
    if isinstance(value, list) and all(isinstance(member, dict) for member in value):
        return [_as_array(member) for member in value]
    return value


@mp_mutant(
    "mp-records-as-arrays",
    stands_for="A msgpack library that writes structures as arrays unless it is told otherwise, as many do.",
    found_by=("mp.requests.encode", "mp.flow.lookup"),
)
class Arrays(ReferenceMpClient):
    """Writes records as arrays of their members."""

    codec = _Arrays()


class _Wide(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        return [_widened(frame) for frame in super().encode_request(table, name, payloads)]

    def encode_reply(self, table: OperationTable, name: str, result: Value) -> list[bytes]:
        return [_widened(frame) for frame in super().encode_reply(table, name, result)]


def _widened(frame: bytes) -> bytes:
    """The same number in nine bytes, the same text with a length of four."""
    value = unpack(frame)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return b"\xcf" + value.to_bytes(8, "big")
    if isinstance(value, str):
        return b"\xdb" + len(value.encode()).to_bytes(4, "big") + value.encode()
    if isinstance(value, dict):
        return b"\xdf" + len(value).to_bytes(4, "big") + b"".join(_widened(pack(part)) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return b"\xdd" + len(value).to_bytes(4, "big") + b"".join(_widened(pack(part)) for part in value)
    return frame


@mp_mutant(
    "mp-long-forms",
    stands_for="A small encoder of one's own that knows one form of each type; every server reads it.",
    found_by=("mp.frames.*",),
)
class LongForms(ReferenceMpClient):
    """Writes every number, text, array and map in its longest form."""

    codec = _Wide()


class _AnyOperation(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        try:
            return super().encode_request(table, name, payloads)
        except WireError:
            newest = operation_table(Release.parse(KNOWN_RELEASES[-1]))
            known = name in table
            number = table.named(name).number if known else newest.named(name).number if name in newest else 0
            return [pack(number), *(_packed(payload) for payload in payloads)]


def _packed(value: Value) -> bytes:
    try:
        return pack(value)
    except ValueRefused:
        return pack(0)


@mp_mutant(
    "mp-writes-anything",
    stands_for="An encoder that trusts its callers, and takes the newest numbers for those that the release lacks.",
    found_by=("mp.requests.encode-refused", "mp.requests.operations-of-other-releases"),
)
class WritesAnything(ReferenceMpClient):
    """Writes operations that the release does not have, and payloads that it does not take."""

    codec = _AnyOperation()


class _ReadsAnything(MpCodec):
    def decode_request(self, table: OperationTable, frames: Sequence[bytes]) -> Request:
        try:
            return super().decode_request(table, frames)
        except WireError:
            return Request(_guessed(table, frames), [_unpacked(frame) for frame in frames[1:]])

    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        try:
            return super().decode_reply(table, name, frames)
        except WireError:
            return _unpacked(frames[1]) if len(frames) > 1 else None


def _guessed(table: OperationTable, frames: Sequence[bytes]) -> Operation:
    number = _unpacked(frames[0]) if frames else None
    return next((operation for operation in table.operations if operation.number == number), table.operations[-1])


def _unpacked(frame: bytes) -> Value:
    try:
        return unpack(frame)
    except WireError:
        return None


@mp_mutant(
    "mp-reads-anything",
    stands_for="A decoder that unpacks and hands on, as dynamic languages invite to.",
    found_by=("mp.requests.decode-refused", "mp.replies.decode-refused"),
)
class ReadsAnything(ReferenceMpClient):
    """Reads messages without looking at operation, number of frames and types."""

    codec = _ReadsAnything()


class _Strict(MpCodec):
    def decode_request(self, table: OperationTable, frames: Sequence[bytes]) -> Request:
        found = super().decode_request(table, frames)
        for type_, frame in zip(found.operation.payloads, frames[1:], strict=False):
            _require_known(table.release, type_, unpack(frame))
        return found

    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        found, result = super().decode_reply(table, name, frames), table.named(name).result
        if result is not None and len(frames) > 1:
            _require_known(table.release, result, unpack(frames[1]))
        return found


def _require_known(release: Release, type_: Type, value: Value) -> None:
    match type_:
        case Optional(inner) if value is not None:
            _require_known(release, inner, value)
        case Array(inner):
            for member in value:
                _require_known(release, inner, member)
        case Named(name) if name in RECORDS:
            unknown = set(value) - {field.name for field in RECORDS[name][release]}
            if unknown:
                raise FrameRefused(f"{name} has no {', '.join(map(str, unknown))}")


@mp_mutant(
    "mp-unknown-members-refused",
    stands_for="Strict decoding, as serde's deny_unknown_fields, against a server that is one release newer.",
    found_by=("mp.requests.decode", "mp.misbehaviour.newer-server"),
)
class UnknownMembersRefused(ReferenceMpClient):
    """Refuses a message whose records have members that it does not know."""

    codec = _Strict()


class _NoDefaults(MpCodec):
    def decode_request(self, table: OperationTable, frames: Sequence[bytes]) -> Request:
        found = super().decode_request(table, frames)
        for type_, frame in zip(found.operation.payloads, frames[1:], strict=False):
            _require_whole(table.release, type_, unpack(frame))
        return found

    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        found, result = super().decode_reply(table, name, frames), table.named(name).result
        if result is not None and len(frames) > 1:
            _require_whole(table.release, result, unpack(frames[1]))
        return found


def _require_whole(release: Release, type_: Type, value: Value) -> None:
    match type_:
        case Optional(inner) if value is not None:
            _require_whole(release, inner, value)
        case Array(inner):
            for member in value:
                _require_whole(release, inner, member)
        case Named(name) if name in RECORDS:
            missing = {field.name for field in RECORDS[name][release]} - set(value)
            if missing:
                raise FrameRefused(f"{name} lacks {', '.join(sorted(missing))}")


@mp_mutant(
    "mp-defaults-demanded",
    stands_for="A structure without defaults, made after what one release of the server happens to send.",
    releases="0.4.6 and later",
    found_by=("mp.replies.decode", "mp.misbehaviour.newer-server"),
)
class DefaultsDemanded(ReferenceMpClient):
    """Refuses a message whose records lack members that have a default."""

    codec = _NoDefaults()


class _CountsFromZero(MpCodec):
    def decode_request(self, table: OperationTable, frames: Sequence[bytes]) -> Request:
        found = super().decode_request(table, frames)
        return Request(table.operations[table.operations.index(found.operation) - 1], found.payloads)


@mp_mutant(
    "mp-numbers-counted-from-zero",
    stands_for="An enumeration of C or Rust in place of Python's, whose automatic numbers begin at 1.",
    found_by=("mp.requests.decode",),
)
class CountsFromZero(ReferenceMpClient):
    """Reads the number of every operation as that of the one before it."""

    codec = _CountsFromZero()


class _LosesPayloads(MpCodec):
    def decode_request(self, table: OperationTable, frames: Sequence[bytes]) -> Request:
        found = super().decode_request(table, frames)
        return Request(found.operation, [_without_defaults(value) for value in found.payloads[:-1]])


def _without_defaults(value: Value) -> Value:
    return {name: member for name, member in value.items() if member} if isinstance(value, dict) else value


@mp_mutant(
    "mp-last-payload-lost",
    stands_for="A loop over payloads that ends one too early.",
    found_by=("mp.requests.decode",),
)
class LosesPayloads(ReferenceMpClient):
    """Reads a request without its last payload."""

    codec = _LosesPayloads()


class _RepliesInThree(MpCodec):
    def encode_reply(self, table: OperationTable, name: str, result: Value) -> list[bytes]:
        frames = super().encode_reply(table, name, result)
        return frames if len(frames) > 1 else [*frames, pack(False)]  # what stands there is the point

    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        if len(frames) != 2:
            raise FrameRefused("a reply has three frames")
        return super().decode_reply(table, name, frames)


@mp_mutant(
    "mp-three-frames-demanded",
    stands_for="A client that indexes the third frame: it fails after every CLEAR and at every nil of a lookup.",
    found_by=("mp.replies.*", "mp.flow.control*"),
)
class ThreeFramesDemanded(ReferenceMpClient):
    """Takes a reply without result for a broken one, and writes none."""

    codec = _RepliesInThree()


class _RepliesOfOthers(MpCodec):
    def encode_reply(self, table: OperationTable, name: str, result: Value) -> list[bytes]:
        frames, before = super().encode_reply(table, name, result), table_before(table)
        number = before.named(name).number if name in before else 0
        return [pack(number if number != table.named(name).number else 0), *frames[1:]]

    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        result = super().decode_reply(table, name, frames)
        return _spoiled(result)


def _spoiled(value: Value) -> Value:
    match value:
        case None:
            return 0
        case dict():
            return {name: value[name] for name in list(value)[1:]}
        case list():
            return value[1:] if value else [0]
        case str() | bytes():
            return value[:-1] if value else None
        case bool():
            return not value
    return value + 1


@mp_mutant(
    "mp-results-misread",
    stands_for="Results that are taken one place further than they stand, and numbers written from a table that is not in step.",
    found_by=("mp.replies.encode", "mp.replies.decode"),
)
class ResultsMisread(ReferenceMpClient):
    """Reads every result for another one, and names another operation in replies."""

    codec = _RepliesOfOthers()


class _EchoUnchecked(MpCodec):
    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        return super().decode_reply(table, name, [pack(table.named(name).number), *frames[1:]])


@mp_mutant(
    "mp-echo-unchecked",
    stands_for="A client that trusts the uid alone, so that a server of another release answers it with something else's result.",
    found_by=("mp.misbehaviour.broken-reply[*wrong-operation*]",),
)
class EchoUnchecked(ReferenceMpClient):
    """Takes the result of a reply that names another operation."""

    codec = _EchoUnchecked()


class _NilIsZero(MpCodec):
    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        found = super().decode_reply(table, name, frames)
        return 0 if found is None and name == "GET_CHUNK_SIZE" else found


@mp_mutant(
    "mp-missing-result-is-zero",
    stands_for="A language whose missing numbers are 0.",
    releases="0.3.10 and later",
    found_by=("mp.misbehaviour.broken-reply[*missing-frames-keep-2]",),
)
class MissingResultIsZero(ReferenceMpClient):
    """Takes a reply without result for the number 0."""

    codec = _NilIsZero()


class _FrontDelimiter(MpConnection):
    def message(self, uid: bytes, frames: Sequence[bytes]) -> list[bytes]:
        return [b"", *super().message(uid, frames)]


@mp_mutant(
    "mp-delimiter-sent",
    stands_for="A REQ socket, or a DEALER that imitates one, as most examples of ZeroMQ do.",
    found_by=("mp.flow.noop",),
)
class DelimiterSent(ReferenceMpClient):
    """Puts an empty frame before the uid."""

    connection_class = _FrontDelimiter


class _UnknownNames(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        frames = super().encode_request(table, name, payloads)
        return [frames[0], *(pack(_camel(unpack(frame))) for frame in frames[1:])]


def _camel(value: Value) -> Value:
    if isinstance(value, dict):
        return {
            "".join(part.title() if index else part for index, part in enumerate(str(name).split("_"))): _camel(member)
            for name, member in value.items()
        }
    return [_camel(member) for member in value] if isinstance(value, list) else value


@mp_mutant(
    "mp-member-names-in-camel-case",
    stands_for="A serializer of Java or Go that writes names as its own language spells them.",
    found_by=("mp.requests.encode", "mp.flow.register"),
)
class CamelCase(ReferenceMpClient):
    """Writes the members of records as workerId instead of worker_id."""

    codec = _UnknownNames()


class _OneFrame(MpCodec):
    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        frames = super().encode_request(table, name, payloads)
        return [frames[0], msgspec.msgpack.encode([unpack(frame) for frame in frames[1:]])]


@mp_mutant(
    "mp-payloads-in-one-frame",
    stands_for="Arguments of a call as one array, as most RPC over msgpack has them.",
    found_by=("mp.requests.encode", "mp.flow.control*"),
)
class PayloadsInOneFrame(ReferenceMpClient):
    """Writes all payloads into one frame, as an array."""

    codec = _OneFrame()


class _LastFrame(MpCodec):
    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        return super().decode_reply(table, name, [*frames[:1], *frames[1:][-1:]])


@mp_mutant(
    "mp-last-frame-is-the-result",
    stands_for="A reply taken from its end: right as long as nothing stands behind the result.",
    releases="0.3.10 and later",
    found_by=("mp.replies.decode-more-frames",),
)
class LastFrame(ReferenceMpClient):
    """Reads the last frame of a reply as its result."""

    codec = _LastFrame()
