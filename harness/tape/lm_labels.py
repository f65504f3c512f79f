"""Names the segments of an ``lm://`` conversation: which header, which part of which payload, and what the header says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mockserver.tape import Moment
from wire.lm.frames import Field, describe_reply, describe_request
from wire.lm.profile import LmProfile

_UNANSWERED: Final = frozenset({"PUT", "LIST"})
_OUTSIDE: Final = "outside the table"


@dataclass
class _Stream:
    """One direction of a connection, as far as it can be followed."""

    partial: bytes = b""
    """What came of a header that is not whole yet."""
    payload: int = 0
    """Bytes of the payload that is under way."""
    left: int = 0
    """Those of them that are still to come."""
    of: str = ""
    lost: bool = False
    """Where in a frame it stands is not known: not every byte of the headers before was kept."""


@dataclass
class _Connection:
    asked: _Stream = field(default_factory=_Stream)
    answered: _Stream = field(default_factory=_Stream)
    due: deque[str] = field(default_factory=deque)
    """Commands whose replies have not begun."""


class LmLabels:
    """Names segments in their order."""

    def __init__(self, profile: LmProfile) -> None:
        self._profile = profile
        self._connections: dict[int, _Connection] = {}

    def lose(self) -> None:
        """Segments are missing here: what comes is named again from the next header on that can be recognized."""
        for connection in self._connections.values():
            for stream in (connection.asked, connection.answered):
                stream.partial, stream.left, stream.lost = b"", 0, True
            connection.due.clear()

    def label(self, moment: Moment) -> str:
        """What the bytes of a segment are."""
        connection = self._connections.setdefault(moment.connection, _Connection())
        if moment.sender == "client":
            return self._segment(
                moment, connection.asked, self._profile.header.request_size, lambda head: self._asked(connection, head)
            )
        return self._segment(
            moment, connection.answered, self._profile.header.reply_size, lambda head: self._answered(connection, head)
        )

    def _segment(self, moment: Moment, stream: _Stream, size: int, read: Callable[[bytes], str]) -> str:
        if stream.lost and not self._found_again(moment, stream, size):
            return ""
        parts: list[str] = []
        place = 0
        while place < moment.length and not stream.lost:
            if stream.left:
                took = min(stream.left, moment.length - place)
                begin = stream.payload - stream.left
                stream.left -= took
                parts.append(_part(stream.of, begin, took, stream.payload))
            else:
                began = len(stream.partial)
                took = min(size - began, moment.length - place)
                piece = moment.head[place : place + took]
                if len(piece) < took:
                    stream.lost, stream.partial = True, b""
                    parts.append("and more behind it")
                    break
                stream.partial += piece
                what = "header" if began or took < size else ""
                parts.append(_part(what, began, took, size) if what else "")
                if len(stream.partial) == size:
                    whole, stream.partial = stream.partial, b""
                    said = read(whole)
                    parts[-1] = f"{parts[-1]}: {said}" if parts[-1] else said
            place += took
        return "; ".join(parts)

    def _found_again(self, moment: Moment, stream: _Stream, size: int) -> bool:
        """Whether a segment begins with a header that makes sense."""
        head = moment.head[:size]
        if len(head) < size:
            return False
        fields = describe_request(self._profile, head) if moment.sender == "client" else describe_reply(self._profile, head)
        stream.lost = fields[0].meaning == _OUTSIDE
        return not stream.lost

    def _asked(self, connection: _Connection, head: bytes) -> str:
        fields = {one.name: one for one in describe_request(self._profile, head)}
        command = _name(fields["command"]).upper()
        length = int(fields["length"].value)
        if command == "PUT" and length > 0:
            connection.asked.payload = connection.asked.left = length
            connection.asked.of = "payload"
        if command not in _UNANSWERED:
            connection.due.append(command)
        follow = f", {length} bytes follow" if command == "PUT" else ""
        return f"{command} {fields['key'].value}{follow}"

    def _answered(self, connection: _Connection, head: bytes) -> str:
        fields = {one.name: one for one in describe_reply(self._profile, head)}
        code, length = fields["code"], int(fields["length"].value)
        command = connection.due.popleft() if connection.due else ""
        hit = code.meaning == "success" and length > 0 and command in {"GET", ""}
        if hit:
            connection.answered.payload = connection.answered.left = length
            connection.answered.of = "value"
        of = f"reply to {command}" if command else "a reply"
        return f"{of}: {_name(code)}{f', {length} bytes follow' if hit else ''}"


def _part(what: str, begin: int, count: int, whole: int) -> str:
    """Which bytes of something a segment brought."""
    if begin == 0 and count == whole:
        return f"{what}, {whole} bytes"
    which = f"byte {begin}" if count == 1 else f"bytes {begin} to {begin + count - 1}"
    return f"{what}, {which} of {whole}"


def _name(one: Field) -> str:
    return f"{one.value} ({one.meaning})" if one.meaning == _OUTSIDE or one.name == "code" else str(one.meaning or one.value)
