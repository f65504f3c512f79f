"""A message thread that no message ends, and that waits for no peer."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import zmq

from mockserver.mp.journal import RunningExchange
from mockserver.mp.messages import MessageThread
from mockserver.mp.requests import Dropped, MessageThreadDies, Request, StreamControl

MOST_BYTES: Final = 256 << 20
"""The largest frame that is taken: chunks without shared memory travel in one."""
LONGEST_OPERATION: Final = 256
"""Bytes of an operation's frame."""
HIGH_WATER: Final = 200
"""Messages that ZeroMQ keeps for a peer, or takes from one ahead."""
BACKLOG_BYTES: Final = 8 << 20
BACKLOG_MESSAGES: Final = 10_000
"""Of the replies beyond that, so much is kept for one peer; it has to read before it is answered more."""
PEERS: Final = 1024
"""Peers with such a backlog; the one that has it for the longest time loses it."""


class RobustMessages(MessageThread):
    """Passes over what it cannot read; replies that a peer does not take wait beside, up to a limit."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._backlogs: dict[bytes, deque[list[bytes]]] = {}
        self._sizes: dict[bytes, int] = {}
        super().__init__(*arguments, **options)

    def configure(self, sock: zmq.Socket[bytes]) -> None:
        """Always be told when a peer takes no more, and when it is gone."""
        sock.setsockopt(zmq.LINGER, 0)
        sock.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES)
        sock.setsockopt(zmq.SNDHWM, HIGH_WATER)
        sock.setsockopt(zmq.RCVHWM, HIGH_WATER)
        sock.setsockopt(zmq.ROUTER_MANDATORY, 1)

    def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
        """The operation of a message; whatever has none is dropped, unread where it is longer than any."""
        if len(frames) > 1 and len(frames[1]) > LONGEST_OPERATION:
            raise Dropped(f"{len(frames[1])} bytes in the place of the operation")
        try:
            return super().read(frames)
        except MessageThreadDies as why:
            raise Dropped(str(why)) from None

    def _send(self, exchange: RunningExchange, identity: bytes, message: list[bytes], *, last: bool) -> None:
        if not identity:
            super()._send(exchange, identity, message, last=last)
            return
        self._journal.sent(exchange, message, last=last)
        if identity in self._backlogs or not self._pass_on(identity, message):
            self._keep(exchange, identity, message)

    def _send_all(self) -> None:
        for identity in list(self._backlogs):
            self._drain(identity)
        super()._send_all()

    def _drain(self, identity: bytes) -> None:
        waiting = self._backlogs[identity]
        while waiting and self._pass_on(identity, waiting[0]):
            self._sizes[identity] -= sum(map(len, waiting.popleft()))
        if not waiting:
            self._forget(identity)

    def _keep(self, exchange: RunningExchange, identity: bytes, message: list[bytes]) -> None:
        size = sum(map(len, message))
        waiting = self._backlogs.setdefault(identity, deque())
        if self._sizes.get(identity, 0) + size > BACKLOG_BYTES or len(waiting) >= BACKLOG_MESSAGES:
            self._journal.note(exchange, dropped="the peer does not read")
            return
        waiting.append(message)
        self._sizes[identity] = self._sizes.get(identity, 0) + size
        while len(self._backlogs) > PEERS:
            self._forget(next(iter(self._backlogs)))

    def _forget(self, identity: bytes) -> None:
        self._backlogs.pop(identity, None)
        self._sizes.pop(identity, None)

    def _pass_on(self, identity: bytes, message: list[bytes]) -> bool:
        """Hand a message to ZeroMQ; false where the peer takes no more now. One that is gone takes everything."""
        try:
            self._socket.send_multipart([identity, *message], flags=zmq.NOBLOCK)
        except zmq.Again:
            return False
        except zmq.ZMQError:
            return True
        return True

    def _patience(self, look_again: float) -> int:
        """While replies wait, look soon whether their peers read."""
        return min(super()._patience(look_again), _SOON) if self._backlogs else super()._patience(look_again)


_SOON: Final = 10
"""Milliseconds."""
