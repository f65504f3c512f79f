"""A server that follows a script, and the reference client connected to it."""

import contextlib
import socket
import struct
import threading

from harness.clients.inprocess import InProcessSession
from harness.clients.samples import sample_key
from harness.reference.lm import ReferenceClient

TIMEOUT = 0.4


class Read:
    """Wait for so many bytes."""

    def __init__(self, size):
        self.size = size


class Close:
    """Close, with a reset if asked for."""

    def __init__(self, *, reset=False):
        self.reset = reset


class ScriptedServer:
    """Plays one script per connection: bytes are sent as they stand, at the end it waits for the peer to close."""

    def __init__(self, *scripts):
        self._scripts = list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.received = [bytearray() for _ in scripts]
        self.ended = [threading.Event() for _ in scripts]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self):
        # Closing alone would leave a blocked accept, and with it the port, alive.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._listener.close()

    def _serve(self):
        for number, script in enumerate(self._scripts):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._play, args=(number, connection, script), daemon=True).start()

    def _play(self, number, connection, script):
        with connection, contextlib.suppress(OSError):
            for step in script:
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif isinstance(step, Read):
                    rest = step.size
                    while rest and (data := connection.recv(rest)):
                        self.received[number] += data
                        rest -= len(data)
                elif isinstance(step, Close):
                    if step.reset:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()
                    break
            else:
                while data := connection.recv(65536):
                    self.received[number] += data
        self.ended[number].set()


class Link:
    """The reference client with one connection ``c``."""

    def __init__(self, server, release):
        self.session = InProcessSession(ReferenceClient)
        self.release = release
        self.key = sample_key(release)
        self.connect(server, release)

    def connect(self, server, release="0.5.6", name="c"):
        args = {"connection": name, "protocol": "lm", "host": "127.0.0.1", "port": server.port, "release": release}
        return self.call("connect", **args, timeout_ms=round(TIMEOUT * 1000))

    def call(self, op, **args):
        return self.session.call(op, args, deadline=20)

    def exist(self):
        return self.call("exist", connection="c", key=self.key)

    def get(self, *, format_name="KV_2LTD", dtype="uint8", shape=(2, 1, 2, 2)):
        expect = {"format": format_name, "dtype": dtype, "shape": list(shape)}
        return self.call("get", connection="c", key=self.key, expect=expect)

    def put(self, payload, *, shape=(2, 1, 2, 2)):
        about = {"format": "KV_2LTD", "dtype": "uint8", "shape": list(shape), "location": None}
        return self.call("put", connection="c", key=self.key, payload=payload, **about)

    def open_connections(self):
        return self.call("state").values["connections"]
