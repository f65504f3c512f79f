"""Lines on the standard streams, read without a byte too many: two processes take turns at them."""

import json
import os

ANSWERS = os.dup(1)
WAITING = bytearray()
CHUNK = 65536


def claim_output():
    """Call before anything else writes: what others print goes to the standard error."""
    os.dup2(2, 1)


def say(members):
    data = json.dumps(members, separators=(",", ":")).encode("ascii") + b"\n"
    view = memoryview(data)
    while view:
        view = view[os.write(ANSWERS, view) :]


def take():
    """The next line, or None at the end of input."""
    while True:
        end = WAITING.find(b"\n")
        if end >= 0:
            line = bytes(WAITING[:end])
            del WAITING[: end + 1]
            return line
        data = os.read(0, CHUNK)
        if not data:
            return None
        WAITING.extend(data)
