"""Captured conversations as what each side of each connection said, and framing by the few rules that both directions have."""

import hashlib
import itertools
import struct
from dataclasses import dataclass

from wire.release import Release

WITH_LOCATION = Release.parse("0.3.3")


@dataclass(frozen=True)
class Said:
    """What happened on one connection: ``do`` is ``open``, ``data``, ``half-close``, ``close`` or ``reset``."""

    connection: str
    sender: str
    do: str
    data: bytes = b""
    pieces: int | None = None


def spoken(transcript):
    """A captured conversation in its order; what came back is there whole, also where the corpus has its digest alone."""
    sent = []
    for step in transcript.steps:
        if step.do == "connect":
            yield Said(step.connection, "client", "open")
        elif step.do == "send":
            sent.append(step.payload())
            yield Said(step.connection, "client", "data", step.payload(), step.values.get("pieces"))
        elif step.do in {"half-close", "close", "reset"}:
            yield Said(step.connection, "client", step.do)
        else:
            got = step.values["got"]
            data = bytes.fromhex(got["bytes"]) if "bytes" in got else restored(got, sent)
            if data:
                yield Said(step.connection, "server", "data", data)
            if got["closed"]:
                yield Said(step.connection, "server", "close")


def restored(got, sent):
    """The reply with a large value that the conversation had stored: a header that tells of it, and what was sent."""
    for header, payload in itertools.pairwise(sent):
        size = len(header) - 150 - 4
        words = struct.unpack_from("<9i", header)
        shape = words[5:9] if size == 32 else words[4:8]
        reply = struct.pack("<8i", 200, *words[1:4], *shape) + bytes(4 * (size == 32))
        if hashlib.sha256(reply + payload).hexdigest() == got["sha256"]:
            return reply + payload
    raise AssertionError("no value of the conversation is the one with this digest")


def halves(transcript):
    """Connection and side to everything that it said, and whether the server closed the connection."""
    found, closed = {}, set()
    for one in spoken(transcript):
        if one.do == "data":
            key = one.connection, one.sender
            found[key] = found.get(key, b"") + one.data
        elif one.sender == "server":
            closed.add(one.connection)
    return found, closed


def header_size(release, sender):
    ints = 9 if release >= WITH_LOCATION else 8
    return 4 * ints + (150 if sender == "client" else 0)


def framed(release, sender, stream):
    """Cuts one direction into frames of header and payload; the last may be cut short, and says so."""
    size = header_size(release, sender)
    position = 0
    while position < len(stream):
        header = stream[position : position + size]
        payload = 0
        if len(header) == size:
            first, length = struct.unpack_from("<2i", header)
            payload = max(length, 0) if first == (1 if sender == "client" else 200) else 0
        frame = stream[position : position + size + payload]
        yield frame, len(header) == size and len(frame) == size + payload
        position += size + payload


def words(release, sender, frame):
    """The int32 of a header by name, in the order of the wire."""
    names = ["command" if sender == "client" else "code", "length", "format", "dtype"]
    shape = [f"shape{index}" for index in range(4)]
    if release >= WITH_LOCATION:
        names += ["location", *shape] if sender == "client" else [*shape, "location"]
    else:
        names += shape
    return dict(zip(names, struct.unpack_from(f"<{len(names)}i", frame), strict=True))
