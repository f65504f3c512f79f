"""The memory of the server's first tier: a pool, in shared memory or private, and the places in it.

Places are given out as ``lmcache.v1.memory_management.AddressManager`` does: from the lowest free address, in units of 4096
bytes.
"""

from __future__ import annotations

import _posixshmem  # type: ignore[import-not-found]  # CPython's own, without stubs
import os
import secrets
from typing import Final

from mockserver.mp.behaviour import ALIGNMENT
from mockserver.mp.leash import PREFIX, Leash, sweep
from mockserver.mp.memory import Memory, PrivateMemory, SharedMemory


class PoolFullError(Exception):
    """There is no place for so many objects."""


class Places:
    """Free places of a pool, lowest address first; not safe from several threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._free: list[tuple[int, int]] = [(0, size)]

    @property
    def used(self) -> int:
        """Bytes that are given out."""
        return self.size - sum(size for _, size in self._free)

    def take(self, length: int, count: int) -> list[int]:
        """Offsets of ``count`` places for ``length`` bytes each.

        Raises:
            PoolFullError: there are not so many; none is taken then.
            ValueError: a place without bytes.
        """
        if length <= 0:
            raise ValueError(f"a place of {length} bytes")
        unit = _aligned(length)
        found: list[int] = []
        left: list[tuple[int, int]] = []
        for start, size in self._free:
            here = min(count - len(found), size // unit)
            found.extend(start + index * unit for index in range(here))
            if size > here * unit:
                left.append((start + here * unit, size - here * unit))
        if len(found) < count:
            raise PoolFullError(f"{count} places of {unit} bytes")
        self._free = left
        return found

    def give_back(self, offset: int, length: int) -> None:
        """A place is free again; neighbours become one."""
        merged: list[tuple[int, int]] = []
        for start, size in sorted([*self._free, (offset, _aligned(length))]):
            if merged and sum(merged[-1]) == start:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((start, size))
        self._free = merged


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


class Pool:
    """Memory of a fixed size. In shared memory it has a name, its own or the one given, and :meth:`close` removes it."""

    def __init__(self, size: int, *, shared: bool, name: str = "") -> None:
        self.size = size
        self.name = ""
        """The name for clients, without a slash; empty where it is not shared."""
        self._leash: Leash | None = None
        if not shared:
            self._memory: Memory = PrivateMemory(size)
            return
        sweep()
        name = name or f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        descriptor = _posixshmem.shm_open(f"/{name}", os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
        try:
            self._leash = Leash(name)
            os.ftruncate(descriptor, size)
        except BaseException:
            os.close(descriptor)
            self._remove(name)
            raise
        self._memory = SharedMemory(descriptor, name)
        self.name = name

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of a place.

        Raises:
            OSError: somebody cut the memory off.
        """
        return self._memory.read(offset, length)

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Overwrite bytes of a place.

        Raises:
            OSError: somebody cut the memory off, or there is no room for it.
        """
        self._memory.write(offset, data)

    def close(self) -> None:
        """Remove it. Clients that have it mapped keep their mapping; for others it is gone."""
        self._memory.close()
        if self.name:
            self._remove(self.name)
            self.name = ""

    def _remove(self, name: str) -> None:
        try:
            _posixshmem.shm_unlink(f"/{name}")
        except FileNotFoundError:
            pass  # a client took it away; the real server would not notice either
        finally:
            if self._leash is not None:
                self._leash.let_go()


DEFAULT_POOL_SIZE: Final = 64 << 20
"""Bytes. A page that nobody touches takes no memory."""
