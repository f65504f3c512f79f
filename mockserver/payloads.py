"""Payloads as a journal remembers them: length and digest always, the bytes while they are small."""

from __future__ import annotations

import hashlib
import threading

from mockserver.buffers import Buffer


class SeenPayload:
    """Bytes that a client sent.

    The digest is made when somebody asks for it, so that no exchange waits for it. Until then the bytes are held (they are
    the very buffer that the store holds); afterwards only those of payloads up to the journal's limit are.
    """

    __slots__ = ("_data", "_digest", "_keep", "_lock", "length")

    def __init__(self, data: Buffer, *, keep: bool) -> None:
        self.length = len(data)
        self._data: Buffer | None = data
        self._keep = keep
        self._digest: str | None = None
        self._lock = threading.Lock()

    @property
    def sha256(self) -> str | None:
        """The hex digest; None only in a journal that makes none (``digest_payloads=False``)."""
        with self._lock:
            if self._digest is None and self._data is not None:
                self._digest = hashlib.sha256(self._data).hexdigest()
                if not self._keep:
                    self._data = None
            return self._digest

    @property
    def data(self) -> bytes | None:
        """A copy of the bytes, or None where they are above the journal's limit or were let go."""
        with self._lock:
            return bytes(self._data) if self._keep and self._data is not None else None

    def release(self, *, digest: bool) -> None:
        """Let the bytes go, after making the digest if it is wanted."""
        if digest:
            _ = self.sha256
        with self._lock:
            self._data = None
