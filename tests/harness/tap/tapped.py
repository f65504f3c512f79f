"""Conversations for the tests of the tap: captured ones as events, made-up ones from a few words, and servers to stand before."""

import contextlib
import hashlib
import socket
import struct
import threading
import time
from dataclasses import dataclass

from fixturegen.corpus import load_corpus
from harness.tap.address import Address
from harness.tap.event import Event
from harness.tap.guess import Guess
from harness.tap.lm.listener import LmListener
from harness.tap.proxy import Proxy
from wire.release import Release

PATIENCE = 10
NEW, OLD = Release.parse("0.5.6"), Release.parse("0.3.1")
KEY = "m@1@0@7f@half"


@dataclass
class Heard:
    """What a listener made of a conversation."""

    findings: list
    client: Guess
    server: Guess

    @property
    def rules(self):
        return [finding.rule.name for finding in self.findings]

    def of(self, rule):
        return next(finding for finding in self.findings if finding.rule.name == rule)


def hear(events, profile=None, later=10.0):
    """Listen to events, and then to silence."""
    listener = LmListener(profile)
    findings = []
    last = 0.0
    for event in events:
        last = event.at
        findings += [*listener.tick(event.at), *listener.hear(event)]
        if event.do == "data":
            assert sum(piece.length for piece in listener.pieces()) == event.size
    findings += [*listener.tick(last + later), *listener.finish(last + later)]
    return Heard(findings, listener.guess("client"), listener.guess("server"))


def captured(release, name):
    """A captured conversation as the events of a tap before that server."""
    found = next(one for one in load_corpus(release).transcripts if one.id == f"lm.server.{name}")
    return events_of(found)


def events_of(transcript):
    """The events that a transcript stands for; answers of which only a digest is known are left out."""
    numbers, half_closed, events, at = {}, set(), [], 0.0
    for step in transcript.steps:
        at += 0.01
        if step.do == "connect":
            numbers[step.connection] = number = len(numbers) + 1
            events += [Event(at, number, "client", "open"), Event(at, number, "server", "open")]
            continue
        number = numbers[step.connection]
        if step.do == "send":
            data = step.payload()
            size = step.values.get("pieces") or len(data) or 1
            events += [Event(at, number, "client", "data", data[place : place + size]) for place in range(0, len(data), size)]
        elif step.do == "receive":
            data, closed = bytes.fromhex(step.values["got"].get("bytes", "")), step.values["got"]["closed"]
            if data:
                events.append(Event(at, number, "server", "data", data))
            if closed:
                events.append(Event(at, number, "server", "close" if number in half_closed else "half-close"))
            at += 6.0 if not data and not closed else 0.0
        elif step.do == "reset":
            events.append(Event(at, number, "client", "reset"))
        else:
            half_closed.add(number)
            events.append(Event(at, number, "client", "half-close"))
    return events


def request(command, key=KEY, *, length=0, fmt=1, dtype=2, location=0, shape=(0, 0, 0, 0), old=False):
    """A request header, packed by hand."""
    fields = (command, length, fmt, dtype, *(() if old else (location,)), *shape)
    raw = key if isinstance(key, bytes) else key.encode()
    return struct.pack(f"<{len(fields)}i", *fields) + raw.ljust(150)


def put(payload, key=KEY, **more):
    """A PUT of bytes."""
    return request(1, key, length=len(payload), **{"fmt": 4, "dtype": 6, "shape": (len(payload), 0, 0, 0), **more}) + payload


def reply(code=200, *, length=0, fmt=1, dtype=2, shape=(0, 0, 0, 0), location=0, old=False):
    """A reply header, packed by hand."""
    fields = (code, length, fmt, dtype, *shape, *(() if old else (location,)))
    return struct.pack(f"<{len(fields)}i", *fields)


def hit(payload):
    """A reply with a value."""
    return reply(length=len(payload), fmt=4, dtype=6, shape=(len(payload), 0, 0, 0)) + payload


def talk(*said, connection=1, at=1.0):
    """Events of one connection: ("client", bytes), ("server", bytes), ("client", "half-close") and so on, 10 ms apart."""
    events = [Event(at, connection, "client", "open", text="127.0.0.1:5"), Event(at, connection, "server", "open")]
    for side, what in said:
        at += 0.01
        do = "data" if isinstance(what, bytes) else what
        events.append(Event(at, connection, side, do, what if do == "data" else b""))
    return events


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Upstream:
    """A server of which a test says connection by connection what it does."""

    def __init__(self, serve):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._serve = serve
        self._threads = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def address(self):
        return Address("127.0.0.1", self._listener.getsockname()[1])

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.settimeout(PATIENCE)
                thread = threading.Thread(target=self._run, args=(connection,), daemon=True)
                thread.start()
                self._threads.append(thread)

    def _run(self, connection):
        with connection, contextlib.suppress(OSError):
            self._serve(connection)

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)


@contextlib.contextmanager
def upstream(serve):
    """A server that serves each connection with a function."""
    made = Upstream(serve)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def proxied(to):
    """A proxy before an address, and the list of its events."""
    events = []
    proxy = Proxy(Address("127.0.0.1", 0), to, events.append)
    proxy.start()
    try:
        yield proxy, events
    finally:
        proxy.stop()


def connect(address):
    made = socket.create_connection((address.host, address.port), timeout=PATIENCE)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def until(condition):
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def read_exactly(connection, size):
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        assert piece, f"the end after {len(data)} of {size} bytes"
        data += piece
    return bytes(data)


def read_all(connection):
    data = bytearray()
    while piece := connection.recv(1 << 16):
        data += piece
    return bytes(data)
