"""The server's shared memory, attached by a client that never removes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.client import ClientError

SHARED_FOLDER: Final = Path("/dev/shm")  # noqa: S108  # where Linux keeps shared memory by name


class Pool:
    """It is read and written as a file: mapped, memory that a server cuts off would end this process with a bus error.

    All places were checked before they come here.
    """

    def __init__(self, name: str, size: int) -> None:
        """Attach.

        Raises:
            ClientError: there is none of that name, or it is too small.
        """
        self.size = size
        plain = name.removeprefix("/")
        if not plain or "/" in plain or "\0" in plain or plain in {".", ".."}:
            raise ClientError("refused", f"{name!r:.80} is no name of shared memory")
        try:
            descriptor = os.open(SHARED_FOLDER / plain, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise ClientError("refused", f"the server's shared memory {plain} cannot be attached: {error.strerror}") from error
        self._descriptor: int | None = descriptor
        held = self._held()
        if not 0 < size <= held:
            self.close()
            raise ClientError("refused", f"the server's shared memory {plain} has {held} bytes, announced are {size}")

    def read(self, offset: int, length: int) -> bytes:
        """A copy of a place.

        Raises:
            ClientError: the server cut its memory off.
        """
        descriptor = self._open(offset + length)
        found = bytearray()
        with self._trouble():
            while len(found) < length and (more := os.pread(descriptor, length - len(found), offset + len(found))):
                found += more
        if len(found) < length:
            raise self._cut_off(offset + length)
        return bytes(found)

    def write(self, offset: int, data: bytes) -> None:
        """Fill a place.

        Raises:
            ClientError: the server cut its memory off, or there is no room for it.
        """
        descriptor = self._open(offset + len(data))
        left = memoryview(data)
        with self._trouble():
            while left:
                written = os.pwrite(descriptor, left, offset)
                offset, left = offset + written, left[written:]

    def close(self) -> None:
        """Detach; the segment stays, because it is the server's."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _open(self, end: int) -> int:
        """The descriptor of memory that has a byte before ``end``."""
        if self._descriptor is None:
            raise ClientError("connection", "the server's shared memory was detached by its owner")
        if end > self._held():
            raise self._cut_off(end)
        return self._descriptor

    def _held(self) -> int:
        assert self._descriptor is not None
        return os.fstat(self._descriptor).st_size

    def _cut_off(self, end: int) -> ClientError:
        return ClientError("refused", f"the server cut its shared memory off: it had {self.size} bytes and ends before {end}")

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ClientError("refused", f"the server's shared memory: {error.strerror}") from error
