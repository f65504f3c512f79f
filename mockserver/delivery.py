"""Sends a reply as a plan says, down to the size of every send and the way the connection ends."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from mockserver.buffers import Buffer
from mockserver.connection import Connection
from mockserver.endings import Ending
from mockserver.faults.outgoing import Outgoing, Pace
from mockserver.peer import PeerWatch, undelivered

_LOOK_AGAIN = 0.001
_EAGER_LOOKS = 20
_UNSEEN_PEER_PAUSE = 0.002
"""Seconds between two sends to a peer whose receive queue cannot be looked at."""
_DELIVER_BEFORE_RESET = 5.0
"""A reset throws away what is on its way, so it waits for the peer's kernel; no longer than this."""


def deliver(connection: Connection, outgoing: Outgoing) -> Ending | None:
    """Send a reply.

    Returns:
        Why the connection is to be closed now, or None where it goes on.

    Raises:
        ConnectionEndedError: the peer reset the connection, or the server stopped, before all was done.
    """
    if outgoing.delay:
        connection.wait(outgoing.delay)
    parts = outgoing.parts()
    if outgoing.pace is None:
        for part in parts:
            connection.send(part)
    else:
        _send_segments(connection, parts, outgoing.pace)
    if outgoing.last == "stall":
        connection.wait(None)
    elif outgoing.last == "half-close":
        connection.half_close()
    elif outgoing.last == "reset":
        _wait_until_delivered(connection)
        connection.reset_on_close()
    elif outgoing.ending is not None and outgoing.ending.kind == "fault":
        connection.discard_input()
    return outgoing.ending


def split(parts: list[Buffer], sizes: tuple[int, ...]) -> Iterator[Buffer]:
    """The bytes of all parts together, in pieces of these sizes, the last one repeated; copies only across borders."""
    wanted = itertools.chain(sizes, itertools.repeat(sizes[-1]))
    views = [memoryview(part) for part in parts]
    while views:
        left = next(wanted)
        piece: list[memoryview] = []
        while left and views:
            taken = views[0][:left]
            piece.append(taken)
            left -= len(taken)
            views[0] = views[0][len(taken) :]
            if not len(views[0]):
                views.pop(0)
        yield piece[0] if len(piece) == 1 else b"".join(piece)


def _send_segments(connection: Connection, parts: list[Buffer], pace: Pace) -> None:
    deadline: float | None = None
    with PeerWatch(connection.socket) as peer:
        for number, piece in enumerate(split(parts, pace.sizes)):
            if number:
                if deadline is None:
                    deadline = time.monotonic() + pace.patience
                _wait_until_read(connection, peer, deadline)
                if pace.pause:
                    connection.wait(pace.pause)
            connection.send(piece)


def _wait_until_read(connection: Connection, peer: PeerWatch, deadline: float) -> None:
    for look in itertools.count():
        read = peer.has_read(connection.bytes_sent)
        if read is None and not undelivered(connection.socket):
            connection.wait(_UNSEEN_PEER_PAUSE)
            return
        if read:
            return
        if time.monotonic() >= deadline:
            connection.wait(_LOOK_AGAIN)
            return
        if look < _EAGER_LOOKS:
            time.sleep(0)  # lets a client in this very process run
        else:
            connection.wait(_LOOK_AGAIN)


def _wait_until_delivered(connection: Connection) -> None:
    deadline = time.monotonic() + _DELIVER_BEFORE_RESET
    while undelivered(connection.socket) and time.monotonic() < deadline:
        connection.wait(_LOOK_AGAIN)
