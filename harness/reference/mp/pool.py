"""The server's shared memory, attached by a client that never removes it."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

from harness.client import ClientError

SHARED_FOLDER: Final = Path("/dev/shm")  # noqa: S108  # where Linux keeps shared memory by name


class Pool:
    """A mapping of it; all places were checked before they come here."""

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
        try:
            held = os.fstat(descriptor).st_size
            if not 0 < size <= held:
                raise ClientError("refused", f"the server's shared memory {plain} has {held} bytes, announced are {size}")
            self._memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)

    def read(self, offset: int, length: int) -> bytes:
        """A copy of a place."""
        return self._memory[offset : offset + length]

    def write(self, offset: int, data: bytes) -> None:
        """Fill a place."""
        self._memory[offset : offset + len(data)] = data

    def close(self) -> None:
        """Detach; the segment stays, because it is the server's."""
        self._memory.close()
