"""The floor: a client that speaks the wire with the fewest steps that Python allows, and believes what it reads.

It is served in a process of its own as any client in Python is, so that it waits, wakes and is timed as they are.
"""

from __future__ import annotations

import platform
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.client import MissError
from harness.reference.values import hash_from_json, key_from_json
from wire.chunks import chunk_hashes
from wire.keys import CacheKey, format_key
from wire.lm.frames import NOTHING, Description, Reply, Request, decode_reply, encode_request
from wire.lm.profile import lm_profile
from wire.release import KNOWN_RELEASES, Release

PLACE: Final = "harness.bench.plain:PlainClient"
_TOGETHER: Final = 64 << 10
"""Bytes of a value that is worth copying behind its header, so that both leave in one call."""


class PlainConnection:
    """A socket and a release."""

    def __init__(self, host: str, port: int, release: Release, timeout: float) -> None:
        self._release = release
        self._profile = lm_profile(release)
        self._socket = socket.create_connection((host, port), timeout=timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # With a timeout of its own Python would ask before each read whether there is something, and never wait for all of it.
        self._socket.settimeout(None)
        bound = struct.pack("ll", int(timeout), int(timeout % 1 * 1e6))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, bound)

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def put(self, key: Mapping[str, Any], about: Description, payload: bytes) -> None:
        """Hand a value to the system."""
        header = self._request("PUT", key, about)
        if len(payload) <= _TOGETHER:
            self._socket.sendall(header + payload)
        else:
            self._socket.sendall(header)
            self._socket.sendall(payload)

    def get(self, key: Mapping[str, Any]) -> tuple[Description, bytes] | None:
        """Load a value."""
        self._socket.sendall(self._request("GET", key))
        reply = self._reply()
        return (reply.about, self._read(reply.about.length)) if reply.code == "SUCCESS" else None

    def exist(self, key: Mapping[str, Any]) -> bool:
        """Whether a key is there."""
        self._socket.sendall(self._request("EXIST", key))
        return self._reply().code == "SUCCESS"

    def _request(self, command: str, key: Mapping[str, Any], about: Description = NOTHING) -> bytes:
        return encode_request(self._profile, Request(command, format_key(self._release, key_from_json(key)), about))

    def _reply(self) -> Reply:
        return decode_reply(self._profile, self._read(self._profile.header.reply_size))

    def _read(self, size: int) -> bytes:
        found = self._socket.recv(size, socket.MSG_WAITALL)
        while len(found) < size:
            more = self._socket.recv(size - len(found), socket.MSG_WAITALL)
            if not more:
                raise ConnectionError("the server closed the connection")
            found += more
        return found


class PlainClient:
    """That as a client."""

    def __init__(self) -> None:
        self._open: dict[str, PlainConnection] = {}

    def hello(self, **_: Any) -> Mapping[str, Any]:
        """What it can do."""
        return {
            "name": "the floor of lmconform bench",
            "version": "1",
            "language": f"Python {platform.python_version()}",
            "operations": ["connect", "put", "get", "exist", "close", "chunk_keys"],
            "releases": list(KNOWN_RELEASES),
        }

    def state(self, **_: Any) -> Mapping[str, Any]:
        """What it holds."""
        return {"connections": len(self._open)}

    def connect(self, *, connection: str, host: str, port: int, release: str, timeout_ms: int, **_: Any) -> Mapping[str, Any]:
        """Open a connection."""
        self._open[connection] = PlainConnection(host, port, Release.parse(release), timeout_ms / 1000)
        return {}

    def close(self, *, connection: str, **_: Any) -> Mapping[str, Any]:
        """Close it."""
        self._open.pop(connection).close()
        return {}

    def put(self, *, connection: str, key: Mapping[str, Any], payload: bytes, **about: Any) -> Mapping[str, Any]:
        """Store."""
        described = Description(len(payload), about["format"], about["dtype"], tuple(about["shape"]))
        self._open[connection].put(key, described, payload)
        return {}

    def get(self, *, connection: str, key: Mapping[str, Any], **_: Any) -> Mapping[str, Any]:
        """Load."""
        found = self._open[connection].get(key)
        if found is None:
            raise MissError
        about, payload = found
        return {"payload": payload, "format": about.format, "dtype": about.dtype, "shape": list(about.shape)}

    def exist(self, *, connection: str, key: Mapping[str, Any], **_: Any) -> Mapping[str, Any]:
        """Ask."""
        return {"exists": self._open[connection].exist(key)}

    def chunk_keys(
        self, *, release: str, tokens: Sequence[int], algorithm: str, none_hash: Mapping[str, str], chunk_size: int, **about: Any
    ) -> Mapping[str, Any]:
        """The keys of whole chunks, as the module ``wire`` makes them."""
        known = Release.parse(release)
        identity = CacheKey(about["model"], about["world_size"], about["worker_id"], 0, about["dtype"], about["fmt"])
        start = hash_from_json(none_hash)
        chunks = chunk_hashes(known, tokens, chunk_size=chunk_size, algorithm=algorithm, none_hash=start, save_unfull_chunk=False)
        return {
            "chunks": [
                {"start": one.start, "end": one.end, "key": format_key(known, replace(identity, chunk_hash=one.chunk_hash))}
                for one in chunks
            ]
        }
