"""Connectors that are loaded, or described, wrongly."""

from __future__ import annotations

import asyncio
from typing import Any

from harness.mutants.marks import remote_mutant
from harness.reference.remote.connector import FileConnector, RemoteConnector


@remote_mutant(
    "connector-asks-for-metadata",
    stands_for="the adapters of lmcache give their connectors what they like; the loader of a class gives three things",
    found_by=("remote.loading.opened",),
)
class AsksForMetadata(FileConnector):
    """Its constructor needs an argument that the loader does not give."""

    def __init__(self, loop: asyncio.AbstractEventLoop, local_cpu_backend: Any, config: Any, metadata: Any) -> None:
        super().__init__(loop, local_cpu_backend, config)
        self.metadata = metadata


@remote_mutant(
    "connector-skips-the-base-class",
    stands_for="base classes without constructor, as this one was up to 0.3.11",
    releases="0.3.12 and later",
    found_by=("remote.loading.base-class-initialised",),
)
class SkipsTheBaseClass(FileConnector):
    """Its constructor does not call that of the base class."""

    def __init__(self, loop: asyncio.AbstractEventLoop, local_cpu_backend: Any, config: Any) -> None:
        super().__init__(loop, local_cpu_backend, config)
        for name in ("save_chunk_meta", "meta_shapes", "meta_dtypes", "meta_fmt"):
            delattr(self, name)


@remote_mutant(
    "connector-wants-a-plugin",
    stands_for="a constructor that looks for its name among the plugins of the config",
    releases="0.4.4 and later",
    found_by=("remote.loading.external-form",),
)
class WantsAPlugin(FileConnector):
    """It cannot be named by an external:// URL."""

    def __init__(self, loop: asyncio.AbstractEventLoop, local_cpu_backend: Any, config: Any) -> None:
        self.name = config.remote_storage_plugins[0]
        super().__init__(loop, local_cpu_backend, config)


@remote_mutant(
    "connector-ping-is-no-coroutine",
    stands_for="a method of which nothing but its name was copied",
    releases="0.3.3 and later",
    found_by=("remote.contract.awaited",),
)
class PingIsNoCoroutine(FileConnector):
    """Its ping answers at once, which cannot be awaited."""

    def ping(self) -> int:  # type: ignore[override]
        """0 while the folder is there."""
        return 0


@remote_mutant(
    "connector-ping-says-true",
    stands_for="a ping that answers whether all is well, where 0 was asked for",
    releases="0.3.3 and later",
    found_by=("remote.contract.ping",),
)
class PingSaysTrue(FileConnector):
    """Its ping answers True when all is well."""

    async def ping(self) -> int:
        """Whether the folder is there."""
        return self.files.folder.is_dir()


@remote_mutant(
    "connector-promises-too-much",
    stands_for="a support_ method that was turned on before the method was written",
    releases="0.3.4 and later",
    found_by=("remote.contract.support-is-told",),
)
class PromisesTooMuch(FileConnector):
    """It says that it supports batched_get, and has none."""

    batched_get: Any = getattr(RemoteConnector, "batched_get", None)


@remote_mutant(
    "connector-none-for-no",
    stands_for="``return self._index.get(key)``",
    found_by=("remote.contract.existence-is-a-boolean",),
)
class NoneForNo(FileConnector):
    """Its exists answers None for what is not there."""

    async def exists(self, key: Any) -> bool:
        """Whether there is an object, or None."""
        return await super().exists(key) or None  # type: ignore[return-value]


@remote_mutant(
    "connector-keys-by-hash",
    stands_for="the chunk hash taken for the whole identity of a chunk",
    found_by=("remote.roundtrip.another-key",),
)
class KeysByHash(FileConnector):
    """It knows objects by the hash of their tokens alone."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store it."""
        await super().put(Hash(key), memory_obj)

    async def get(self, key: Any) -> Any:
        """Answer it."""
        return await super().get(Hash(key))

    async def exists(self, key: Any) -> bool:
        """Whether there is one."""
        return await super().exists(Hash(key))


class Hash:
    """A key that is written as its hash."""

    def __init__(self, key: Any) -> None:
        self.key = key

    def to_string(self) -> str:
        """The hash."""
        return f"{self.key.chunk_hash}"
