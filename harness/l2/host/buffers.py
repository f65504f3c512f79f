"""Memory for objects as the real server hands it to a plugin, with fences around it and a watch on what comes too late.

The server's views are those of ``ctypes`` arrays over its own memory (``MemoryObj.byte_array`` in
``lmcache.v1.memory_management``): one-dimensional, of single bytes, writable, and of format ``<B``, to which a slice of
``bytes`` cannot be assigned. Views here are the same.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from .frames import Blob

FENCE = 256
"""Bytes on either side that belong to nobody."""
FENCED = b"\xc3"
BLANK = b"\xa5"
"""What a buffer to load into holds before."""
SPENT = b"\xdb"
"""What a buffer holds once its operation is complete and its bytes were taken."""
KEPT = 96 * 1024 * 1024
"""Bytes of spent buffers that are kept, to see whether somebody still writes to them."""


class Buffer:
    """A piece of memory that a plugin is given, and what lies around it."""

    def __init__(self, number: int, content: Blob) -> None:
        self.number = number
        self.size = len(content)
        self._memory = bytearray(b"".join((FENCED * FENCE, content, FENCED * FENCE)))

    def view(self) -> memoryview:
        """What the plugin gets; it keeps the memory alive."""
        return memoryview(array(self.size).from_buffer(self._memory, FENCE))

    @property
    def content(self) -> memoryview:
        """The bytes as they are now."""
        return memoryview(self._memory)[FENCE : FENCE + self.size]

    def fill(self, content: Blob) -> None:
        """Replace the bytes."""
        self.content[:] = content

    def holds_only(self, byte: bytes) -> bool:
        """Whether every byte is this one."""
        return self.content == byte * self.size

    @property
    def cost(self) -> int:
        """Bytes of memory that it takes."""
        return self.size + 2 * FENCE

    @property
    def fenced(self) -> bool:
        """Whether nobody wrote beside it."""
        around = memoryview(self._memory)
        return around[:FENCE] == FENCED * FENCE and around[FENCE + self.size :] == FENCED * FENCE


class Buffers:
    """All buffers of this process, by number."""

    kept = KEPT

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._held: dict[int, Buffer] = {}
        self._spent: deque[Buffer] = deque()
        self._spent_bytes = 0
        self._disturbed: list[int] = []

    def new(self, contents: Iterable[Blob]) -> list[Buffer]:
        """Buffers that hold something."""
        made = [Buffer(next(self._numbers), content) for content in contents]
        self._held.update((buffer.number, buffer) for buffer in made)
        return made

    def blank(self, sizes: Iterable[int]) -> list[Buffer]:
        """Buffers to load into."""
        return self.new(BLANK * size for size in sizes)

    def get(self, numbers: Sequence[int]) -> list[Buffer]:
        """Those of some numbers."""
        return [self._held[number] for number in numbers]

    def spend(self, buffers: Iterable[Buffer]) -> None:
        """Their operation is complete: the memory means something else from now on."""
        for buffer in buffers:
            self._held.pop(buffer.number, None)
            buffer.fill(SPENT * buffer.size)
            self._spent.append(buffer)
            self._spent_bytes += buffer.cost
        while self._spent_bytes > self.kept:
            oldest = self._spent.popleft()
            self._spent_bytes -= oldest.cost
            self._look(oldest)
            self.forget(oldest)

    def forget(self, buffer: Buffer) -> None:
        """A spent buffer is not watched any longer."""

    def disturbed(self) -> list[int]:
        """Numbers of spent buffers that somebody wrote to, or beside."""
        for buffer in self._spent:
            self._look(buffer)
        return self._disturbed

    def _look(self, buffer: Buffer) -> None:
        if buffer.number not in self._disturbed and not (buffer.fenced and buffer.holds_only(SPENT)):
            self._disturbed.append(buffer.number)


@functools.cache
def array(size: int) -> Any:
    """The type of an array: kept, because ctypes never gives one back."""
    return ctypes.c_ubyte * size
