"""Memory by place: this process's own, or shared memory, which others may cut off or fill while it is in use.

Shared memory is read and written as a file. Memory that is mapped ends the process with a bus error where it was cut off, or
where ``/dev/shm`` has no room for a page; a file gives an error.
"""

from __future__ import annotations

import mmap
import os
from typing import Protocol


class Memory(Protocol):
    """Bytes by place."""

    def read(self, offset: int, length: int) -> bytes:
        """A copy of the bytes of a place.

        Raises:
            OSError: they are not there.
        """
        ...

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Overwrite the bytes of a place.

        Raises:
            OSError: they are not there, or there is no room for them.
        """
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class PrivateMemory:
    """Memory that nobody else sees."""

    def __init__(self, size: int) -> None:
        self._bytes = mmap.mmap(-1, size)

    def read(self, offset: int, length: int) -> bytes:
        """As :meth:`Memory.read`."""
        return self._bytes[offset : offset + length]

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """As :meth:`Memory.write`."""
        self._bytes[offset : offset + len(data)] = bytes(data)

    def close(self) -> None:
        """As :meth:`Memory.close`."""
        self._bytes.close()


class SharedMemory:
    """Memory behind a descriptor, which is closed with it."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name

    def read(self, offset: int, length: int) -> bytes:
        """As :meth:`Memory.read`."""
        found = os.pread(self._descriptor, length, offset)
        while 0 < len(found) < length and (more := os.pread(self._descriptor, length - len(found), offset + len(found))):
            found += more
        if len(found) < length:
            raise OSError(f"shared memory {self._name} ends before {offset} + {length}")
        return found

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """As :meth:`Memory.write`."""
        if self.size < offset + len(data):
            raise OSError(f"shared memory {self._name} ends before {offset} + {len(data)}")
        left = memoryview(data)
        while left:
            written = os.pwrite(self._descriptor, left, offset)
            offset, left = offset + written, left[written:]

    @property
    def size(self) -> int:
        """Bytes that it has now."""
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        """As :meth:`Memory.close`."""
        os.close(self._descriptor)
