"""Connectors whose storage is not what it should be, and those that end badly."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

from harness.mutants.marks import remote_mutant
from harness.reference.remote.connector import FileConnector, setting
from harness.reference.remote.files import MAGIC, Damaged, Files, Head, digest


class Trusting(FileConnector):
    """It believes whatever the head of a file says."""

    def _load(self, key: str) -> Any:
        head, file = self.files.open(key)
        with file:
            found = self._allocate(head.shape, head.dtype, head.format)
            if found is not None:
                file.readinto(memoryview(found.byte_array).cast("B"))  # type: ignore[attr-defined]
            return found


@remote_mutant(
    "connector-without-checksum",
    stands_for="a storage that is believed not to forget, like lmcache's file system connector",
    found_by=("remote.errors.changed",),
)
class WithoutChecksum(FileConnector):
    """It looks at the size of what was stored, not at the bytes."""

    def _load(self, key: str) -> Any:
        head, file = self.files.open(key)
        with file:
            data = file.read()
        if len(data) != head.size:
            raise Damaged("its size is another")
        found = self._allocate(head.shape, head.dtype, head.format)
        if found is not None:
            memoryview(found.byte_array).cast("B")[:] = data
        return found


@remote_mutant(
    "connector-reads-what-is-there",
    stands_for="a read whose length nobody compares with what was asked for",
    found_by=("remote.errors.incomplete[*cut]",),
)
class ReadsWhatIsThere(Trusting):
    """Of an object that was cut it answers the rest, and behind it what the memory held before."""


@remote_mutant(
    "connector-fails-at-an-empty-file",
    stands_for="an error that nobody thought of while reading a head",
    found_by=("remote.errors.incomplete[*empty]",),
)
class FailsAtAnEmptyFile(FileConnector):
    """A head that cannot be read raises, in place of a miss."""

    def _read(self, key: str) -> Any:
        try:
            return self._load(key)
        except FileNotFoundError:
            return None


@remote_mutant(
    "connector-index-in-memory",
    stands_for="an index that says what is stored, read once",
    found_by=("remote.errors.incomplete[*deleted]",),
)
class IndexInMemory(FileConnector):
    """What it stored itself is there, it believes, whatever became of the file."""

    def _read(self, key: str) -> Any:
        if not hasattr(self, "index"):
            self.index: set[str] = set()
        found = super()._read(key)
        if found is None and key in self.index:
            raise LookupError(f"{key} is stored, and cannot be found")
        return found

    def _write(self, key: str, memory_obj: Any) -> None:
        super()._write(key, memory_obj)
        self.index = {*getattr(self, "index", ()), key}


@remote_mutant(
    "connector-damage-stays",
    stands_for="what is there is not written again, because the same key always means the same bytes",
    found_by=("remote.errors.healed",),
)
class DamageStays(FileConnector):
    """A damaged object is neither removed nor overwritten."""

    def _read(self, key: str) -> Any:
        try:
            return self._load(key)
        except (Damaged, OSError):
            return None

    def _write(self, key: str, memory_obj: Any) -> None:
        if not self.files.has(key):
            super()._write(key, memory_obj)


@remote_mutant(
    "connector-raises-when-the-storage-is-gone",
    stands_for="the exceptions of the storage's library, let through",
    found_by=("remote.errors.storage-lost",),
)
class RaisesWhenTheStorageIsGone(FileConnector):
    """A get of a storage that cannot be read raises."""

    async def get(self, key: Any) -> Any:
        """Answer it."""
        if not self.files.folder.is_dir():
            raise NotADirectoryError(str(self.files.folder))
        return await super().get(key)


class InPlace(Files):
    """Files that are made with their size, and then filled."""

    def write(self, key: str, data: memoryview, *, fmt: str, dtype: str | None, shape: tuple[int, ...]) -> None:
        """Store an object where it will stay."""
        line = json.dumps(vars(Head(key, fmt, dtype, shape, len(data), digest(data)))).encode() + b"\n"
        with self.path(key).open("wb") as file:
            file.truncate(len(MAGIC) + len(line) + len(data))
            file.write(MAGIC + line)
            file.flush()
            for start in range(0, len(data), 1 << 17):
                file.write(data[start : start + (1 << 17)])
                file.flush()
                time.sleep(0.002)


@remote_mutant(
    "connector-writes-in-place",
    stands_for="a file of the right size that is filled through a mapping",
    found_by=("remote.durability.killed-while-storing", "remote.loop.one-key-at-once"),
)
class WritesInPlace(Trusting):
    """A put can be seen while it is under way, and its remains after a crash look like an object."""

    def __init__(self, loop: asyncio.AbstractEventLoop, local_cpu_backend: Any, config: Any) -> None:
        super().__init__(loop, local_cpu_backend, config)
        self.files = InPlace(setting(config, type(self), "folder"))


@remote_mutant(
    "connector-forgets-at-the-end",
    stands_for="a write cache that is written when it is full",
    found_by=("remote.durability.opened-again",),
)
class ForgetsAtTheEnd(FileConnector):
    """What it stored is in memory only."""

    def _write(self, key: str, memory_obj: Any) -> None:
        super()._write(key, memory_obj)
        self.files.path(key).rename(self.files.path(self.alias(key)))

    def _read(self, key: str) -> Any:
        found = self.files.path(self.alias(key))
        if not found.is_file():
            return None
        found.rename(self.files.path(key))
        try:
            return super()._read(key)
        finally:
            self.files.path(key).rename(found)

    def alias(self, key: str) -> str:
        """A name that only this process knows."""
        return f"{os.getpid()}-{key}"


@remote_mutant(
    "connector-never-closes",
    stands_for="a close that waits for a queue which its worker does not read any more",
    found_by=("remote.close.closed", "remote.backend.closed"),
)
class NeverCloses(FileConnector):
    """Its close does not come back."""

    async def close(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()


@remote_mutant(
    "connector-closes-once",
    stands_for="a handle that is deleted when it is closed",
    found_by=("remote.close.closed-twice",),
)
class ClosesOnce(FileConnector):
    """A second close raises."""

    async def close(self) -> None:
        """Close."""
        if self.closed:
            raise RuntimeError("closed already")
        await super().close()


@remote_mutant(
    "connector-waits-after-the-end",
    stands_for="a queue that takes requests after its worker has ended",
    found_by=("remote.close.asked-after-the-end",),
)
class WaitsAfterTheEnd(FileConnector):
    """A get after close does not come back."""

    async def get(self, key: Any) -> Any:
        """Answer it, as long as there is somebody who does."""
        if self.closed:
            await asyncio.Event().wait()
        return await super().get(key)


@remote_mutant(
    "connector-leaves-a-task",
    stands_for="a keep-alive that nobody cancels",
    found_by=("remote.close.nothing-left",),
)
class LeavesATask(FileConnector):
    """A task of it runs on after close."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store it."""
        if not hasattr(self, "alive"):
            self.alive = asyncio.ensure_future(self.keep_alive())
        await super().put(key, memory_obj)

    async def keep_alive(self) -> None:
        """Tell the storage now and then that somebody is there."""
        while True:
            await asyncio.sleep(1.0)
