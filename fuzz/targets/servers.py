"""The mock servers: any bytes on a connection, and a witness beside it that must not notice."""

from __future__ import annotations

import functools
import socket
import threading
import time
from collections.abc import Sequence
from typing import Final

import zmq

from fuzz.target import Broken, Bytes, Target, in_pieces, require
from fuzz.targets.captured import RELEASES, lm_conversations, mp_messages
from mockserver.connection import Connection
from mockserver.faults.plan import PlanProgress
from mockserver.faults.spec import FaultSpecError, parse_plan
from mockserver.journal import Journal
from mockserver.lm.replies import Replies
from mockserver.lm.requests import read_request
from mockserver.lm.session import Desk, Session
from mockserver.mp import MpServer
from mockserver.store import Store
from wire.lm.profile import lm_profile

_PROFILES: Final = tuple(lm_profile(release) for release in RELEASES)
_FAULTS: Final = ("", "garbage:bytes=5", "short-body:bytes=3", "wrong-length:length=+1", "close-after:bytes=10", "reset")
_PATIENCE: Final = 20.0
_NEWEST: Final = "0.5.6"


def lm_connection(data: bytes) -> None:
    """One connection of the ``lm://`` mock, from its first byte to its last."""
    given = Bytes(data)
    profile, fault = given.choice(_PROFILES), given.choice(_FAULTS)
    try:
        plan = parse_plan([fault] if fault else [])
        plan.check(profile.header.reply)
    except (FaultSpecError, ValueError):
        return
    progress = PlanProgress(plan)
    journal = Journal()
    desk = Desk(
        profile, Store(), journal, Replies(profile), functools.partial(read_request, profile), lambda: progress, lambda _: None
    )
    listening = socket.create_server(("127.0.0.1", 0))
    with listening, socket.create_connection(listening.getsockname()) as peer:
        ours, _ = listening.accept()
        peer.sendall(given.rest())
        peer.shutdown(socket.SHUT_WR)
        Session(desk, Connection(ours, "peer", threading.Event()), ()).run()
        require(holds=all(one.ending is not None for one in journal.connections()), what="a connection is over and has no ending")


@functools.cache
def _mp() -> tuple[MpServer, zmq.Context[zmq.Socket[bytes]], zmq.Socket[bytes]]:
    server = MpServer(_NEWEST).start()
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    return server, context, _dealer(context, server)


def _dealer(context: zmq.Context[zmq.Socket[bytes]], server: MpServer) -> zmq.Socket[bytes]:
    dealer = context.socket(zmq.DEALER)
    dealer.linger = 0
    dealer.rcvtimeo = dealer.sndtimeo = int(_PATIENCE * 1000)
    dealer.connect(f"tcp://{server.address[0]}:{server.address[1]}")
    return dealer


def mp_messages_sent(data: bytes) -> None:
    """Messages of any frames to the multiprocess mock, and a NOOP of a witness afterwards."""
    given = Bytes(data)
    server, context, witness = _mp()
    sender = _dealer(context, server)
    for _ in range(given.number() % 4 + 1):
        frames = [given.piece() for _ in range(given.number() % 12 + 1)]
        sender.send_multipart(frames)
    sender.send_multipart([b"\0", b"\x18"])
    try:
        _ask(server, witness)
    finally:
        sender.close()


def _ask(server: MpServer, witness: zmq.Socket[bytes]) -> None:
    """The witness is answered, unless the message thread ended as that of the real server does; then there is another server."""
    witness.send_multipart([b"\1", b"\x18"])
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if witness.poll(20):
            if witness.recv_multipart()[0] == b"\1":
                return
        elif server.journal.death:
            server.restart()
            return
    raise Broken("a witness gets no answer")


def mp_raw(data: bytes) -> None:
    """Bytes that need be no ZMTP, to the port of the multiprocess mock, and a NOOP of a witness afterwards."""
    server, _, witness = _mp()
    with socket.create_connection(server.address, timeout=_PATIENCE) as peer:
        try:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
        except OSError:
            return  # it hung up meanwhile, which it may
    _ask(server, witness)


def _lm_seeds() -> Sequence[bytes]:
    return [
        bytes([len(RELEASES) - 1, 0]) + b"".join(data for _, side, data in said if side == "client")
        for said in lm_conversations()
    ]


def _mp_seeds() -> Sequence[bytes]:
    found = []
    for said in mp_messages():
        asked = [frames for _, side, frames in said if side == "client"][:4]
        if asked:
            found.append(bytes([len(asked) - 1]) + b"".join(bytes([len(frames) - 1]) + in_pieces(frames) for frames in asked))
    return found


_ZMTP: Final = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48) + b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x06DEALER"

TARGETS: Final = (
    Target("servers.lm-connection", lm_connection, (), _lm_seeds),
    Target("servers.mp-messages", mp_messages_sent, (), _mp_seeds),
    Target(
        "servers.mp-raw",
        mp_raw,
        (),
        lambda: [_ZMTP, _ZMTP + b"\1\1\0\0\1\x18", _ZMTP + b"\2" + b"\xff" * 8, b"GET / HTTP/1.1\r\n\r\n"],
    ),
)
