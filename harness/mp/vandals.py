"""What clients do to the port of a ZeroMQ server that no client of ZeroMQ would do, as a table of acts.

An act opens connections and leaves them as they are; they are closed once the others were looked at. The greeting is that of ZMTP
3.1: https://rfc.zeromq.org/spec/37/.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from harness.mp.exchanges import Place
from harness.tape import TAPES
from harness.tape.connection import TapedSocket
from wire.mp.operations import OperationTable
from wire.mp.values import pack

WAIT: Final = 5.0
"""Seconds that sending and reading may take."""
MORE: Final = 1
LONG: Final = 2
COMMAND: Final = 4
_SIGNATURE: Final = b"\xff" + bytes(8) + b"\x7f"
_CROWD: Final = 300
_HURRY: Final = 50


def greeting(mechanism: bytes = b"NULL", *, version: int = 3, server: bool = False) -> bytes:
    """The greeting of a peer: signature, version, mechanism, and whether it is the server of it."""
    return _SIGNATURE + bytes([version, 1]) + mechanism.ljust(20, b"\0") + bytes([server]) + bytes(31)


def command(name: bytes, body: bytes = b"") -> bytes:
    """A command frame."""
    return frame(bytes([len(name)]) + name + body, COMMAND)


def ready(kind: bytes = b"DEALER", **metadata: bytes) -> bytes:
    """The READY command, with the type of the socket and other metadata."""
    found = {"Socket-Type": kind, "Identity": b"", **metadata}
    return command(b"READY", b"".join(_property(name.encode(), value) for name, value in found.items()))


def _property(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value


def frame(data: bytes, flags: int = 0) -> bytes:
    """A frame, with a length in one byte or in eight."""
    if len(data) > 0xFF:
        return bytes([flags | LONG]) + len(data).to_bytes(8, "big") + data
    return bytes([flags, len(data)]) + data


def message(frames: Sequence[bytes]) -> bytes:
    """A whole message."""
    return b"".join(frame(each, MORE if index < len(frames) - 1 else 0) for index, each in enumerate(frames))


class Vandal:
    """Opens raw connections to a server; all of them are closed with the stack."""

    def __init__(self, place: Place, table: OperationTable, stack: ExitStack) -> None:
        self._place = place
        self._stack = stack
        self.noop = pack(table.named("NOOP").number)

    def open(self) -> socket.socket:
        """A new connection.

        Raises:
            OSError: the server takes none.
        """
        opened = socket.create_connection((self._place.host, self._place.port), timeout=WAIT)
        made = self._stack.enter_context(TapedSocket.of(opened, TAPES.ours))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def send(self, data: bytes, opened: socket.socket | None = None) -> socket.socket:
        """Send bytes, over a new connection or one that is there; a server that ends it may do so."""
        used = self.open() if opened is None else opened
        with contextlib.suppress(OSError):
            used.sendall(data)
        return used

    def greeted(self) -> socket.socket:
        """A connection whose handshake is done on this side."""
        opened = self.send(greeting() + ready())
        with contextlib.suppress(OSError):
            opened.recv(1)
        return opened

    @staticmethod
    def reset(opened: socket.socket) -> None:
        """End a connection with a reset."""
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        opened.close()


@dataclass(frozen=True)
class Act:
    """Something that is done to a port."""

    words: str
    """What it is, behind ``after``."""
    do: Callable[[Vandal], object]
    cite: str = "SRV-MP-021"
    """The requirement that speaks of it."""


def _all(count: int, do: Callable[[Vandal], object]) -> Callable[[Vandal], object]:
    return lambda vandal: [do(vandal) for _ in range(count)]


def _reset_after(data: bytes, *, greeted: bool = False) -> Callable[[Vandal], object]:
    return lambda vandal: vandal.reset(vandal.send(data, vandal.greeted() if greeted else None))


def _greeted(data: Callable[[Vandal], bytes]) -> Callable[[Vandal], object]:
    return lambda vandal: vandal.send(data(vandal), vandal.greeted())


def _deaf(vandal: Vandal) -> None:
    """Ask a lot, read nothing, and leave with a reset in the middle of the replies."""
    opened = vandal.greeted()
    vandal.send(message([b"\x01", vandal.noop]) * 2000, opened)
    vandal.reset(opened)


_MESSAGE: Final = "SRV-MP-101"
"""ZeroMQ takes what does not begin as a greeting for a peer of its first version: what such a peer sends arrives as messages."""
_SCRAPE: Final = (
    b"GET /metrics HTTP/1.1\r\nHost: cache.example:5555\r\nUser-Agent: Prometheus/2.51.0\r\n"
    b"Accept: application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.3\r\n"
    b"Accept-Encoding: gzip\r\nX-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\n"
)
_NOISE: Final = random.Random(20).randbytes(4096)  # noqa: S311  # the same noise every time
_HALF: Final = bytes([MORE | LONG]) + (1 << 20).to_bytes(8, "big") + bytes(1000)

ACTS: Final[dict[str, Act]] = {
    "silent": Act("a connection that says nothing", lambda vandal: vandal.open()),
    "hurried": Act(f"{_HURRY} connections that end at once", _all(_HURRY, lambda vandal: vandal.open().close())),
    "scanned": Act(f"{_HURRY} connections that are reset at once", _all(_HURRY, lambda vandal: vandal.reset(vandal.open()))),
    "half-greeting": Act("half a greeting", lambda vandal: vandal.send(greeting()[:11])),
    "half-greeting-reset": Act("half a greeting and a reset", _reset_after(greeting()[:30])),
    "greeting-alone": Act("a greeting and nothing behind it", lambda vandal: vandal.send(greeting())),
    "http": Act("a request of HTTP", lambda vandal: vandal.send(b"GET /status HTTP/1.1\r\nHost: cache\r\n\r\n")),
    "scraped": Act("a request for metrics over HTTP", lambda vandal: vandal.send(_SCRAPE), _MESSAGE),
    "tls": Act("the beginning of TLS", lambda vandal: vandal.send(bytes.fromhex("16030100c8010000c40303") + _NOISE[:200])),
    "noise": Act("noise", lambda vandal: vandal.send(_NOISE), _MESSAGE),
    "zeros": Act("zeros", lambda vandal: vandal.send(bytes(4096))),
    "ones": Act("bytes of ones", lambda vandal: vandal.send(b"\xff" * 4096)),
    "version-1": Act("a message of ZMTP 1.0", lambda vandal: vandal.send(b"\x01\x00\x02\x00x"), _MESSAGE),
    "version-2": Act(
        "a greeting of ZMTP 2.0",
        lambda vandal: vandal.send(_SIGNATURE + b"\x01\x05" + frame(b"") + message([b"\x01", vandal.noop])),
    ),
    "version-99": Act("a greeting of a version to come", lambda vandal: vandal.send(greeting(version=99) + ready())),
    "plain": Act(
        "a peer that wants PLAIN", lambda vandal: vandal.send(greeting(b"PLAIN") + command(b"HELLO", b"\x04user\x04word"))
    ),
    "curve": Act("a peer that wants CURVE", lambda vandal: vandal.send(greeting(b"CURVE") + _NOISE[:200])),
    "two-servers": Act("a peer that is the server of PLAIN itself", lambda vandal: vandal.send(greeting(b"PLAIN", server=True))),
    "subscriber": Act("a socket of a type that does not fit", lambda vandal: vandal.send(greeting() + ready(b"SUB"))),
    "wrong-metadata": Act(
        "metadata that is longer than its frame",
        lambda vandal: vandal.send(greeting() + command(b"READY", b"\x0bSocket-Type\xff\xff\xff\xffDEALER")),
    ),
    "long-identity": Act(
        "an identity of 60000 bytes",
        lambda vandal: vandal.send(greeting() + ready(Identity=b"i" * 60000) + message([b"\x01", vandal.noop])),
    ),
    "unknown-command": Act("a command that there is not", _greeted(lambda _: command(b"PLEASE", b"stop"))),
    "error-command": Act("an ERROR command", _greeted(lambda _: command(b"ERROR", b"\x04over"))),
    "reserved-flags": Act("a frame whose reserved flags are set", _greeted(lambda _: b"\xf8\x01x"), _MESSAGE),
    "half-message": Act("half a frame", _greeted(lambda _: _HALF)),
    "half-message-reset": Act("half a frame and a reset", _reset_after(_HALF, greeted=True)),
    "unfinished-message": Act("a message whose last frame never comes", _greeted(lambda _: frame(b"\x01", MORE) * 3)),
    "unfinished-message-reset": Act(
        "a message whose last frame never comes, and a reset", _reset_after(frame(b"\x01", MORE) * 3, greeted=True)
    ),
    "huge-length": Act(
        "a frame that claims 2**62 bytes", _greeted(lambda _: bytes([LONG]) + (1 << 62).to_bytes(8, "big") + b"x")
    ),
    "large-length": Act(
        "a frame that claims 2**40 bytes", _greeted(lambda _: bytes([LONG]) + (1 << 40).to_bytes(8, "big") + b"x")
    ),
    "negative-length": Act("a frame that claims 2**64 - 1 bytes", _greeted(lambda _: bytes([LONG]) + b"\xff" * 8 + b"x")),
    "reset-in-replies": Act("2000 requests and a reset before the replies", _deaf),
    "crowd-of-half-greetings": Act(f"{_CROWD} half greetings at once", _all(_CROWD, lambda vandal: vandal.send(greeting()[:12]))),
    "crowd-of-greetings": Act(
        f"{_CROWD} connections with a handshake and no message", _all(_CROWD, lambda vandal: vandal.greeted())
    ),
}
