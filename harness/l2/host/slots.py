"""Objects in lmcache's own memory: aligned slots of its allocator, with guards of the same memory around them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .buffers import FENCED, Buffer, Buffers, array
from .frames import Blob

GUARD = 4096
"""Bytes on either side of an object: one slot of the allocator."""


class Slot(Buffer):
    """An object as the server hands it to an adapter."""

    def __init__(self, number: int, content: Blob, memory: Any) -> None:
        self.number = number
        self.size = len(content)
        before, self._free_before = memory.allocate(GUARD)
        self.object, self._free = memory.allocate(self.size)
        after, self._free_after = memory.allocate(GUARD)
        self._guards = [_bytes_of(guard, GUARD) for guard in (before, after)]
        for guard in self._guards:
            guard[:] = FENCED * GUARD
        self._content = _bytes_of(self.object, self.size)
        self._content[:] = content

    def view(self) -> memoryview:
        """What the object shows of itself; up to 0.4.3 that includes what fills its slot up."""
        found: memoryview = self.object.byte_array
        return found

    @property
    def content(self) -> memoryview:
        """The bytes as they are now."""
        return self._content

    @property
    def cost(self) -> int:
        """Bytes of memory that it takes, with what fills slots up."""
        return self.size + 3 * GUARD

    @property
    def fenced(self) -> bool:
        """Whether nobody wrote beside it; what fills its slot up belongs to it."""
        return all(guard == FENCED * GUARD for guard in self._guards)

    def release(self) -> None:
        """Give the memory back."""
        for free in (self._free_before, self._free, self._free_after):
            free()


class Slots(Buffers):
    """Objects in lmcache's own memory, by number."""

    kept = 16 * 1024 * 1024

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self._memory = memory

    def new(self, contents: Iterable[Blob]) -> list[Buffer]:
        """Objects that hold something."""
        made: list[Buffer] = [Slot(next(self._numbers), content, self._memory) for content in contents]
        self._held.update((buffer.number, buffer) for buffer in made)
        return made

    def forget(self, buffer: Buffer) -> None:
        """It is not watched any more."""
        assert isinstance(buffer, Slot)
        buffer.release()


def _bytes_of(memory: Any, size: int) -> memoryview:
    return memoryview(array(size).from_address(memory.data_ptr)).cast("B")
