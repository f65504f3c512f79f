"""Raw connections that do to a server what a client under test would not: half requests, many at once, no reading."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from harness.failure import PeerFailed
from harness.reference.values import key_from_json
from harness.tape import TAPES
from harness.tape.connection import TapedSocket
from harness.targets import Server
from wire.errors import WireError
from wire.keys import format_key
from wire.lm.frames import NOTHING, Description, Reply, decode_reply, encode_request
from wire.lm.frames import Request as Frame
from wire.lm.profile import lm_profile
from wire.release import Release

PATIENCE: Final = 10.0
"""Seconds that a peer waits for a server: for a reply, and for it to take a request."""
SLOWEST: Final = 4 << 20
"""Bytes a second that a server gives and takes at least, on this machine: what is long may take longer."""
LONGEST: Final = 256 << 20
"""Bytes of the longest payload that a reply may announce: four times what any case stores."""

T = TypeVar("T")
Key = Mapping[str, Any]
"""A key of the contract."""


class Peer:
    """One connection; every wait ends after ``patience`` seconds. Not for several threads at once.

    It acknowledges what comes at once, as no ordinary client does, unless it is not to be ``quick``.
    """

    def __init__(self, release: Release, server: Server, *, patience: float = PATIENCE, quick: bool = True) -> None:
        self._release = release
        self._profile = lm_profile(release)
        self._patience = patience
        self._quick = quick and hasattr(socket, "TCP_QUICKACK")
        try:
            self._socket = TapedSocket.of(socket.create_connection((server.host, server.port), timeout=patience), TAPES.ours)
        except OSError as error:
            raise PeerFailed(f"the server at {server.host}:{server.port} takes no connection: {error}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def frame(self, command: str, key: Key, payload: bytes = b"") -> bytes:
        """A request header, and the payload of a PUT behind it."""
        return request_frame(self._release, command, key, payload)

    @property
    def header_size(self) -> int:
        """Bytes of a request header: where the payload of a PUT begins in its frame."""
        return self._profile.header.request_size

    def send(self, data: bytes) -> None:
        """Send bytes as they are.

        Raises:
            PeerFailed: the server does not take them in time, or ended the connection.
        """
        self._socket.settimeout(self._patience + len(data) / SLOWEST)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise PeerFailed(f"the server took no more bytes: {error}") from None

    def try_to_send(self, data: bytes, *, within: float) -> int:
        """Send as much as the server takes, until it takes nothing for so many seconds or has ended the connection.

        Returns:
            How many bytes left.
        """
        self._socket.settimeout(within)
        rest = memoryview(data)
        with contextlib.suppress(OSError):
            while rest:
                rest = rest[self._socket.send(rest) :]
        return len(data) - len(rest)

    def reply(self) -> Reply:
        """Read a reply header.

        Raises:
            PeerFailed: it does not come in time, or is none.
        """
        header = self.header()
        try:
            return decode_reply(self._profile, header)
        except WireError as error:
            raise PeerFailed(f"no reply header came: {error}; bytes {header.hex()}") from None

    def value(self) -> bytes | None:
        """Read the reply to a GET: the payload, or None for a miss."""
        reply = self.reply()
        return self.payload(reply.about.length) if reply.code == "SUCCESS" else None

    def payload(self, length: int) -> bytes:
        """Read what a reply announces.

        Raises:
            PeerFailed: it does not come, or nobody can have stored so much.
        """
        if not 0 <= length <= LONGEST:
            raise PeerFailed(f"a reply announces {length} bytes, and nobody has stored so many or so few")
        return self._exactly(length, "a payload")

    def header(self) -> bytes:
        """Read the bytes of a reply header, whatever they say."""
        return self._exactly(self._profile.header.reply_size, "a reply header")

    def first_piece(self) -> bytes:
        """What one ``recv`` brings of a reply header: the real client asks for no more.

        Raises:
            PeerFailed: nothing comes in time.
        """
        self._socket.settimeout(self._patience)
        try:
            piece = self._socket.recv(self._profile.header.reply_size)
        except OSError as error:
            raise PeerFailed(f"no reply header came: {error}") from None
        if not piece:
            raise PeerFailed("the server ended the connection in place of a reply")
        return piece

    @property
    def reply_size(self) -> int:
        """Bytes of a reply header."""
        return self._profile.header.reply_size

    def take(self, count: int) -> bytes:
        """Read so many bytes, whatever they are.

        Raises:
            PeerFailed: they do not come in time.
        """
        return self._exactly(count, "what is due")

    def first_byte(self) -> bytes:
        """Read one byte of whatever comes.

        Raises:
            PeerFailed: none comes in time.
        """
        return self._exactly(1, "a byte of a reply")

    def has_more(self, *, within: float) -> bool:
        """Whether anything more comes, a byte or the end, within so many seconds; it stays there to be read."""
        self._socket.settimeout(within)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        except OSError:
            return True
        return True

    def rest(self, *, within: float, most: int = 1 << 20) -> tuple[bytes, bool]:
        """What else comes, up to ``most`` bytes and the end of the connection; and whether that came, within so many seconds."""
        came = bytearray()
        until = time.monotonic() + within
        try:
            while (left := until - time.monotonic()) > 0 and len(came) < most:
                self._socket.settimeout(left)
                piece = self._socket.recv(1 << 16)
                if not piece:
                    return bytes(came), True
                came += piece
        except TimeoutError:
            return bytes(came), False
        except OSError:
            return bytes(came), True
        return bytes(came), False

    def yes(self) -> bool:
        """Read the reply to an EXIST or a HEALTH."""
        return self.reply().code == "SUCCESS"

    def put(self, key: Key, payload: bytes) -> None:
        """Send a PUT; the server may not have taken it yet."""
        self.send(self.frame("PUT", key, payload))

    def get(self, key: Key) -> bytes | None:
        """The value of a key, or None."""
        self.send(self.frame("GET", key))
        return self.value()

    def exist(self, key: Key) -> bool:
        """Whether the server has a key; once it is answered, the PUTs before it on this connection are done."""
        self.send(self.frame("EXIST", key))
        return self.yes()

    def health(self, key: Key) -> bool:
        """Whether the server says that it is well."""
        self.send(self.frame("HEALTH", key))
        return self.yes()

    def send_urgent(self, data: bytes) -> None:
        """Send bytes out of band, which no reader of the stream sees.

        Raises:
            PeerFailed: the server ended the connection.
        """
        try:
            self._socket.send(data, socket.MSG_OOB)
        except OSError as error:
            raise PeerFailed(f"the server took no urgent byte: {error}") from None

    def half_close(self) -> None:
        """Send no more, and go on reading."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """End the connection with a reset in place of an end of stream."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        """Close; with bytes unread, that is a reset."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _exactly(self, count: int, what: str) -> bytes:
        data = bytearray(count)
        rest = memoryview(data)
        until = time.monotonic() + self._patience + count / SLOWEST
        try:
            while rest:
                left = until - time.monotonic()
                if left <= 0:  # a server that sends a byte now and then never lets one wait time out
                    raise TimeoutError(f"{self._patience:g} s were not enough")
                self._socket.settimeout(left)
                # The real server sends header and payload apart and waits for the acknowledgement of the one before the other.
                if self._quick:
                    self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
                got = self._socket.recv_into(rest)
                if not got:
                    raise PeerFailed(f"the server ended the connection {count - len(rest)} bytes into {what} of {count}")
                rest = rest[got:]
        except OSError as error:
            raise PeerFailed(f"{what} of {count} bytes ended after {count - len(rest)}: {error}") from None
        return bytes(data)


def request_frame(release: Release, command: str, key: Key, payload: bytes = b"") -> bytes:
    """A request header of a release, and the payload of a PUT behind it."""
    about = Description(len(payload), "BINARY", "uint8", (len(payload), 0, 0, 0)) if payload else NOTHING
    return encode_request(lm_profile(release), Frame(command, format_key(release, key_from_json(key)), about)) + payload


def await_bytes(release: Release, server: Server, key: Key, count: int) -> None:
    """Wait until a mock has taken so many bytes of a PUT of a key that is under way. A live server does not tell.

    Raises:
        PeerFailed: it does not take them in time.
    """
    if server.mock is None:
        return
    text = format_key(release, key_from_json(key))
    until = time.monotonic() + PATIENCE
    while all(found.done or found.bytes_in < count for found in server.journal.exchanges(command="PUT", key=text)):
        if time.monotonic() > until:
            raise PeerFailed(f"the mock did not take {count} bytes of a PUT within {PATIENCE:g} s")
        time.sleep(0.001)


def at_once(work: Sequence[Callable[[], T]], *, patience: float = 3 * PATIENCE) -> list[T]:
    """Do all the work at once, each piece in a thread of its own that begins when all are there; the results in order.

    Raises:
        PeerFailed: some of it is not done in time.
        Exception: what the first piece raised that raised anything.
    """
    start = threading.Barrier(len(work))
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run(number: int) -> None:
        try:
            start.wait(patience)
            results[number] = work[number]()
        except BaseException as error:  # noqa: BLE001  # handed to the caller
            errors[number] = error

    threads = [threading.Thread(target=run, args=(number,), name="lmconform-peer", daemon=True) for number in range(len(work))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + patience
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    if errors:
        raise errors[min(errors)]
    if len(results) < len(work):
        raise PeerFailed(f"{len(work) - len(results)} of {len(work)} peers were not done after {patience:g} s")
    return [results[number] for number in range(len(work))]
