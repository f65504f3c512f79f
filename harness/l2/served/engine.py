"""What stands in for an inference engine before a server with a storage plugin: it stores, looks up and loads chunks."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from dataclasses import dataclass, field
from typing import Any, Final

from harness.client import ClientError, MissError
from harness.mp.keys import MpKeys
from harness.mp.targets import CHUNK_SIZE
from harness.per_process import PerProcess
from harness.reference.mp.client import ReferenceMpClient
from wire.release import Release

TIMEOUT: Final = 5.0
"""Seconds within which a server has to answer, and a lookup to end."""
_instances: Final = PerProcess(lambda: itertools.count(uuid.uuid4().int & 0x3FFFFFF0))


@dataclass(frozen=True)
class Prompt:
    """Tokens of whole chunks, and whose they are."""

    tokens: tuple[int, ...]
    salt: str = ""

    @property
    def chunks(self) -> int:
        """How many whole chunks it has."""
        return len(self.tokens) // CHUNK_SIZE

    def cut(self, chunks: int) -> Prompt:
        """Its first chunks alone."""
        return Prompt(self.tokens[: chunks * CHUNK_SIZE], self.salt)

    def of(self, salt: str) -> Prompt:
        """The same tokens, of somebody else."""
        return Prompt(self.tokens, salt)


_prompts: Final = itertools.count(1)


def prompt(chunks: int, salt: str = "") -> Prompt:
    """Tokens that no other prompt of this process has, from the first chunk on."""
    number = next(_prompts)
    return Prompt(tuple(number * 100_000 + index for index in range(chunks * CHUNK_SIZE)), salt)


def contents(wanted: Prompt, size: int) -> list[bytes]:
    """For each chunk of a prompt bytes that nothing else has."""
    names = [f"{wanted.salt}/{first}" for first in wanted.tokens[::CHUNK_SIZE]]
    return [hashlib.shake_128(name.encode()).digest(size) for name in names]


@dataclass(frozen=True)
class Found:
    """What became of a lookup and the load behind it."""

    hits: int | None
    """Chunks from the first on; None where the lookup did not end in time."""
    data: list[bytes] | None = None
    """The bytes of the chunks that were found; None where nothing was, or the load missed."""


@dataclass
class Engine:
    """A model that was registered over a connection of its own."""

    release: Release
    host: str
    port: int
    timeout: float = TIMEOUT
    chunk_bytes: int = 1024
    """A multiple of 128: 2 halves, 1 layer, 16 tokens, 2 bytes an element."""
    keys: MpKeys = field(init=False)
    _client: ReferenceMpClient = field(default_factory=ReferenceMpClient, init=False)
    _instance: int = field(default_factory=lambda: next(_instances.value), init=False)

    def __post_init__(self) -> None:
        self.keys = MpKeys(self.release)
        self.connect()

    @property
    def model(self) -> str:
        """The name under which it stores."""
        return self.keys.model

    def connect(self) -> None:
        """Connect and register, once more where the server was started again.

        Raises:
            ClientError: the server does not answer.
        """
        self._client.close(connection="")
        text, timeout = str(self.release), int(self.timeout * 1000)
        self._client.connect(connection="", protocol="mp", host=self.host, port=self.port, release=text, timeout_ms=timeout)
        context = self.keys.context(num_layers=1, hidden_dim_size=self.chunk_bytes // 64)
        self._client.mp_register(connection="", instance_id=self._instance, context=context)

    def close(self) -> None:
        """Disconnect."""
        self._client.bye()

    def alive(self) -> bool:
        """Whether the server answers NOOP in time."""
        try:
            self._client.mp_noop(connection="")
        except ClientError:
            return False
        return True

    def contents(self, wanted: Prompt) -> list[bytes]:
        """The bytes of the chunks of a prompt: always the same, different for each chunk, and for each salt."""
        return contents(wanted, self.chunk_bytes)

    def store(self, wanted: Prompt) -> bool | None:
        """Store a prompt's chunks; whether the server says that it did, None where it does not answer in time."""
        key = self._key(wanted)
        try:
            answer = self._client.mp_store(connection="", instance_id=self._instance, key=key, chunks=self.contents(wanted))
        except ClientError:
            return None
        finally:
            self._end(key)
        return bool(answer["stored"])

    def look_up(self, wanted: Prompt) -> int | None:
        """How many chunks from the first on the server has, or None where it does not say in time; no lock is kept."""
        key = self._key(wanted)
        try:
            hits = int(self._client.mp_lookup(connection="", key=key, tp_size=1)["hits"])
            if hits:
                self._client.mp_free_locks(connection="", key=self._part(key, hits), tp_size=1)
        except ClientError:
            return None
        finally:
            self._end(key)
        return hits

    def load(self, wanted: Prompt) -> Found:
        """Look a prompt up, and load what was found."""
        key = self._key(wanted)
        try:
            hits = int(self._client.mp_lookup(connection="", key=key, tp_size=1)["hits"])
        except ClientError:
            self._end(key)
            return Found(None)
        if not hits:
            self._end(key)
            return Found(0)
        try:
            part = self._part(key, hits)
            answer = self._client.mp_retrieve(connection="", instance_id=self._instance, key=part)
        except (ClientError, MissError):
            return Found(hits)
        finally:
            self._end(key)
        return Found(hits, list(answer["chunks"]))

    def clear(self) -> None:
        """Empty the first tier, locks or not; no release clears a second tier by this.

        Raises:
            ClientError: the server does not answer.
        """
        self._client.mp_clear(connection="", force=True)

    def _end(self, key: dict[str, Any]) -> None:
        try:
            self._client.mp_end_session(connection="", request_id=key["request_id"])
        except ClientError:
            return

    def _key(self, wanted: Prompt) -> dict[str, Any]:
        return self.keys(
            tokens=list(wanted.tokens), end=len(wanted.tokens), cache_salt=wanted.salt, request_id=self.keys.request_id()
        )

    @staticmethod
    def _part(key: dict[str, Any], chunks: int) -> dict[str, Any]:
        return {**key, "end": chunks * CHUNK_SIZE}
