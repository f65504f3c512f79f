"""The reference client of the ``lm://`` wire."""

from __future__ import annotations

import platform
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from harness.client import LM_OPERATIONS, PROTOCOL_VERSION, ClientError, MissError, UnsupportedError
from harness.reference.codec import Codec
from harness.reference.connection import BODY_LIMIT, Connection
from harness.reference.deployments import DeploymentOperations
from harness.reference.frames import FrameOperations
from harness.reference.keys import KeyOperations
from harness.reference.layouts import LayoutOperations
from harness.reference.state import process_state
from harness.reference.values import key_text, release_of, wire_errors
from wire.keys import any_key
from wire.lm.enums import number_of
from wire.lm.frames import NOTHING, Description, Reply, Request
from wire.lm.profile import lm_profile
from wire.release import KNOWN_RELEASES, Release

Answer = dict[str, Any]

_LIST_LIMIT: Final = 16 * 1024 * 1024


class LmConnection(Connection):
    """A connection that speaks the frames of one release."""

    def __init__(self, host: str, port: int, timeout: float, release: Release, codec: Codec) -> None:
        super().__init__(host, port, timeout)
        self.codec = codec
        self.release = release
        self.profile = lm_profile(release)

    def request(self, command: str, key: str, about: Description = NOTHING) -> bytes:
        """A request header."""
        with wire_errors():
            return self.codec.encode_request(self.profile, Request(command, key, about))

    def reply(self) -> Reply:
        """Read a reply header; its length is not negative."""
        header = self.receive(self.profile.header.reply_size)
        with wire_errors():
            reply = self.codec.decode_reply(self.profile, header)
        if reply.about.length < 0:
            raise ClientError("refused", f"the reply announces {reply.about.length} bytes")
        return reply

    def bare_reply(self) -> bool:
        """Read a reply that has no body: whether it says success."""
        reply = self.reply()
        if reply.about.length:
            raise ClientError("protocol", f"a reply without a body announces {reply.about.length} bytes")
        return reply.code == "SUCCESS"


class ReferenceClient(FrameOperations, KeyOperations, DeploymentOperations, LayoutOperations):
    """All operations of the contract, for every known release, from any number of threads."""

    name: ClassVar[str] = "lmconform reference client"
    connection_class: ClassVar[type[LmConnection]] = LmConnection

    def __init__(self) -> None:
        self._connections: dict[str, LmConnection] = {}
        self._naming = threading.Lock()

    def hello(self, *, protocol: int, **_: Any) -> Answer:
        """Who this is and what it can do."""
        if protocol != PROTOCOL_VERSION:
            raise ClientError("refused", f"protocol {protocol} is not spoken here, only {PROTOCOL_VERSION}")
        return {
            "name": self.name,
            "version": "1",
            "language": f"Python {platform.python_version()}",
            "operations": list(LM_OPERATIONS),
            "releases": list(KNOWN_RELEASES),
            "concurrent": True,
        }

    def state(self, **_: Any) -> Answer:
        """What this process holds."""
        held = sum(connection.is_open for connection in list(self._connections.values()))
        return {"connections": held, **process_state()}

    def bye(self, **_: Any) -> Answer:
        """Close everything."""
        for connection in list(self._connections.values()):
            connection.close()
        return {}

    def connect(self, *, connection: str, protocol: str, host: str, port: int, release: str, timeout_ms: int, **_: Any) -> Answer:
        """Open a connection under a name that is free."""
        if protocol != "lm":
            raise UnsupportedError(f"protocol {protocol!r}; only lm")
        known = release_of(release)
        self._refuse_taken(connection)
        opened = self.connection_class(host, port, timeout_ms / 1000, known, self.codec)
        with self._naming:
            try:
                self._refuse_taken(connection)
            except ClientError:
                opened.close()
                raise
            self._connections[connection] = opened
        return {}

    def put(
        self,
        *,
        connection: str,
        key: Mapping[str, Any],
        format: str,  # noqa: A002  # the name of the contract
        dtype: str | None,
        shape: Sequence[int],
        location: str | None,
        payload: bytes,
        **_: Any,
    ) -> Answer:
        """Send header and payload; there is no reply."""
        link = self._connection(connection)
        about = Description(len(payload), format, dtype, tuple(shape), location)
        header = link.request("PUT", self._key(link, key), about)
        with link.exchange():
            link.send(header, payload)
        return {}

    def get(self, *, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any], **_: Any) -> Answer:
        """Fetch a value if it is what the caller expects; nothing is allocated for anything else."""
        link = self._connection(connection)
        header = link.request("GET", self._key(link, key))
        size = self._expected_size(link, expect)
        with link.exchange():
            link.send(header)
            reply = link.reply()
            if reply.code == "SUCCESS":
                self._check_expected(link, reply.about, expect, size)
                payload = link.receive(size)
            elif reply.about.length:
                raise ClientError("protocol", f"a miss announces {reply.about.length} bytes")
        if reply.code != "SUCCESS":
            raise MissError
        about = reply.about
        return {"payload": payload, "format": about.format, "dtype": about.dtype, "shape": list(about.shape)}

    def exist(self, *, connection: str, key: Mapping[str, Any], **_: Any) -> Answer:
        """Whether the server has a key."""
        link = self._connection(connection)
        header = link.request("EXIST", self._key(link, key))
        with link.exchange():
            link.send(header)
            return {"exists": link.bare_reply()}

    def health(self, *, connection: str, **_: Any) -> Answer:
        """Whether the server is well; the request carries a key that servers can parse, because they do parse it."""
        link = self._connection(connection)
        header = link.request("HEALTH", any_key(link.release))
        with link.exchange():
            link.send(header)
            return {"healthy": link.bare_reply()}

    def list(self, *, connection: str, **_: Any) -> Answer:
        """The keys of the server, one a line; real servers never answer."""
        link = self._connection(connection)
        header = link.request("LIST", any_key(link.release))
        with link.exchange():
            link.send(header)
            reply = link.reply()
            if reply.about.length > _LIST_LIMIT:
                raise ClientError("refused", f"a list of {reply.about.length} bytes; the limit is {_LIST_LIMIT}")
            body = link.receive(reply.about.length)
            if reply.code != "SUCCESS":
                raise ClientError("protocol", "the server failed to list its keys")
            try:
                return {"keys": [line for line in body.decode().split("\n") if line]}
            except UnicodeDecodeError as error:
                raise ClientError("protocol", f"the list is not UTF-8: {error}") from error

    def close(self, *, connection: str, **_: Any) -> Answer:
        """Close a connection; closing it twice, or one that never was, is harmless."""
        known = self._connections.pop(connection, None)
        if known is not None:
            known.close()
        return {}

    def _refuse_taken(self, name: str) -> None:
        known = self._connections.get(name)
        if known is not None and known.is_open:
            raise ClientError("refused", f"a connection {name!r} is open already")

    def _connection(self, name: str) -> LmConnection:
        try:
            return self._connections[name]
        except KeyError:
            raise ClientError("connection", f"there is no connection {name!r}") from None

    def _key(self, link: LmConnection, key: Mapping[str, Any]) -> str:
        with wire_errors():
            return key_text(self.codec, link.release, key)

    def _expected_size(self, link: LmConnection, expect: Mapping[str, Any]) -> int:
        """Bytes that the caller's expectation amounts to."""
        shape = expect["shape"]
        with wire_errors():
            number_of("format", expect["format"])
            number_of("dtype", expect["dtype"])
            self.codec.four_dimensions(link.profile, tuple(shape))
        size = self.codec.size_of(Description(0, expect["format"], expect["dtype"], tuple(shape)))
        if min(shape, default=0) < 0 or size > BODY_LIMIT:
            raise ClientError("refused", f"{expect['dtype']} of shape {list(shape)} cannot be the body of a reply")
        return size

    def _check_expected(self, link: LmConnection, about: Description, expect: Mapping[str, Any], size: int) -> None:
        """Refuse a reply that is not what the caller expects."""
        expected_shape = self.codec.four_dimensions(link.profile, tuple(expect["shape"]))
        for member, expected, got in (
            ("format", expect["format"], about.format),
            ("dtype", expect["dtype"], about.dtype),
            ("shape", expected_shape, self.codec.four_dimensions(link.profile, about.shape)),
            ("length", size, about.length),
        ):
            if got != expected:
                raise ClientError("refused", f"the reply has {member} {got}, expected {expected}")
