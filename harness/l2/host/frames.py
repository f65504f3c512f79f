"""Frames between harness and host: a header in JSON, and bulk data behind it as it is.

A frame is the header's length (4 bytes, little-endian), the header (UTF-8), and the blobs one after the other; the member
``blobs`` of the header gives their lengths.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Union

LENGTH = struct.Struct("<I")
HEADER_LIMIT = 64 * 1024 * 1024
"""Bytes; a longer one is none, but something that the plugin wrote into the pipe."""
Blob = Union[bytes, bytearray, memoryview]  # noqa: UP007  # Python 3.10 evaluates it
_PIECE = 1 << 20


class Ended(Exception):
    """The other side closed its pipe."""


def head(members: Mapping[str, Any], blobs: Sequence[Blob]) -> bytes:
    """A header and its length, ready to be written in front of the blobs."""
    sizes = [len(blob) for blob in blobs]
    text = json.dumps({**members, "blobs": sizes}, separators=(",", ":")).encode()
    return LENGTH.pack(len(text)) + text


def send(descriptor: int, members: Mapping[str, Any], blobs: Sequence[Blob] = ()) -> None:
    """Write a frame, waiting as long as it takes."""
    for piece in (head(members, blobs), *blobs):
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(descriptor, rest[:_PIECE]) :]


def receive(descriptor: int) -> tuple[dict[str, Any], list[bytearray]]:
    """The next frame.

    Raises:
        Ended: there is none.
    """
    (length,) = LENGTH.unpack(_exactly(descriptor, LENGTH.size))
    members: dict[str, Any] = json.loads(_exactly(descriptor, length))
    return members, [_exactly(descriptor, size) for size in members.pop("blobs")]


def _exactly(descriptor: int, size: int) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = os.readv(descriptor, [rest[:_PIECE]])
        if not count:
            raise Ended
        rest = rest[count:]
    return data
