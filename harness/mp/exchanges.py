"""Requests and replies of one connection to a multiprocess server under test, or frames as they are.

It knows no reply beforehand and believes none: what a server says is read by the types of the release, and every wait ends.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Protocol, Self

import zmq

from harness.failure import PeerFailed
from harness.tape import TAPES
from wire.errors import WireError
from wire.mp.frames import encode_request
from wire.mp.operations import OperationTable, operation_table
from wire.mp.types import Optional
from wire.mp.values import Value, pack, typed, unpack
from wire.release import Release

PATIENCE: Final = 10.0
"""Seconds that a server has for a reply."""
HANDSHAKE: Final = 10.0
"""Seconds that it has for a connection; ZeroMQ takes a moment, and a busy machine longer."""
SETTLED: Final = 2.0
"""Seconds in which a server that lives has read what was sent to it."""
LARGEST_FRAME: Final = 1 << 30
"""Bytes of a reply; a server that announces more is cut off."""
MOST_KEPT: Final = 100_000
"""Replies that were not asked for, of which the next wait takes no more."""
ANSWERS: Final = "SRV-MP-003"
ECHO: Final = "SRV-MP-001"
RESULTS: Final = "SRV-MP-002"


class Place(Protocol):
    """Where a server listens."""

    @property
    def host(self) -> str:
        """Its address."""

    @property
    def port(self) -> int:
        """Its port."""


class MpPeerFailed(PeerFailed):
    """A server did not do what it must; ``requirement`` says which one speaks of it."""

    def __init__(self, requirement: str, message: str) -> None:
        super().__init__(message)
        self.requirement = requirement


@dataclass(frozen=True)
class Reply:
    """A reply that came: the frames behind its uid."""

    uid: bytes
    frames: Sequence[bytes]


@dataclass
class Exchanges:
    """One connection and what goes over it; not for several threads at once. Use it in a ``with`` statement."""

    release: Release
    place: Place
    patience: float = PATIENCE
    routing_id: bytes | None = None
    receive_buffer: int = 0
    """Messages that this side takes before it is read; 0 for ZeroMQ's own choice."""
    shared: zmq.Context[zmq.Socket[bytes]] | None = None
    """A context of many connections, which is not ended with this one; each has one of its own, with a thread, if None."""
    _uids: Any = field(default_factory=itertools.count)
    _kept: list[list[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table: OperationTable = operation_table(self.release)
        self._place_on_tape = TAPES.ours.open()
        self._context = zmq.Context() if self.shared is None else self.shared
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_FRAME)
        self._socket.setsockopt(zmq.SNDTIMEO, int(self.patience * 1000))
        if self.routing_id is not None:
            self._socket.setsockopt(zmq.ROUTING_ID, self.routing_id)
        if self.receive_buffer:
            self._socket.setsockopt(zmq.RCVHWM, self.receive_buffer)
        monitor = self._socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        try:
            self._socket.connect(
                f"tcp://{f'[{self.place.host}]' if ':' in self.place.host else self.place.host}:{self.place.port}"
            )
            standing = monitor.poll(int(HANDSHAKE * 1000))
        finally:
            self._socket.disable_monitor()
        if not standing:
            self.close()
            raise MpPeerFailed(
                ANSWERS, f"the server at {self.place.host}:{self.place.port} took no ZeroMQ connection within {HANDSHAKE:g} s"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close; what was not sent yet is not sent."""
        TAPES.ours.did(self._place_on_tape, "client", "close")
        self._socket.close(linger=0)
        if self.shared is None:
            self._context.destroy(linger=0)

    # Messages

    def new_uid(self) -> bytes:
        """A uid that this connection did not have yet, as lmcache's client counts them."""
        return pack(next(self._uids))

    def raw(self, *frames: bytes) -> None:
        """Send exactly these frames.

        Raises:
            MpPeerFailed: the server does not take them in time.
        """
        try:
            TAPES.ours.message(self._place_on_tape, "client", frames)
            self._socket.send_multipart(list(frames))
        except zmq.Again:
            raise MpPeerFailed(ANSWERS, f"the server took no message for {self.patience:g} s") from None

    def send(self, operation: str, *payloads: Value, uid: bytes | None = None) -> bytes:
        """A request without its reply; its uid."""
        name = self.table.name_of(operation)
        sent = self.new_uid() if uid is None else uid
        self.raw(sent, *encode_request(self.table, name, list(payloads)))
        return sent

    def next_reply(self, patience: float) -> Reply | None:
        """The next message, whatever it is."""
        if self._kept:
            frames = self._kept.pop(0)
            return Reply(frames[0], frames[1:])
        if not self._socket.poll(int(patience * 1000)):
            return None
        frames = self._receive()
        return Reply(frames[0], frames[1:])

    def reply(self, uid: bytes, operation: bytes | None = None, patience: float | None = None) -> list[bytes] | None:
        """The frames behind the uid of the reply to a request; others that come meanwhile are kept. None where none comes."""

        def wanted(frames: Sequence[bytes]) -> bool:
            return frames[0] == uid and (operation is None or list(frames[1:2]) == [operation])

        for index, frames in enumerate(self._kept):
            if wanted(frames):
                return self._kept.pop(index)[1:]
        until = time.monotonic() + (self.patience if patience is None else patience)
        while len(self._kept) < MOST_KEPT and (left := until - time.monotonic()) > 0:
            if not self._socket.poll(max(1, int(left * 1000))):
                break
            frames = self._receive()
            if wanted(frames):
                return frames[1:]
            self._kept.append(frames)
        return None

    def _receive(self) -> list[bytes]:
        frames = self._socket.recv_multipart()
        TAPES.ours.message(self._place_on_tape, "server", frames)
        return frames

    def surplus(self, patience: float) -> list[bytes] | None:
        """A message that nobody asked for, or None."""
        found = self.next_reply(patience)
        return None if found is None else [found.uid, *found.frames]

    def result(self, operation: str, uid: bytes, patience: float | None = None) -> Value:
        """The result of a request that was sent.

        Raises:
            MpPeerFailed: no reply comes in time, or it is none to this operation.
        """
        name = self.table.name_of(operation)
        frames = self.reply(uid, patience=patience)
        if frames is None:
            waited = self.patience if patience is None else patience
            words = f"{name} was not answered within {waited:g} s"
            if self._kept:
                raise MpPeerFailed(ECHO, f"{words}; a message came that begins with another uid: {_shown(self._kept[0])}")
            raise MpPeerFailed(ANSWERS, words)
        return self.read(name, pack(self.table.named(name).number), frames)

    def read(self, name: str, sent: bytes, frames: Sequence[bytes]) -> Value:
        """The result in the frames behind the uid of a reply.

        Raises:
            MpPeerFailed: they do not begin with the operation as it was sent, or their result is not of its type.
        """
        if not frames or frames[0] != sent:
            got = frames[0].hex() if frames else "nothing"
            raise MpPeerFailed(ECHO, f"the reply to {name} has {got} in the place of the operation, sent was {sent.hex()}")
        due = self.table.named(name).result
        if len(frames) == 1:
            if due is not None and not isinstance(due, Optional):
                raise MpPeerFailed(RESULTS, f"the reply to {name} ends behind the operation, and {due} is due")
            return None
        if due is None or len(frames) > 2:
            raise MpPeerFailed(
                RESULTS, f"the reply to {name} has {len(frames) - 1} frames behind the operation, {int(due is not None)} due"
            )
        try:
            value = unpack(frames[1])
            if value is None:
                raise MpPeerFailed(RESULTS, f"the reply to {name} has nil as a frame of its own, which clients refuse")
            return typed(self.release, due, value, f"the result of {name}")
        except WireError as refusal:
            raise MpPeerFailed(RESULTS, f"the reply to {name} cannot be read: {refusal}") from None

    def ask(self, operation: str, *payloads: Value, patience: float | None = None) -> Value:
        """The result of a request.

        Raises:
            MpPeerFailed: as :meth:`result`.
        """
        return self.result(operation, self.send(operation, *payloads), patience)

    def settle(self, patience: float = SETTLED) -> bool:
        """Wait until the server has read all that was sent, which the answer to a NOOP tells; whether it came."""
        return self.reply(self.send("NOOP", uid=b"settled"), patience=patience) is not None


def _shown(frames: Sequence[bytes]) -> str:
    return " ".join(frame[:16].hex() or "(empty)" for frame in frames[:4])
