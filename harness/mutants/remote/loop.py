"""Connectors that stand in the way of the event loop, or wait for it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from typing import Any

from harness.mutants.marks import remote_mutant
from harness.reference.remote.connector import FileConnector

SLOW = 1.4
"""Seconds that a distant storage takes."""


@remote_mutant(
    "connector-blocks-the-loop",
    stands_for="a client library that blocks, called in a coroutine",
    found_by=("remote.loop.not-held",),
)
class BlocksTheLoop(FileConnector):
    """Its coroutines wait for the storage without letting go of the loop."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store it."""
        time.sleep(SLOW)
        await super().put(key, memory_obj)

    async def get(self, key: Any) -> Any:
        """Answer it."""
        time.sleep(SLOW)
        return await super().get(key)

    async def exists(self, key: Any) -> bool:
        """Whether there is one."""
        time.sleep(SLOW)
        return await super().exists(key)

    async def list(self) -> list[str]:
        """All keys."""
        time.sleep(SLOW)
        return await super().list()


@remote_mutant(
    "connector-asks-the-loop",
    stands_for="exists_sync as lmcache's Redis connector has it",
    releases="0.3.4 and later",
    found_by=("remote.loop.does-not-wait-for-the-loop",),
)
class AsksTheLoop(FileConnector):
    """Its exists_sync waits for a coroutine on the event loop."""

    def exists_sync(self, key: Any) -> bool:
        """Whether there is one."""
        return asyncio.run_coroutine_threadsafe(self.exists(key), self.loop).result()


@remote_mutant(
    "connector-impatient",
    stands_for="the same with a timeout, after which the answer is no",
    releases="0.3.4 and later",
    found_by=("remote.loop.asked-from-a-thread",),
)
class Impatient(FileConnector):
    """Its exists_sync answers False when the event loop is busy."""

    def exists_sync(self, key: Any) -> bool:
        """Whether there is one, as far as can be found out in a moment."""
        try:
            return asyncio.run_coroutine_threadsafe(self.exists(key), self.loop).result(0.2)
        except concurrent.futures.TimeoutError:
            return False
