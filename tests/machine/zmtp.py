"""Captured conversations with multiprocess servers as bytes of ZMTP 3.0, framed by the few rules that it has."""

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)


def ready(socket):
    name = b"Socket-Type"
    body = b"\x05READY" + bytes([len(name)]) + name + len(socket).to_bytes(4, "big") + socket
    return bytes([4, len(body)]) + body


def message(frames):
    out = b""
    for index, frame in enumerate(frames):
        more = index + 1 < len(frames)
        long = len(frame) > 255
        out += bytes([more | long << 1]) + len(frame).to_bytes(8 if long else 1, "big") + frame
    return out


def exchanged(transcript):
    """(connection, side, frames) of a conversation in which every frame is literal and no server is started again, or nothing."""
    found = []
    for step in transcript.steps:
        frames = step.values.get("frames") if step.do in {"send", "poll"} else None
        got = step.values.get("got") or {}
        got = got.get("frames") if isinstance(got, dict) else None
        for side, what in (("client", frames), ("server", got)):
            if what is not None:
                if not all(isinstance(frame, str) for frame in what):
                    return []
                found.append((step.connection, side, [bytes.fromhex(frame) for frame in what]))
        if step.do == "restart":
            return []
    return found
