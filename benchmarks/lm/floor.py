"""The floor: a threaded socket server in bare Python, which reads the frames of ``lm://`` and answers the same bytes.

It has one buffer for each key, reads into it, and sends header and value in two sends as lmcache does. It checks nothing, keeps
no records and allocates nothing twice: what it takes is what sockets and threads of Python cost.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
from typing import Final

from wire.lm.frames import NOTHING, Reply, encode_reply
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release

_PUT, _GET, _EXIST = 1, 2, 3
_AHEAD: Final = 20
"""Bytes of a request before its shape: command, length, format, dtype and, from 0.3.3 on, location."""


class Floor:
    """Values by the bytes of their key field; the last description of a value is what a GET answers with."""

    def __init__(self, profile: LmProfile) -> None:
        self._size = profile.header.request_size
        self._yes, self._no = (encode_reply(profile, Reply(code, NOTHING)) for code in ("SUCCESS", "FAIL"))
        self._values: dict[bytes, tuple[bytes, memoryview]] = {}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]

    def serve(self) -> None:
        """Accept for ever."""
        while True:
            link, _ = self._listener.accept()
            threading.Thread(target=self._converse, args=(link,), daemon=True).start()

    def _converse(self, link: socket.socket) -> None:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        header = memoryview(bytearray(self._size))
        whole = socket.MSG_WAITALL
        values, yes, no = self._values, self._yes, self._no
        with link:
            while link.recv_into(header, self._size, whole) == self._size:
                command, length = struct.unpack_from("<2i", header)
                key = bytes(header[-KEY_FIELD_SIZE:])
                if command == _PUT:
                    about, place = values.get(key, (b"", memoryview(b"")))
                    if len(place) != length:
                        about, place = self._described(header), memoryview(bytearray(length))
                    if not _filled(link, place):
                        return
                    values[key] = about, place
                elif command == _GET and key in values:
                    about, place = values[key]
                    link.sendall(about)
                    link.sendall(place)
                else:
                    link.sendall(yes if key in values or command not in {_GET, _EXIST} else no)

    @staticmethod
    def _described(header: memoryview) -> bytes:
        """The header of a reply to GET: code, the numbers of the request in the order of a reply, and no location."""
        length, kind, dtype = struct.unpack_from("<3i", header, 4)
        return struct.pack("<8i", 200, length, kind, dtype, *struct.unpack_from("<4i", header, _AHEAD)) + bytes(4)


def _filled(link: socket.socket, place: memoryview) -> bool:
    got, size = 0, len(place)
    while got < size:
        count = link.recv_into(place[got:], size - got, socket.MSG_WAITALL)
        if not count:
            return False
        got += count
    return True


def main() -> None:
    """Serve until the process is ended."""
    floor = Floor(lm_profile(Release.parse(sys.argv[1])))
    print(f"listens on 127.0.0.1:{floor.port}", flush=True)
    floor.serve()


if __name__ == "__main__":
    main()
