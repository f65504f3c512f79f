"""What an act of a hostile peer is given: connections that are closed in any case, frames with senseless numbers, two keys."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Self

from harness.failure import PeerFailed
from harness.peers import Key, Peer
from harness.reference.values import key_from_json
from harness.stamped import Stamp
from harness.targets import Server
from harness.values import Keys
from wire.keys import format_key
from wire.lm.frames import Description, Request, encode_request, replace_field
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release

BIG: Final = 12 << 20
"""Bytes of a value that no socket takes as a whole while its reader does not read."""
PAYLOAD: Final = 9000
"""Bytes of a payload that is cut somewhere."""


@dataclass
class Attack:
    """One act under way. ``older`` is a key with a value, ``fresh`` one without; neither is anybody else's."""

    release: Release
    server: Server
    keys: Keys
    suspects: list[Peer] = field(default_factory=list)
    """Connections that a good server ends because of what was sent there."""
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        with self._peer() as first:
            first.put(self.older, self.older_value)
            if first.get(self.older) != self.older_value:
                raise PeerFailed("a value that was stored just now is not what a GET brings")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def profile(self) -> LmProfile:
        """The wire of the release."""
        return lm_profile(self.release)

    @cached_property
    def older(self) -> Key:
        """A key with a value."""
        return self.keys(hash=0xA00)

    @cached_property
    def fresh(self) -> Key:
        """A key without a value."""
        return self.keys(hash=0xB00)

    @cached_property
    def big(self) -> Key:
        """A key with a value of :data:`BIG` bytes, which is stored when it is first asked for."""
        found = self.keys(hash=0xC00)
        with self._peer() as first:
            first.put(found, bytes(BIG))
            if not first.exist(found):
                raise PeerFailed(f"a value of {BIG} bytes that was stored just now is not there")
        return found

    @cached_property
    def older_value(self) -> bytes:
        """The value of ``older``."""
        return Stamp(5, 5, 5).payload(3000)

    @property
    def targets(self) -> tuple[Key, Key]:
        """The keys that acts aim at: nothing may change the value of the first, or give the second one."""
        return self.older, self.fresh

    def peer(self) -> Peer:
        """A connection, which is closed when the act is over."""
        return self._stack.enter_context(self._peer())

    def peers(self, count: int) -> list[Peer]:
        """Several of them."""
        return [self.peer() for _ in range(count)]

    def suspect(self, data: bytes) -> Peer:
        """A connection that sends what a good server answers with the end of the connection."""
        peer = self.peer()
        peer.send(data)
        self.suspects.append(peer)
        return peer

    def header(self, operation: str, key: Key, **numbers: int) -> bytes:
        """A request header with fields overwritten; a PUT says that :data:`PAYLOAD` bytes follow."""
        length = PAYLOAD if operation == "PUT" else 0
        about = Description(length, "BINARY", "uint8", (length, 0, 0, 0))
        header = encode_request(self.profile, Request(operation, format_key(self.release, key_from_json(key)), about))
        for name, value in numbers.items():
            header = replace_field(self.profile.header.request, header, name, value)
        return header

    def put(self, key: Key, **numbers: int) -> bytes:
        """A PUT with its payload, and fields of its header overwritten."""
        return self.header("PUT", key, **numbers) + Stamp(6, 6, 6).payload(PAYLOAD)

    def with_key(self, operation: str, raw: bytes) -> bytes:
        """A request header whose key field begins with these bytes."""
        return self.header(operation, self.fresh)[:-KEY_FIELD_SIZE] + raw[:KEY_FIELD_SIZE].ljust(KEY_FIELD_SIZE)

    def _peer(self) -> Peer:
        return Peer(self.release, self.server)


@contextlib.contextmanager
def attack(release: Release, server: Server, keys: Keys) -> Iterator[Attack]:
    """An act that can begin: its keys are as they should be, and nothing of it is left when the block has ended."""
    with Attack(release, server, keys) as found:
        yield found
