"""Captured conversations, held with a server under test, which has to answer what the real one answered, by meaning.

Uid and operation come back byte for byte. A result is compared as its type: members that the type does not have may be there,
their order and the width of numbers are the server's choice, and so are the places in its memory, the memory's name and its
size. Replies may come in any order. A whole request that the real server left without an answer may be answered or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from fixturegen.mp import memory
from fixturegen.mp.transcript import Bound, MpStep, MpTranscript, bind, frame_bytes
from fixturegen.vector import Json, patterned, raw
from harness.mp.exchanges import ANSWERS, ECHO, RESULTS, MpPeerFailed, Place
from harness.mp.manners import COMMON, Sent, needs_chunks, sent_in
from harness.mp.peer import SLOTS, MpPeer
from wire.errors import WireError
from wire.mp.operations import Operation
from wire.mp.types import Optional
from wire.mp.values import from_json, to_json, typed, unpack
from wire.release import Release

DROPPED: Final = "SRV-MP-020"
BYTES: Final = "SRV-MP-008"
CHUNK: Final = 16
"""Tokens of a chunk in every conversation."""
QUIET: Final = 0.05
"""Seconds behind the answer to a NOOP on the same connection, after which what has not come will not come."""
POLLS: Final = 400
POLL_PAUSE: Final = 0.02
COPIED: Final = 0.3
"""Seconds in which a server that was told to copy from an engine's tensors, and has answered, is done; it tells nobody when."""
OFFER_PATIENCE: Final = 2.0
"""Seconds to wait for an operation that a server may lack."""
_NOTHING: Final = b""


class LeftOut(Exception):  # what was found out, no error
    """The conversation cannot be held with this server; the message says why."""


@dataclass
class _Play:
    """One conversation while it is held."""

    release: Release
    place: Place
    transcript: MpTranscript
    stack: ExitStack
    restart: Callable[[], None] | None
    sent: Mapping[int, Sent]
    peers: dict[str, MpPeer] = field(default_factory=dict)
    bound: Bound = field(default_factory=dict)
    written: list[dict[str, int]] = field(default_factory=list)
    due: list[tuple[str, bytes, bytes, Sent]] = field(default_factory=list)
    """Messages without an answer yet: connection, uid, frame of the operation, and what they are."""

    def act(self, index: int, step: MpStep) -> None:
        match step.do:
            case "connect":
                identity = step.values.get("routing_id")
                self.peers[_name(step)] = self.stack.enter_context(
                    MpPeer(self.release, self.place, routing_id=None if identity is None else bytes.fromhex(identity))
                )
            case "close":
                self.peers.pop(_name(step)).close()
            case "send":
                self._send(index, step)
            case "poll":
                self._poll(index, step)
            case "receive":
                self._receive(step)
            case "segment":
                segment = memory.Segment(step.values["size"])
                self.stack.callback(segment.remove)
                self.bound[step.values["name"]] = segment.name
            case "shm-write":
                self.written.append(step.values["pattern"])
                memory.write(self._segment(step), self._at(step), _pattern(step.values["pattern"]))
            case "shm-read":
                self._read(step)
            case "contains":
                self._contains(step)
            case "status" if self.transcript.setting == "cpu-tensors":
                time.sleep(COPIED)
            case "restart":
                if self.restart is None:
                    raise LeftOut("it restarts the server, which was started by somebody else")
                self.restart()

    def settle(self) -> None:
        """Nothing comes behind the last reply, of what was answered or must not be."""
        for name, peer in self.peers.items():
            peer.noop()
            free = {uid for connection, uid, _, sent in self.due if connection == name and sent.operation is not None}
            while (reply := peer.next_reply(QUIET)) is not None:
                if reply.uid not in free:
                    raise MpPeerFailed(ANSWERS, f"another message came behind the last reply: {_hex([reply.uid, *reply.frames])}")

    def _send(self, index: int, step: MpStep) -> None:
        frames = self._frames(step)
        self.peers[_name(step)].raw(*frames)
        if len(frames) > 1:
            self.due.append((_name(step), frames[0], frames[1], self.sent[index]))

    def _receive(self, step: MpStep) -> None:
        expected = step.values["got"]
        if "silence" in expected:
            self._silence(_name(step))
            return
        uid, number = (frame_bytes(frame, self.bound) for frame in expected["frames"][:2])
        place = next((place for place, one in enumerate(self.due) if one[:3] == (_name(step), uid, number)), None)
        sent = self.due.pop(place)[3] if place is not None else None  # a stream answers more than once
        optional = sent is not None and sent.operation is not None and sent.operation.name not in COMMON
        peer = self.peers[_name(step)]
        found = peer.reply(uid, number, patience=OFFER_PATIENCE if optional else None)
        name = sent.operation.name if sent is not None and sent.operation is not None else "a message"
        if found is None and optional:
            raise LeftOut(f"the server does not answer {name}, which not every server has")
        if found is None:
            other = peer.surplus(0.0)
            if other is not None:
                raise MpPeerFailed(ECHO, f"the reply to {name} is {_hex(other)}; it begins with {_hex([uid, number])}")
            raise MpPeerFailed(ANSWERS, f"{name} was not answered within {peer.patience:g} s")
        self._compare(sent.operation if sent is not None else None, expected["frames"][1:], found)

    def _poll(self, index: int, step: MpStep) -> None:
        operation, peer = self.sent[index].operation, self.peers[_name(step)]
        frames, found = self._frames(step), []
        for _ in range(POLLS):
            peer.raw(*frames)
            came = peer.reply(frames[0], frames[1])
            if came is None:
                raise MpPeerFailed(
                    ANSWERS, f"{operation.name if operation else 'a poll'} was not answered within {peer.patience:g} s"
                )
            found = came
            if len(found) > 1:
                break
            time.sleep(POLL_PAUSE)
        self._compare(operation, step.values["got"]["frames"][1:], found)

    def _silence(self, name: str) -> None:
        """What is no whole request is not answered; a whole request may be."""
        malformed = [one for one in self.due if one[0] == name and one[3].operation is None]
        if not malformed:
            return
        peer = self.peers[name]
        peer.noop()
        for one in malformed:
            found = peer.reply(one[1], patience=QUIET)
            if found is not None:
                raise MpPeerFailed(
                    DROPPED, f"a message that is no request of lmcache {self.release} was answered {_hex([one[1], *found])}"
                )
            self.due.remove(one)

    def _compare(self, operation: Operation | None, expected: Sequence[Json], found: Sequence[bytes]) -> None:
        """The frames behind the uid; the first is the operation, which was looked at already."""
        name = operation.name if operation is not None else "a message"
        if len(found) != len(expected):
            raise MpPeerFailed(
                RESULTS,
                f"the reply to {name} has {len(found) - 1} frames behind the operation, the real one has {len(expected) - 1}",
            )
        if len(expected) == 1:
            return
        try:
            value = unpack(found[1])
            if operation is not None and operation.result is not None:
                value = typed(self.release, operation.result, value, f"the result of {name}")
            told = to_json(value)
        except WireError as refusal:
            raise MpPeerFailed(RESULTS, f"the reply to {name} cannot be read: {refusal}") from None
        self._same(operation, expected[1], value, told)

    def _same(self, operation: Operation | None, recorded: Json, value: Any, told: Json) -> None:
        name = operation.name if operation is not None else "a message"
        wanted = (
            recorded["msgpack"]
            if isinstance(recorded, Mapping) and "msgpack" in recorded
            else to_json(unpack(raw_frame(recorded)))
        )
        if operation is not None and operation.result is not None and not isinstance(recorded, Mapping):
            kind = operation.result.inner if isinstance(operation.result, Optional) else operation.result
            wanted = to_json(typed(self.release, kind, from_json(wanted)))
        self._fits(wanted, value)
        bind(wanted, value, self.bound)
        difference = _difference(wanted, told, self.bound, "")
        if difference is not None:
            raise MpPeerFailed(_requirement(operation, difference), f"the result of {name} {difference}")

    def _fits(self, wanted: Json, value: Any) -> None:
        """Whether the server's memory is of the kind that the conversation was captured with."""
        if not isinstance(wanted, Mapping) or "shm_name" not in wanted or not isinstance(value, Mapping):
            return
        if bool(wanted["shm_name"]) is not bool(value.get("shm_name")):
            offers = "names its shared memory" if value.get("shm_name") else "has no shared memory"
            raise LeftOut(f"the server {offers}, and the conversation is of one that does not")

    def _read(self, step: MpStep) -> None:
        data = memory.read(self._segment(step), self._at(step), step.values["length"])
        wanted = step.values["got"]
        expected = _pattern(wanted["pattern"]) if "pattern" in wanted else bytes.fromhex(wanted["hex"])
        if data != expected:
            first = next((at for at, (one, other) in enumerate(zip(expected, data, strict=False)) if one != other), len(data))
            raise MpPeerFailed(BYTES, f"what was stored is not there any more: byte {first} of {len(expected)} is another")

    def _contains(self, step: MpStep) -> None:
        data = raw(self.bound[step.values["of"]])
        found = [_pattern(pattern) in data for pattern in step.values["patterns"]]
        if found != step.values["got"]:
            raise MpPeerFailed(BYTES, "the data of a retrieve does not hold what was stored")

    def _frames(self, step: MpStep) -> list[bytes]:
        return [frame_bytes(frame, self.bound) for frame in step.values["frames"]]

    def _segment(self, step: MpStep) -> str:
        return str(self.bound[step.values["segment"]])

    def _at(self, step: MpStep) -> int:
        at = step.values["at"]
        return int(at if isinstance(at, int) else self.bound[at["bound"]])


def hold(
    release: Release,
    place: Place,
    transcript: MpTranscript,
    restart: Callable[[], None] | None,
    *,
    clear: bool = True,
    chunk: int | None = CHUNK,
) -> None:
    """Hold a conversation; with ``clear`` the store is emptied before. ``chunk``: tokens of its chunks, None where nobody knows.

    Raises:
        MpPeerFailed: the server went another way than the real one, in something that is demanded.
        LeftOut: it cannot be held with this server.
    """
    with ExitStack() as stack:
        play = _Play(release, place, transcript, stack, restart, sent_in(release, transcript))
        with MpPeer(release, place) as first:
            known = chunk is not None and "GET_CHUNK_SIZE" in first.table and needs_chunks(transcript)
            if known and first.chunk_size() != chunk:
                raise LeftOut(f"chunks of the server have {first.chunk_size()} tokens, and those of the conversation {chunk}")
            if clear and "CLEAR" in first.table:
                first.clear()
        for index, step in enumerate(transcript.steps):
            try:
                play.act(index, step)
            except (KeyError, TypeError, ValueError, OSError) as error:  # what a reply said leads to no memory, or to no number
                raise MpPeerFailed(SLOTS, f"step {index}, {step.do}, is impossible: {type(error).__name__}: {error}") from None
        play.settle()


def raw_frame(recorded: Json) -> bytes:
    """The bytes of a recorded frame that is literal."""
    return frame_bytes(recorded, {})


def _requirement(operation: Operation | None, difference: str) -> str:
    """The requirement that speaks of an operation's result."""
    del difference
    return _ABOUT.get(operation.name if operation is not None else "", RESULTS)


_ABOUT: Final = {
    "NOOP": "SRV-MP-005",
    "GET_CHUNK_SIZE": "SRV-MP-005",
    "PING": "SRV-MP-005",
    "LOOKUP": "SRV-MP-007",
    "QUERY_PREFETCH_STATUS": "SRV-MP-007",
    "WAIT_PREFETCH_STATUS": "SRV-MP-007",
    "QUERY_PREFETCH_LOOKUP_HITS": "SRV-MP-007",
    "PREPARE_STORE": "SRV-MP-009",
    "COMMIT_STORE": "SRV-MP-006",
    "PREPARE_RETRIEVE": "SRV-MP-010",
    "COMMIT_RETRIEVE": "SRV-MP-010",
    "REGISTER_KV_CACHE_NON_GPU_CONTEXT": "SRV-MP-015",
    "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": "SRV-MP-015",
}


def _difference(wanted: Json, got: Json, bound: Bound, path: str) -> str | None:
    """Where a result is another than the recorded one, in words; members that were not recorded are free."""
    place = path or "as a whole"
    if isinstance(wanted, Mapping) and sorted(wanted) == ["bound"]:
        return None if bound.get(wanted["bound"], _NOTHING) == got else f"has another value at {place} than before"
    if isinstance(wanted, Mapping) and sorted(wanted) != ["hex"]:
        if not isinstance(got, Mapping):
            return f"is no map at {place}"
        for name, member in wanted.items():
            if name == "pool_size" and member:
                continue
            if name not in got:
                return f"has no {name} at {place}"
            found = _difference(member, got[name], bound, f"{path}.{name}".lstrip("."))
            if found is not None:
                return found
        return None
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return f"has {len(got) if isinstance(got, list) else 'no'} elements at {place}, and {len(wanted)} are due"
        pairs = enumerate(zip(wanted, got, strict=True))
        return next(
            (found for index, (one, other) in pairs if (found := _difference(one, other, bound, f"{path}[{index}]"))), None
        )
    if wanted == got and isinstance(wanted, bool) is isinstance(got, bool):
        return None
    return f"is {got!r:.60} at {place}, and the real server's is {wanted!r:.60}"


def _pattern(recipe: Mapping[str, int]) -> bytes:
    return patterned(recipe["seed"], recipe["length"])


def _name(step: MpStep) -> str:
    return step.connection or ""


def _hex(frames: Sequence[bytes]) -> str:
    return " ".join(frame[:24].hex() or "(empty)" for frame in frames[:5])
