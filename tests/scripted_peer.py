"""A server that follows a script, one per connection in order of arrival."""

import contextlib
import socket
import struct
import threading


class Read:
    """Wait for so many bytes."""

    def __init__(self, size):
        self.size = size


class UntilEnd:
    """Wait until the client sends no more."""


class Flood:
    """Send without end."""


class Close:
    """Close, with a reset if asked for."""

    def __init__(self, *, reset=False):
        self.reset = reset


class ScriptedPeer:
    """Bytes in a script are sent as they stand; behind the last step it waits for the client to go."""

    def __init__(self, *scripts):
        self._scripts = scripts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()
        self.received = [bytearray() for _ in scripts]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self):
        self._threads[0].start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self):
        for number, script in enumerate(self._scripts):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._play, args=(connection, script, self.received[number]), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _play(self, connection, script, received):
        with connection, contextlib.suppress(OSError):
            for step in script:
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif isinstance(step, Read):
                    self._read(connection, received, step.size)
                elif isinstance(step, UntilEnd):
                    self._read(connection, received, None)
                elif isinstance(step, Flood):
                    while True:
                        connection.sendall(bytes(1 << 16))
                else:
                    if step.reset:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
            self._read(connection, received, None)

    @staticmethod
    def _read(connection, received, size):
        while size is None or size > 0:
            data = connection.recv(1 << 16 if size is None else size)
            if not data:
                return
            received += data
            size = None if size is None else size - len(data)
