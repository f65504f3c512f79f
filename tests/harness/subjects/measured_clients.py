"""Clients for ``lmconform bench``: slow ones, and some that are wrong."""

import socket
import threading
import time

from harness.client import UnsupportedError
from harness.reference.lm import LmConnection, ReferenceClient


class SleepsInGet(ReferenceClient):
    """Rests before each GET."""

    def get(self, **members):
        time.sleep(0.02)
        return super().get(**members)


class ByteByByteConnection(LmConnection):
    """Reads one byte at a time."""

    def receive(self, size):
        assert isinstance(self._socket, socket.socket)
        return b"".join(self._socket.recv(1) for _ in range(size))


class ByteByByte(ReferenceClient):
    """Reads everything so."""

    connection_class = ByteByByteConnection


class FlipsAByte(ReferenceClient):
    """Of each value, in its middle."""

    def get(self, **members):
        found = super().get(**members)
        payload = bytearray(found["payload"])
        payload[len(payload) // 2] ^= 1
        return {**found, "payload": bytes(payload)}


class KeepsValues(ReferenceClient):
    """Answers a GET with what it loaded under that key before."""

    kept = None

    def get(self, **members):
        self.kept = self.kept or super().get(**members)
        return self.kept


class StoresZeros(ReferenceClient):
    """Stores as many zeros."""

    def put(self, *, payload, **members):
        return super().put(payload=bytes(len(payload)), **members)


class SwallowsPut(ReferenceClient):
    """Sends nothing, and does not have EXIST."""

    def hello(self, **members):
        found = super().hello(**members)
        return {**found, "operations": [name for name in found["operations"] if name != "exist"]}

    def put(self, **_):
        return {}


class HasEverything(ReferenceClient):
    """Says that each key is there."""

    def exist(self, **_):
        return {"exists": True}


class SwapsKeys(ReferenceClient):
    """The first two keys of a prompt change places."""

    def chunk_keys(self, **members):
        chunks = super().chunk_keys(**members)["chunks"]
        chunks[0]["key"], chunks[1]["key"] = chunks[1]["key"], chunks[0]["key"]
        return {"chunks": chunks}


class HangsInGet(ReferenceClient):
    """Never comes back from it."""

    def get(self, **_):
        threading.Event().wait()


class DiesInPut(ReferenceClient):
    """Takes its process along."""

    def put(self, **_):
        raise SystemExit(3)


class GetsAlone(ReferenceClient):
    """Has one operation, and declines keys when asked."""

    def hello(self, **members):
        return {**super().hello(**members), "operations": ["connect", "get", "chunk_keys", "close"], "releases": ["0.5.5"]}

    def chunk_keys(self, **_):
        raise UnsupportedError("no hash function today")


class NeedsMemory(ReferenceClient):
    """Holds 64 MiB while it asks whether a key is there, and no longer."""

    def exist(self, **members):
        held = b"x" * (64 << 20)
        found = super().exist(**members)
        del held
        return found
