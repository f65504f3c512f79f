"""What a gateway and its plugins say to each other: a line of JSON and some bytes, each with its length before it."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any, Final

HEAD: Final = struct.Struct("!II")
"""Length of the words, length of the body."""
MOST_WORDS: Final = 2**20


class ConversationBroken(OSError):
    """The other side went away in mid-frame, or what came is no frame."""


def send(to: socket.socket, words: dict[str, Any], body: bytes = b"", *, until: float | None = None) -> None:
    """Send a frame before a moment (``time.monotonic``).

    Raises:
        OSError: the connection is broken, or time is up.
    """
    line = json.dumps(words).encode()
    _limit(to, until)
    to.sendall(HEAD.pack(len(line), len(body)) + line)
    _limit(to, until)
    to.sendall(body)


def receive(source: socket.socket, *, until: float | None = None) -> tuple[dict[str, Any], bytes]:
    """The words and the body of the next frame.

    Raises:
        OSError: the connection is broken, or time is up.
    """
    words_size, body_size = HEAD.unpack(_exactly(source, HEAD.size, until))
    if words_size > MOST_WORDS:
        raise ConversationBroken(f"a frame claims {words_size} bytes of words")
    line = _exactly(source, words_size, until)
    body = _exactly(source, body_size, until)
    try:
        words = json.loads(line)
    except ValueError as error:
        raise ConversationBroken(f"the words of a frame are no JSON: {error}") from error
    if not isinstance(words, dict):
        raise ConversationBroken("the words of a frame are no object")
    return words, body


def _exactly(source: socket.socket, size: int, until: float | None) -> bytes:
    data = bytearray(size)
    view, have = memoryview(data), 0
    while have < size:
        _limit(source, until)
        count = source.recv_into(view[have:])
        if not count:
            raise ConversationBroken(f"the connection was closed after {have} of {size} bytes")
        have += count
    return bytes(data)


def _limit(of: socket.socket, until: float | None) -> None:
    if until is None:
        return
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("time is up")
    of.settimeout(left)
