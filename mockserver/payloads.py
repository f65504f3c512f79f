"""Payloads as a journal remembers them: their length always, the bytes while they are held, a digest when somebody asks."""

from __future__ import annotations

import hashlib

from mockserver.buffers import Buffer


class PayloadGoneError(LookupError):
    """A digest was asked for of a payload whose bytes the journal has let go."""


class SeenPayload:
    """Bytes that a client sent.

    The digest is made when somebody asks for it, so that no exchange waits for it. Until then the bytes are held (they are
    the very buffer that the store holds); afterwards only those of payloads up to the journal's limit are. Safe from any
    thread without a lock: two threads that ask at once may both do the work.
    """

    __slots__ = ("_data", "_digest", "_gone", "_keep", "length")

    def __init__(self, data: Buffer, *, keep: bool) -> None:
        self.length = len(data)
        self._data: Buffer | None = data
        self._keep = keep
        self._digest: str | None = None
        self._gone = False

    @property
    def sha256(self) -> str | None:
        """The hex digest; None in a journal that makes none (``keep_payloads=False``).

        Raises:
            PayloadGoneError: the journal let the bytes go before anybody asked.
        """
        data = self._data
        if self._digest is None and data is not None:
            self._digest = hashlib.sha256(data).hexdigest()
            if not self._keep:
                self._data = None
        if self._digest is None and self._gone:
            raise PayloadGoneError(
                f"the journal has let go of this payload of {self.length} bytes, and nobody had asked for its digest; "
                "ask while it is among the newest, give the journal a larger retain_bytes, or make it with digest_all=True"
            )
        return self._digest

    @property
    def data(self) -> bytes | None:
        """A copy of the bytes, or None where they are above the journal's limit or were let go."""
        data = self._data
        return bytes(data) if self._keep and data is not None else None

    def release(self, *, digest: bool) -> None:
        """Let the bytes go because there are too many of them, after making the digest if it is wanted."""
        if digest:
            _ = self.sha256
        self._gone = True
        self._data = None

    def without_bytes(self) -> SeenPayload:
        """It with its length alone, for a journal that keeps nothing else."""
        self._data = None
        return self
