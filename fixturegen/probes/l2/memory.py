"""Memory objects of lmcache's own first tier: aligned slots of its allocator, whose views are those of the real server."""

import dataclasses
import functools

import torch
from lmcache.v1.distributed.api import MemoryLayoutDesc
from lmcache.v1.distributed.config import L1MemoryManagerConfig

try:
    from lmcache.v1.distributed.memory_manager.l1_memory_manager import L1MemoryManager
except ImportError:
    from lmcache.v1.distributed.memory_manager import L1MemoryManager

ARENA = 32 << 20
"""Bytes of the first arena. The allocator writes to all of it at once, so it is small; further ones come as they are needed."""
ROOM = 1 << 20
"""Bytes that an arena has besides what it was made for."""


class Memory:
    """Arenas of lmcache's allocator."""

    def __init__(self):
        self._arenas = [arena(ARENA)]

    def describe(self):
        """What the server tells an adapter about its memory."""
        return self._arenas[0].get_l1_memory_desc()

    def allocate(self, size):
        """One object of so many bytes, and what frees it."""
        layout = MemoryLayoutDesc(shapes=[torch.Size([size])], dtypes=[torch.uint8])
        for one in self._arenas:
            used, total = one.get_memory_usage()
            objects = one.allocate(layout, 1)[1] if total - used >= size + ROOM else []
            if objects:
                return objects[0], functools.partial(one.free, objects)
        self._arenas.append(arena(size + 2 * ROOM))
        return self.allocate(size)


def arena(size):
    wanted = {"size_in_bytes": max(size, ARENA), "use_lazy": False, "shm_name": ""}
    names = {field.name for field in dataclasses.fields(L1MemoryManagerConfig)}
    return L1MemoryManager(L1MemoryManagerConfig(**{name: value for name, value in wanted.items() if name in names}))


def layout_of(size):
    """What the server says of the objects that it looks up."""
    return MemoryLayoutDesc(shapes=[torch.Size([size])], dtypes=[torch.uint8])
