"""What a conversation consists of: requests with their payloads, and replies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wire.lm.enums import COMMANDS
from wire.lm.profile import KEY_FIELD_SIZE, HeaderLayout

_COMMANDS = {number: name for name, number in COMMANDS.items()}
_ANSWERED = frozenset({"GET", "EXIST", "HEALTH"})


@dataclass
class Payload:
    """What is known of the bytes behind a header."""

    length: int
    came: int = 0
    identity: tuple[str, str] | None = None
    """A digest and what it is of, once the payload is whole; those of equal payloads with equal kinds are equal."""

    @property
    def whole(self) -> bool:
        """Whether every byte that was announced came."""
        return self.came >= self.length


@dataclass
class Reply:
    """A reply header."""

    at: float
    offset: int
    """Of its first byte in the stream of the server."""
    header: bytes
    layout: HeaderLayout | None
    """None while it may be either."""
    numbers: dict[str, int]
    payload: Payload
    segments: int = 1
    """In how many the header came."""
    sure: bool = True
    """Its layout and what is its payload are beyond doubt."""
    ended_at: float | None = None
    """When the last byte of header and payload came."""

    @property
    def code(self) -> int:
        """The number of the code."""
        return self.numbers["code"]


@dataclass
class Exchange:
    """A request, and the reply to it if one came."""

    connection: int
    number: int
    """On the connection, from 1."""
    at: float
    """When the last byte of its header came."""
    offset: int
    """Of its first byte in the stream of the client."""
    header: bytes
    layout: HeaderLayout
    numbers: dict[str, int]
    payload: Payload
    reply: Reply | None = None
    ended_at: float | None = None
    """When the last byte of its payload came."""
    late: bool = False
    """It was told that no reply came."""
    findings: list[Any] = field(default_factory=list)

    @property
    def command(self) -> str:
        """Its name, or its number where it has none."""
        return _COMMANDS.get(self.numbers["command"], str(self.numbers["command"]))

    @property
    def key_field(self) -> bytes:
        """The 150 bytes of the key, padding included."""
        return self.header[-KEY_FIELD_SIZE:]

    @property
    def key(self) -> str:
        """The key without the spaces behind it; bytes that are not UTF-8 as backslash escapes."""
        return self.key_field.decode(errors="backslashreplace").rstrip(" ")

    @property
    def key_offset(self) -> int:
        """Of the key field in the header."""
        return len(self.header) - KEY_FIELD_SIZE

    @property
    def wants_reply(self) -> bool:
        """Whether a server answers it."""
        return self.command in _ANSWERED

    @property
    def name(self) -> str:
        """Such as ``request 3 (GET)``."""
        return f"request {self.number} ({self.command})"
