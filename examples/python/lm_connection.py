"""One connection to an lm:// server: in step or closed, one request at a time, whatever thread asks."""

import socket
import threading
from contextlib import contextmanager, suppress

from harness.client import ClientError

from lm_wire import NOTHING, decode_reply, encode_request, malformed


class Connection:
    """One TCP connection: in step with its server or closed, and one request at a time, whatever thread asks."""

    def __init__(self, release, host, port, timeout):
        self.release = release
        self._address, self._timeout = (host, port), timeout
        self._turn = threading.Lock()
        self._socket, self._closed = None, False
        with self._failures():
            self._open()

    @property
    def is_open(self):
        return self._socket is not None

    def close(self):
        """Close for good. Whoever waits for a reply meanwhile gets an error."""
        self._closed = True
        waiting = self._socket
        if waiting is not None:
            with suppress(OSError):
                waiting.shutdown(socket.SHUT_RDWR)
        with self._turn:
            self._drop()

    @contextmanager
    def exchange(self):
        """A request and its reply, alone on the connection. Whatever is raised inside ends the socket, because bytes that are
        still to come would be taken for the next reply; a new one is opened before the next request, never within one."""
        if not self._turn.acquire(timeout=self._timeout):
            raise ClientError("timeout", "other requests on this connection took too long; nothing was sent")
        try:
            with self._failures():
                if self._closed:
                    raise ClientError("connection", "the connection was closed")
                if self._socket is not None and not self._is_quiet():
                    self._drop()
                if self._socket is None:
                    self._open()
                yield
        finally:
            self._turn.release()

    def send(self, *parts):
        """All bytes: socket.send() may take only some of them, and then says how many."""
        for part in parts:
            self._socket.sendall(part)

    def receive(self, size):
        """Exactly `size` bytes. TCP is a stream: recv() returns what is there, be it a byte of a header or the rest of it."""
        received = bytearray(size)
        missing = memoryview(received)
        while missing:
            count = self._socket.recv_into(missing)
            if count == 0:
                raise ClientError("connection", f"the server closed {len(missing)} bytes before the end")
            missing = missing[count:]
        return bytes(received)

    def reply(self):
        """A reply header: whether it says success, and what it describes."""
        code, about = decode_reply(self.release, self.receive(self.release.reply_size))
        if about.length < 0 or (about.length and code == "FAIL"):
            raise malformed(f"a reply with the code {code} announces {about.length} bytes")
        return code == "SUCCESS", about

    def answer(self, command, key):
        """Ask for something that is answered by a header alone."""
        header = encode_request(self.release, command, key, NOTHING)
        with self.exchange():
            self.send(header)
            success, about = self.reply()
            if about.length:
                raise malformed(f"the reply to {command} announces {about.length} bytes")
        return success

    def _open(self):
        self._socket = socket.create_connection(self._address, self._timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _is_quiet(self):
        """Nothing is to be read between two requests; if something is, it is the end or belongs to nobody."""
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            self._socket.settimeout(self._timeout)
            return True
        except OSError:
            pass
        return False

    def _drop(self):
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    @contextmanager
    def _failures(self):
        try:
            yield
        except BaseException as error:
            self._drop()
            if isinstance(error, TimeoutError):
                raise ClientError("timeout", f"nothing happened for {self._timeout:g} s") from error
            if isinstance(error, OSError):
                raise ClientError("connection", str(error)) from error
            raise
