"""What a captured conversation asks of a server, told from the conversation itself.

A message that is a whole request of the release and was answered must be answered by every server of that release. One that is
none and was dropped must be dropped by every server, and harm nobody else. What ended the message thread of the real server is
demanded of nobody: a server that survives it does better. A whole request that the real server did not answer, because its
handler failed or it lacks the operation, is left to the server.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fixturegen.mp.memory import SEGMENT_NAME_LENGTH
from fixturegen.mp.transcript import MpStep, MpTranscript, frame_bytes
from fixturegen.vector import Json
from wire.errors import WireError
from wire.mp.operations import STREAMING, Operation, operation_table
from wire.mp.values import typed, unpack
from wire.release import Release

Kind = Literal["answered", "dropped", "deadly"]

COMMON: Final = frozenset(
    {
        *("NOOP", "GET_CHUNK_SIZE", "PING", "CLEAR", "LOOKUP", "QUERY_PREFETCH_STATUS", "FREE_LOOKUP_LOCKS", "END_SESSION"),
        *("REGISTER_KV_CACHE_NON_GPU_CONTEXT", "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT"),
        *("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"),
        *("PREPARE_STORE", "COMMIT_STORE", "PREPARE_RETRIEVE", "COMMIT_RETRIEVE"),
        *("WAIT_PREFETCH_STATUS", "QUERY_PREFETCH_LOOKUP_HITS", "REPORT_BLOCK_ALLOCATION"),
    }
)
"""Operations that every server has, where its release has them: those of engines that copy their chunks themselves.

A server may lack the others: those of engines whose memory it reads, of queries, blending, peers, events and modules.
"""


@dataclass(frozen=True)
class Sent:
    """A message of a conversation."""

    operation: Operation | None
    """What it asks for; None where it is no whole request of the release."""
    answered: bool
    """Whether the real server answered it."""


_WHOLE: Final = 2
"""Frames that a request has at least."""
_LONG: Final = 80
"""Hexadecimal digits of a frame; longer ones are keys and layouts."""
_STREAM_WORDS: Final = ((b"ack",), (b"cancel",))
"""What may stand behind an empty operation, which speaks of a stream."""


@functools.lru_cache(maxsize=8192)
def _read(release: Release, frames: tuple[bytes, ...]) -> Operation | None:
    if len(frames) < _WHOLE:
        return None
    table = operation_table(release)
    try:
        if frames[1] == b"" and frames[2:] in _STREAM_WORDS:
            return table.named(STREAMING[0])
        operation = table.numbered(unpack(frames[1]))
        if len(operation.payloads) != len(frames) - 2:
            return None
        for type_, frame in zip(operation.payloads, frames[2:], strict=True):
            typed(release, type_, unpack(frame))
    except WireError:
        return None
    return operation


def request_in(release: Release, frames: Sequence[bytes]) -> Operation | None:
    """The operation that frames, uid included, ask for by the types of the release, without any conversion; None for none."""
    return _read(release, tuple(frames))


def sent_in(release: Release, transcript: MpTranscript) -> dict[int, Sent]:
    """The messages of a conversation by the index of their step."""
    found: dict[int, Sent] = {}
    waiting: dict[str, list[int]] = {}
    for index, step in enumerate(transcript.steps):
        if step.do in {"send", "poll"}:
            operation = request_in(release, _filled(step))
            found[index] = Sent(operation, answered=step.do == "poll" and "frames" in step.values["got"])
            if step.do == "send":
                waiting.setdefault(step.connection or "", []).append(index)
        if step.do == "receive" and "frames" in step.values["got"]:
            mine = waiting.get(step.connection or "", [])
            one = next((each for each in mine if _answers(transcript.steps[each], step)), None)
            if one is not None:
                mine.remove(one)
                found[one] = Sent(found[one].operation, answered=True)
    return found


def kind_of(release: Release, transcript: MpTranscript) -> Kind:
    """What a conversation is about."""
    if transcript.fatal:
        return "deadly"
    return "answered" if all(sent.operation is not None for sent in sent_in(release, transcript).values()) else "dropped"


def needs_chunks(transcript: MpTranscript) -> bool:
    """Whether a conversation has keys or layouts, which are made for servers whose chunks have 16 tokens."""
    frames = [frame for step in transcript.steps for frame in step.values.get("frames", ())]
    return any(not isinstance(frame, str) or len(frame) > _LONG for frame in frames)


def _filled(step: MpStep) -> list[bytes]:
    """The frames of a step; what is bound in a run is of no matter here, but that texts inside of bytes have their length."""
    texts, numbers = _Anything("x" * SEGMENT_NAME_LENGTH), _Anything(0)
    return [
        frame_bytes(frame, texts if isinstance(frame, dict) and "parts" in frame else numbers) for frame in step.values["frames"]
    ]


class _Anything(dict[str, Json]):
    """The same value for every name."""

    def __init__(self, value: Json) -> None:
        super().__init__()
        self._value = value

    def __missing__(self, name: str) -> Json:
        return self._value


def _answers(sent: MpStep, received: MpStep) -> bool:
    """Whether a reply has the uid and the operation of a message."""
    return list(received.values["got"]["frames"][:2]) == list(sent.values["frames"][:2])
