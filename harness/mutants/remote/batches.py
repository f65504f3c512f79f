"""Connectors that do several things at once wrongly."""

from __future__ import annotations

import asyncio
from typing import Any

from harness.mutants.marks import remote_mutant
from harness.reference.remote.connector import FileConnector


@remote_mutant(
    "connector-short-batches",
    stands_for="a loop that ends at the first miss, as lmcache's mock connector has it",
    releases="0.3.4 and later",
    found_by=("remote.batches.get", "remote.backend.several"),
)
class ShortBatches(FileConnector):
    """Its batched_get ends at the first miss, and answers fewer entries than there are keys."""

    async def batched_get(self, keys: Any) -> Any:
        """The objects before the first miss."""
        found = []
        for key in keys:
            one = await self.get(key)
            if one is None:
                break
            found.append(one)
        return found


@remote_mutant(
    "connector-shifts-batches",
    stands_for="keys that are sorted for the storage, and objects that are not",
    releases="0.3.9.post1 and later",
    found_by=("remote.batches.put", "remote.backend.several"),
)
class ShiftsBatches(FileConnector):
    """Its batched_put stores each object under the key of its neighbour."""

    async def batched_put(self, keys: Any, memory_objs: Any) -> None:
        """Store them."""
        await super().batched_put([*keys[1:], *keys[:1]], memory_objs)


@remote_mutant(
    "connector-counts-all",
    stands_for="``sum(answers)``",
    releases="0.3.10 and later",
    found_by=("remote.batches.contains", "remote.backend.lookup"),
)
class CountsAll(FileConnector):
    """Its batched_contains counts the keys behind a missing one as well."""

    def batched_contains(self, keys: Any) -> int:
        """How many there are."""
        return sum(self.exists_sync(key) for key in keys)


@remote_mutant(
    "connector-counts-all-on-the-loop",
    stands_for="the same, where it is awaited",
    releases="0.3.9.post1 and later",
    found_by=("remote.batches.prefix-exists", "remote.backend.lookup"),
)
class CountsAllOnTheLoop(FileConnector):
    """Its batched_async_contains counts the keys behind a missing one as well."""

    async def batched_async_contains(self, lookup_id: str, keys: Any, pin: bool = False) -> int:  # noqa: ARG002
        """How many there are."""
        return sum(await asyncio.gather(*map(self.exists, keys)))


@remote_mutant(
    "connector-closes-the-gap",
    stands_for="``[found for found in answers if found is not None]``",
    releases="0.3.9.post1 and later",
    found_by=("remote.batches.prefix", "remote.backend.lookup"),
)
class ClosesTheGap(FileConnector):
    """Its batched_get_non_blocking answers what stands behind a miss as well."""

    async def batched_get_non_blocking(self, lookup_id: str, keys: Any) -> Any:  # noqa: ARG002
        """All that there are."""
        return [found for found in await self.batched_get(keys) if found is not None]


@remote_mutant(
    "connector-keeps-the-rest",
    stands_for="a list that is cut at the first miss, and whose rest nobody looks at",
    releases="0.3.9.post1 and later",
    found_by=("remote.batches.prefix", "remote.backend.lookup"),
)
class KeepsTheRest(FileConnector):
    """Its batched_get_non_blocking does not give back what it read behind a miss."""

    async def batched_get_non_blocking(self, lookup_id: str, keys: Any) -> Any:  # noqa: ARG002
        """Those before the first miss."""
        found = [*await self.batched_get(keys), None]
        return found[: found.index(None)]


@remote_mutant(
    "connector-one-name-for-all",
    stands_for="a temporary file with a fixed name",
    found_by=("remote.loop.at-once",),
)
class OneNameForAll(FileConnector):
    """All puts that are under way write into the same file first."""

    def _write(self, key: str, memory_obj: Any) -> None:
        super()._write(key, memory_obj)
        path, beside = self.files.path(key), self.files.folder / "upload.tmp"
        data = path.read_bytes()
        path.unlink(missing_ok=True)
        with beside.open("wb") as file:
            for start in range(0, len(data), 512):
                file.write(data[start : start + 512])
                file.flush()
        beside.replace(path)
