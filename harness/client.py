"""The client interface: what the harness asks of an implementation under test.

``docs/reference/client-protocol.md`` is the contract; this module is its Python form. An in-process client is a class
with a method per operation it has (see :class:`Client`); an out-of-process one speaks the same over JSON Lines. In
Python, ``bytes`` values are real ``bytes``; everything else is the JSON value of the contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Protocol

PROTOCOL_VERSION: Final = 1
ErrorClass = Literal["refused", "protocol", "connection", "timeout", "internal"]
ERROR_CLASSES: Final[tuple[ErrorClass, ...]] = ("refused", "protocol", "connection", "timeout", "internal")

ALWAYS: Final = ("hello", "state", "bye")
PURE: Final = (
    "encode_request",
    "decode_request",
    "encode_reply",
    "decode_reply",
    "encode_metadata",
    "decode_metadata",
    "format_key",
    "parse_key",
    "chunk_keys",
    "deployment_keys",
    "token_hashes",
    "pack_layout",
    "unpack_layout",
)
CONNECTED: Final = ("connect", "put", "get", "exist", "health", "list", "close")
MP_PURE: Final = (
    "mp_encode_request",
    "mp_decode_request",
    "mp_encode_reply",
    "mp_decode_reply",
    "mp_object_keys",
    "mp_encode_registration",
)
MP_CONNECTED: Final = (
    "mp_noop",
    "mp_ping",
    "mp_chunk_size",
    "mp_register",
    "mp_unregister",
    "mp_store",
    "mp_lookup",
    "mp_retrieve",
    "mp_free_locks",
    "mp_end_session",
    "mp_clear",
)
"""On connections of protocol ``mp``, which ``connect`` opens and ``close`` closes."""
LM_OPERATIONS: Final = (*PURE, *CONNECTED)
MP_OPERATIONS: Final = (*MP_PURE, "connect", *MP_CONNECTED, "close")
OPERATIONS: Final = (*LM_OPERATIONS, *MP_PURE, *MP_CONNECTED)
"""Operations that a client may declare in ``hello``."""
MAY_MISS: Final = ("get", "mp_retrieve")
"""Operations that may be answered by a miss."""
CONCURRENT: Final = "concurrent"
"""What a case needs besides operations where it has several requests under way at once."""
IN_FLIGHT: Final = 64
"""The most requests that a client which declares ``concurrent`` is sent before it answers."""


class Client(Protocol):
    """An in-process client: ``hello`` and a method named after each operation that it declares.

    Each method takes the members of ``args`` as keyword arguments and returns the members of ``ok``. It raises
    :class:`MissError` for a miss, :class:`UnsupportedError`, or :class:`ClientError`; any other exception counts as an
    error of class ``internal``. Unknown keyword arguments must be accepted and ignored.
    """

    def hello(self, *, protocol: int, scratch: str, **_: Any) -> Mapping[str, Any]:
        """Name, version, language, operations and releases of the client."""


class MissError(Exception):
    """A ``get`` found nothing that matches what was expected, or an ``mp_retrieve`` found not all of its chunks."""


class UnsupportedError(Exception):
    """The client does not implement the operation; the message says why."""


class ClientError(Exception):
    """An operation failed; ``kind`` is one of the error classes of the contract."""

    def __init__(self, kind: ErrorClass, message: str) -> None:
        super().__init__(message)
        self.kind: ErrorClass = kind


@dataclass(frozen=True)
class Ok:
    """A result: the members of ``ok``, bytes decoded."""

    values: Mapping[str, Any]
    took_ns: int | None = field(default=None, compare=False, repr=False)
    """Nanoseconds that the client itself took, without adapter and pipe; None where nobody says."""


@dataclass(frozen=True)
class Miss:
    """The answer of a ``get`` or an ``mp_retrieve`` that found nothing."""


@dataclass(frozen=True)
class Unsupported:
    """The client says that it does not implement this."""

    reason: str


@dataclass(frozen=True)
class Error:
    """The client says that the operation failed."""

    kind: ErrorClass
    message: str


Answer = Ok | Miss | Unsupported | Error


@dataclass(frozen=True)
class Description:
    """What a client said of itself in ``hello``."""

    name: str
    version: str
    language: str
    operations: Sequence[str]
    releases: Sequence[str]
    issues: str | None = None
    concurrent: bool = False
    protocol: int = PROTOCOL_VERSION
    """The version of the contract that it will speak, at most the one that it was asked for."""


class ClientFailure(Exception):
    """The client did not answer as the contract demands; ``stderr`` is the end of what it wrote there."""

    def __init__(self, message: str, *, stderr: str = "") -> None:
        super().__init__(message)
        self.stderr = stderr
        self.at_start = False
        """The client failed when it was started again, whatever it was to be asked."""


class ClientHang(ClientFailure):
    """No answer before the deadline."""


class ClientCrash(ClientFailure):
    """The client's process ended; the message names the exit status or signal."""


class ClientTooLarge(ClientFailure):
    """The client used more memory than it may, and was killed."""


class AdapterFault(ClientFailure):
    """The adapter broke the contract: a line that is no JSON, does not fit the schema, or answers another request."""


class HelloDeclined(AdapterFault):
    """The client declined ``hello``: it does not speak the protocol that was asked for, if anything."""

    def __init__(self, message: str, answer: Answer, *, stderr: str = "") -> None:
        super().__init__(message, stderr=stderr)
        self.answer = answer


class ClientUnavailable(ClientFailure):
    """The client could not be started at all: the specification is wrong or the command is missing."""


@dataclass(frozen=True)
class Call:
    """One operation to be asked for, beside others."""

    op: str
    args: Mapping[str, Any]

    @classmethod
    def of(cls, op: str, **args: Any) -> Call:
        """``Call.of("exist", connection=..., key=...)``."""
        return cls(op, args)


class NotAsked(ClientFailure):
    """The client failed so often before that it was not asked again; ``after`` is what it did."""

    def __init__(self, message: str, *, operation: str | None, after: type[ClientFailure]) -> None:
        super().__init__(message)
        self.operation = operation
        self.after = after


class Session(Protocol):
    """A running client, whatever the transport. Calls are made from one thread at a time."""

    description: Description
    has_process: ClassVar[bool]
    """The client runs in a process of its own, which ``bye`` ends."""
    exit_status: int | None
    """What that process ended with; None while it runs, when it had to be killed, or without process."""

    def call(self, op: str, args: Mapping[str, Any], *, deadline: float) -> Answer:
        """One operation; ``deadline`` in seconds.

        Raises:
            ClientHang, ClientCrash, ClientTooLarge, AdapterFault: after which the next call starts a fresh client.
            NotAsked: the client failed at this operation too often before.
        """

    def require(self, operations: Iterable[str]) -> None:
        """Find out before a case begins whether all of its operations may still be asked for.

        Raises:
            NotAsked: one of them failed too often before.
        """

    def call_all(self, calls: Sequence[Call], *, deadline: float) -> Sequence[Answer]:
        """Several operations under way at once, up to :data:`IN_FLIGHT`; the answers in the order of the calls.

        A client that does not declare ``concurrent`` is asked for one after the other. ``deadline`` holds for all together.

        Raises:
            ClientHang, ClientCrash, ClientTooLarge, AdapterFault, NotAsked: as :meth:`call`; the message names the operations
                that have no answer.
        """

    @property
    def stderr(self) -> str:
        """The end of what the client wrote to standard error since :meth:`mark`."""

    def mark(self) -> None:
        """Begin a new stretch of standard error."""

    def stop(self) -> None:
        """End the client; never raises, never waits longer than a few seconds."""


@dataclass
class Budget:
    """Limits of one client: times in seconds, memory in bytes; None is as much as it likes."""

    start: float = 30.0
    call: float = 15.0
    stop: float = 3.0
    memory: int | None = None
