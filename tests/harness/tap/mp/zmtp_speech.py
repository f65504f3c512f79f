"""What ZeroMQ would put on the wire, written down by hand for tests: greetings, handshakes, messages, and whole conversations."""

import struct

from fixturegen.mp.memory import SEGMENT_NAME_LENGTH
from fixturegen.mp.transcript import frame_bytes
from harness.tap.event import Event
from wire.mp.frames import encode_reply, encode_request
from wire.mp.operations import operation_table
from wire.mp.values import pack
from wire.release import Release


def greeting(minor=1, mechanism=b"NULL", as_server=False):
    return b"\xff" + bytes(7) + b"\x01\x7f" + bytes([3, minor]) + mechanism.ljust(20, b"\0") + bytes([as_server]) + bytes(31)


def command(name, data=b""):
    body = bytes([len(name)]) + name + data
    return bytes([4, len(body)]) + body


def ready(kind, identity=b""):
    pairs = {b"Socket-Type": kind, b"Identity": identity}
    return command(
        b"READY", b"".join(bytes([len(name)]) + name + struct.pack(">I", len(value)) + value for name, value in pairs.items())
    )


def message(*frames):
    out = b""
    for index, frame in enumerate(frames):
        more = index + 1 < len(frames)
        head = struct.pack(">BQ", 2 | more, len(frame)) if len(frame) > 255 else bytes([more, len(frame)])
        out += head + frame
    return out


HELLO = {"client": greeting() + ready(b"DEALER"), "server": greeting() + ready(b"ROUTER")}


class Talk:
    """Events of a recording, written one after the other; a hundredth of a second lies between two of them."""

    def __init__(self, client="0.5.6", server=None):
        self.client = operation_table(Release.parse(client))
        self.server = operation_table(Release.parse(server or client))
        self.events = []
        self.now = 0.0
        self._uid = 0
        self._asked = {}

    def event(self, connection, side, do, data=b"", **more):
        self.now += 0.01
        self.events.append(Event(round(self.now, 6), connection, side, do, data, **more))
        return self

    def open(self, connection=1, client=HELLO["client"], server=HELLO["server"]):
        self.event(connection, "client", "open", text="127.0.0.1:1")
        self.event(connection, "server", "open", text="127.0.0.1:2")
        self.event(connection, "client", "data", client)
        return self.event(connection, "server", "data", server)

    def frames(self, *frames, side="client", connection=1):
        return self.event(connection, side, "data", message(*frames))

    def ask(self, name, *payloads, connection=1, uid=None):
        """A request as the client's release writes it."""
        if uid is None:
            uid = pack(self._uid)
            self._uid += 1
        frames = encode_request(self.client, name, list(payloads))
        self._asked[connection] = uid, frames[0]
        return self.frames(uid, *frames, connection=connection)

    def answer(self, name, result=None, connection=1):
        """The reply of the server's release to the last request, as an operation of that release."""
        uid, operation = self._asked[connection]
        return self.frames(uid, operation, *encode_reply(self.server, name, result)[1:], side="server", connection=connection)

    def wait(self, seconds):
        self.now += seconds
        return self

    def end(self, connection=1):
        self.event(connection, "client", "half-close")
        return self.event(connection, "server", "close")


def key(release, tokens=32, worker=0, **other):
    """A key record of a release, with all of its members."""
    members = {
        "model_name": "org/model",
        "world_size": 1,
        "worker_id": worker,
        "chunk_hash": None,
        "token_ids": list(range(tokens)),
        "start": 0,
        "end": tokens,
        "request_id": "r1",
        "cache_salt": "",
        "request_configs": None,
        "num_kv_readers": 1,
    }
    del release
    return {**members, **other}


class _Names(dict):
    """What bound names of captured conversations stand for in a run that never was."""

    def __missing__(self, name):
        kind = name.partition(".")[0]
        if kind in {"pool", "cache"}:
            return "x" * SEGMENT_NAME_LENGTH
        return {"hex": "00" * 8} if name in {"place2", "place3", "place4"} else 7


def spoken(transcript):
    """The events of a captured conversation, as a proxy would have seen them."""
    numbers, talk = {}, Talk()
    for step in transcript.steps:
        if step.do == "connect":
            numbers[step.connection] = len(numbers) + 1
            talk.open(numbers[step.connection])
        elif step.do in {"send", "poll"}:
            talk.frames(*(frame_bytes(frame, _Names()) for frame in step.values["frames"]), connection=numbers[step.connection])
        elif step.do == "close":
            talk.end(numbers[step.connection])
        if step.do in {"receive", "poll"} and "frames" in step.values["got"]:
            frames = [_literal(frame) for frame in step.values["got"]["frames"]]
            talk.frames(*frames, side="server", connection=numbers[step.connection])
    return talk.events


def _literal(frame):
    if isinstance(frame, dict) and "length" in frame:
        return b"\xc6" + (frame["length"] - 5).to_bytes(4, "big") + bytes(frame["length"] - 5)
    return frame_bytes(frame, _Names())
