"""A remote connector for lmcache, written to be read: every promise is kept in the simplest way that keeps it.

It runs in the interpreter of the engine, beside the real lmcache, and imports nothing else but the standard library.
Its folder is the setting ``remote_storage_plugin.NAME.folder`` of ``extra_config``, where NAME is the name of the plugin;
with the setting ``store``, which is ``HOST:PORT``, it keeps objects behind that address instead.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, TypeVar

from harness.reference.remote.behind import Behind
from harness.reference.remote.files import Damaged, Files, Head, digest

logger = logging.getLogger(__name__)
T = TypeVar("T")
THREADS = 8


def real(module: str, name: str) -> Any:
    """A name of the real lmcache or of torch; a stand-in where there is none, so that this file can be read without them."""
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        return object


RemoteConnector: Any = real("lmcache.v1.storage_backend.connector.base_connector", "RemoteConnector")
GIVES_BACK_BATCHES = hasattr(RemoteConnector, "support_batched_contains") and RemoteConnector.support_batched_async_contains(None)
"""Since 0.3.9.post1 lmcache itself gives back the objects of a ``batched_put``, as it always did after a ``put``."""
COUNTS_PREFIX = GIVES_BACK_BATCHES and len(inspect.signature(RemoteConnector.batched_contains).parameters) == 2
"""Since 0.3.10 ``batched_contains`` answers the number of leading keys."""


class FileConnector(RemoteConnector):  # type: ignore[misc]  # the class of the real lmcache, in an interpreter that has it
    """Stores each object in a file. All waiting for the disk happens in threads, so that the loop of the engine is never held."""

    def __init__(self, loop: asyncio.AbstractEventLoop, local_cpu_backend: Any, config: Any) -> None:
        if "metadata" in inspect.signature(RemoteConnector.__init__).parameters:
            super().__init__(config, local_cpu_backend.metadata)  # 0.3.12 and later
        self.loop = loop
        self.local_cpu_backend = local_cpu_backend
        self.files: Files = self.storage(config)
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="file-connector")
        self.closed = False

    def storage(self, config: Any) -> Any:
        """What the settings name: files, or what answers as they do."""
        address = setting(config, type(self), "store", otherwise="")
        return Behind(address) if address else Files(setting(config, type(self), "folder"))

    # What lmcache awaits on its loop.

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store an object, which stays the caller's: who calls this gives it back afterwards."""
        writing = asyncio.wrap_future(self.threads.submit(self._write, key.to_string(), memory_obj))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # until then a thread reads memory that may be given to somebody else
            raise

    async def get(self, key: Any) -> Any:
        """A new object of the engine's pool with one reference, or None."""
        if self.closed:
            return None
        reading = self.threads.submit(self._read, key.to_string())
        try:
            return await asyncio.wrap_future(reading)
        except asyncio.CancelledError:
            reading.add_done_callback(give_back)
            raise

    async def exists(self, key: Any) -> bool:
        """Whether there is an object; nothing is checked that ``get`` would check."""
        return not self.closed and await self._in_thread(self.files.has, key.to_string())

    async def list(self) -> list[str]:
        """The text of every key."""
        return await self._in_thread(self.files.keys)

    async def close(self) -> None:
        """Let the threads end; may be called again."""
        self.closed = True
        self.threads.shutdown(wait=False, cancel_futures=True)

    def support_ping(self) -> bool:
        """Whether lmcache may ask how this storage is."""
        return True

    async def ping(self) -> int:
        """0 while the storage is there."""
        return 0 if not self.closed and await self._in_thread(self.files.there) else 1

    def support_batched_get(self) -> bool:
        """Whether lmcache may ask for several objects at once."""
        return True

    async def batched_get(self, keys: Any) -> Any:
        """An object or None for each key, in their order."""
        return await asyncio.gather(*(self.get(key) for key in keys))

    def support_batched_put(self) -> bool:
        """Whether lmcache may store several objects at once; not where nobody would give them back."""
        return bool(GIVES_BACK_BATCHES)

    async def batched_put(self, keys: Any, memory_objs: Any) -> None:
        """Store all that can be stored; then the first problem, if there was one."""
        ended = await asyncio.gather(*map(self.put, keys, memory_objs), return_exceptions=True)
        for problem in ended:
            if isinstance(problem, BaseException):
                raise problem

    # What lmcache calls in threads of its own.

    def exists_sync(self, key: Any) -> bool:
        """As ``exists``, without the loop."""
        return not self.closed and self.files.has(key.to_string())

    def remove_sync(self, key: Any) -> bool:
        """Remove an object; whether there was one."""
        return self.files.remove(key.to_string())

    def support_batched_contains(self) -> bool:
        """Whether lmcache may ask how many leading keys there are; its older releases wanted another answer."""
        return bool(COUNTS_PREFIX)

    def batched_contains(self, keys: Any) -> int:
        """The number of leading keys that have an object."""
        for number, key in enumerate(keys):
            if not self.exists_sync(key):
                return number
        return len(keys)

    # What happens in the threads.

    def _write(self, key: str, memory_obj: Any) -> None:
        dtype = memory_obj.get_dtype()
        self.files.write(
            key,
            memoryview(memory_obj.byte_array).cast("B"),
            fmt=memory_obj.get_memory_format().name,
            dtype=None if dtype is None else str(dtype).removeprefix("torch."),
            shape=tuple(int(size) for size in memory_obj.get_shape()),
        )

    def _read(self, key: str) -> Any:
        """The object, or None: whatever is wrong is a miss, and what is damaged goes, so that it is stored again."""
        try:
            return self._load(key)
        except FileNotFoundError:
            return None
        except Damaged as problem:
            logger.warning("The stored object of %s is damaged (%s) and is removed.", key, problem)
            self.files.remove(key)
        except OSError as problem:
            logger.warning("The stored object of %s cannot be read: %s", key, problem)
        return None

    def _load(self, key: str) -> Any:
        head, file = self.files.open(key)
        with file:
            found = self._allocate(head.shape, head.dtype, head.format)
            if found is None:
                return None
            try:
                fill(memoryview(found.byte_array).cast("B"), head, file)
            except BaseException:
                found.ref_count_down()
                raise
        return found

    def _allocate(self, shape: tuple[int, ...], dtype: str | None, fmt: str) -> Any:
        """Memory of the engine, or None where it has none left: waiting for some is the caller's to decide."""
        torch: Any = importlib.import_module("torch")
        formats = real("lmcache.v1.memory_management", "MemoryFormat")
        allocate = self.local_cpu_backend.allocate
        patience = {"busy_loop": False} if "busy_loop" in inspect.signature(allocate).parameters else {}
        return allocate(torch.Size(shape), None if dtype is None else getattr(torch, dtype), formats[fmt], **patience)

    async def _in_thread(self, work: Callable[..., T], *args: Any) -> T:
        return await self.loop.run_in_executor(self.threads, functools.partial(work, *args))


def fill(view: memoryview, head: Head, file: BinaryIO) -> None:
    """Read the bytes of an object into the memory that they are for.

    Raises:
        Damaged: they are others than were written.
    """
    whole = len(view) == head.size and file.readinto(view) == head.size and not file.read(1)  # type: ignore[attr-defined]
    if not whole or digest(view) != head.digest:
        raise Damaged("its bytes are others")


def give_back(reading: Future[Any]) -> None:
    """Nobody waits for this object any more."""
    if not reading.cancelled() and reading.exception() is None and reading.result() is not None:
        reading.result().ref_count_down()


def setting(config: Any, kind: type, name: str, *, otherwise: str | None = None) -> str:
    """A setting of the plugin that this class is, or of ``lmconform`` where it is named by an ``external://`` URL.

    Raises:
        ValueError: there is none, and nothing to be had otherwise.
    """
    extra = config.extra_config or {}
    plugins = getattr(config, "remote_storage_plugins", None) or []
    mine = [one for one in plugins if extra.get(f"remote_storage_plugin.{one}.class_name") == kind.__name__]
    for plugin in (*mine, "lmconform"):
        if f"remote_storage_plugin.{plugin}.{name}" in extra:
            return str(extra[f"remote_storage_plugin.{plugin}.{name}"])
    if otherwise is not None:
        return otherwise
    raise ValueError(f"extra_config has no remote_storage_plugin.NAME.{name}")
