"""A process that has imported lmcache once, and makes a new process of itself whenever a plugin is to be opened.

lmcache with torch takes seconds to import. What is made here leads a session of its own and serves the pipes that came with the
request; its parent ends at once, so that it becomes a child of the harness, which takes orphans in.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import struct
from collections.abc import Sequence

from . import adapter, program, watched

PID = struct.Struct("<i")
READY = b"ready"
REQUEST = 1 << 16
"""Bytes of the longest request."""


def main(arguments: Sequence[str]) -> None:
    """Serve requests on the socket of a number, each answered with the number of a process.

    A request has three descriptors: two pipes, and where to write errors. If the process is to be watched (``watched``), a fourth
    one is a socket, and the bytes of the request are a filter of system calls.
    """
    number, text = arguments
    given = json.loads(text)
    adapter.warm(given["module"], given["name"], given["options"])
    gc.freeze()
    with socket.socket(fileno=int(number)) as requests:
        requests.sendall(READY)
        while True:
            data, descriptors, _, _ = socket.recv_fds(requests, REQUEST, 4)
            if not data:
                return
            pid = _made(requests, data, descriptors)
            for one in descriptors:
                os.close(one)
            requests.sendall(PID.pack(pid))


def _made(requests: socket.socket, data: bytes, descriptors: Sequence[int]) -> int:
    read, write = os.pipe()
    between = os.fork()
    if not between:
        pid = os.fork()
        if not pid:
            os.close(read)
            os.close(write)
            requests.close()
            _serve(data, *descriptors)
        os.write(write, PID.pack(pid))
        os._exit(0)
    os.close(write)
    os.waitpid(between, 0)
    (pid,) = PID.unpack(os.read(read, PID.size))
    os.close(read)
    return int(pid)


def _serve(data: bytes, incoming: int, outgoing: int, errors: int, watcher: int | None = None) -> None:
    try:
        if watcher is not None:
            os.environ[watched.PLACE] = f"{watcher} {data.hex()}"
        os.setsid()
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        os.close(errors)
        program.main([str(incoming), str(outgoing)])
    finally:
        os._exit(1)
