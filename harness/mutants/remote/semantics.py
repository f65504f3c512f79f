"""Connectors that answer something else than what was stored."""

from __future__ import annotations

from typing import Any

from harness.mutants.marks import remote_mutant
from harness.reference.remote.connector import FileConnector


class Changed(FileConnector):
    """Something is wrong with what a get answers."""

    def change(self, shape: tuple[int, ...], dtype: str | None, fmt: str) -> tuple[tuple[int, ...], str | None, str]:
        """What to allocate instead of this."""
        return shape, dtype, fmt

    def _allocate(self, shape: tuple[int, ...], dtype: str | None, fmt: str) -> Any:
        return super()._allocate(*self.change(shape, dtype, fmt))


@remote_mutant(
    "connector-one-format",
    stands_for="a connector that was only tried with one kind of model",
    found_by=("remote.roundtrip.stored[*latent]", "remote.roundtrip.layer-by-layer"),
)
class OneFormat(Changed):
    """Whatever was stored comes back in the format of ordinary attention."""

    def change(self, shape: tuple[int, ...], dtype: str | None, fmt: str) -> tuple[tuple[int, ...], str | None, str]:
        """The format."""
        return shape, dtype, fmt if fmt.startswith("BINARY") else "KV_2LTD"


@remote_mutant(
    "connector-one-dtype",
    stands_for="a dtype that is known by its size alone",
    found_by=("remote.roundtrip.stored[*bfloat16]",),
)
class OneDtype(Changed):
    """What was stored as bfloat16 comes back as float16."""

    def change(self, shape: tuple[int, ...], dtype: str | None, fmt: str) -> tuple[tuple[int, ...], str | None, str]:
        """The dtype."""
        return shape, "float16" if dtype == "bfloat16" else dtype, fmt


@remote_mutant(
    "connector-flat-shapes",
    stands_for="shapes that are padded to four dimensions, and not shortened again",
    found_by=("remote.roundtrip.layer-by-layer",),
)
class FlatShapes(Changed):
    """A shape of three dimensions comes back with four."""

    def change(self, shape: tuple[int, ...], dtype: str | None, fmt: str) -> tuple[tuple[int, ...], str | None, str]:
        """The shape."""
        return (*shape, 1) if len(shape) == 3 else shape, dtype, fmt


@remote_mutant(
    "connector-swaps-dimensions",
    stands_for="a header whose fields are written in one order and read in another",
    found_by=("remote.roundtrip.stored[*odd]", "remote.roundtrip.stored*", "remote.roundtrip.without-metadata"),
)
class SwapsDimensions(Changed):
    """The last two numbers of a shape change places."""

    def change(self, shape: tuple[int, ...], dtype: str | None, fmt: str) -> tuple[tuple[int, ...], str | None, str]:
        """The shape."""
        return (*shape[:-2], shape[-1], shape[-2]) if len(shape) > 2 and not fmt.startswith("BINARY") else shape, dtype, fmt


@remote_mutant(
    "connector-full-chunks-only",
    stands_for="an object of the size of a full chunk, into which whatever comes is read",
    found_by=("remote.roundtrip.last-chunk", "remote.roundtrip.without-metadata"),
)
class FullChunksOnly(FileConnector):
    """A chunk with fewer tokens comes back with as many as a full one has."""

    def _load(self, key: str) -> Any:
        head, file = self.files.open(key)
        with file:
            if len(head.shape) == 4 and head.shape[2] < 16 and not head.format.startswith("BINARY"):
                found = self._allocate((*head.shape[:2], 16, head.shape[3]), head.dtype, head.format)
                file.readinto(memoryview(found.byte_array).cast("B"))  # type: ignore[attr-defined]
                return found
        return super()._load(key)


@remote_mutant(
    "connector-raises-for-a-miss",
    stands_for="a dictionary that is asked for what it does not have",
    found_by=("remote.roundtrip.nothing", "remote.loop.at-once"),
)
class RaisesForAMiss(FileConnector):
    """A get of what is not there raises KeyError."""

    async def get(self, key: Any) -> Any:
        """Answer it."""
        if not self.files.has(key.to_string()):
            raise KeyError(key.to_string())
        return await super().get(key)


@remote_mutant(
    "connector-remembers-what-was-not",
    stands_for="a cache of answers that stores do not empty",
    found_by=("remote.roundtrip.existence", "remote.backend.stored"),
)
class RemembersWhatWasNot(FileConnector):
    """What once was not there does not exist later either."""

    async def exists(self, key: Any) -> bool:
        """Whether there is one, or was none before."""
        if not hasattr(self, "absent"):
            self.absent: set[str] = set()
        text = key.to_string()
        there = text not in self.absent and await super().exists(key)
        if not there:
            self.absent.add(text)
        return there


@remote_mutant(
    "connector-says-yes-at-once",
    stands_for="an exists_sync that was written to be quick, as it is only a hint",
    releases="0.3.4 and later",
    found_by=("remote.roundtrip.existence-at-once", "remote.properties.history"),
)
class SaysYesAtOnce(FileConnector):
    """Its exists_sync answers True for everything."""

    def exists_sync(self, key: Any) -> bool:
        """True."""
        return key is not None


@remote_mutant(
    "connector-stores-once",
    stands_for="a file that is only ever created, so that the second writer of a prefix fails",
    found_by=("remote.roundtrip.stored-twice", "remote.durability.killed-while-storing"),
)
class StoresOnce(FileConnector):
    """A put of a key that is there raises."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store it."""
        if self.files.has(key.to_string()):
            raise FileExistsError(key.to_string())
        await super().put(key, memory_obj)


@remote_mutant(
    "connector-appends",
    stands_for="a file opened for appending",
    found_by=("remote.roundtrip.stored-twice",),
)
class Appends(FileConnector):
    """A key that is stored again has the bytes of both, of which none are answered."""

    async def put(self, key: Any, memory_obj: Any) -> None:
        """Store it behind what is there."""
        text = key.to_string()
        before = self.files.path(text).read_bytes() if self.files.has(text) else b""
        await super().put(key, memory_obj)
        path = self.files.path(text)
        path.write_bytes(before + path.read_bytes())


@remote_mutant(
    "connector-reads-once",
    stands_for="one read of a socket or pipe, which answers less than was asked for when it is much",
    found_by=("remote.roundtrip.large",),
)
class ReadsOnce(FileConnector):
    """Of a large chunk only the first 16 MiB are written."""

    def _write(self, key: str, memory_obj: Any) -> None:
        super()._write(key, memory_obj)
        path = self.files.path(key)
        if path.stat().st_size > 17 << 20:
            with path.open("r+b") as file:
                file.truncate(16 << 20)


@remote_mutant(
    "connector-tensors-only",
    stands_for="code that asks every object for its dtype",
    found_by=("remote.roundtrip.compressed",),
)
class TensorsOnly(FileConnector):
    """It cannot store plain bytes."""

    def _write(self, key: str, memory_obj: Any) -> None:
        memory_obj.get_dtype().itemsize  # noqa: B018  # None has no such attribute
        super()._write(key, memory_obj)


@remote_mutant(
    "connector-lists-files",
    stands_for="``[path.stem for path in folder.iterdir()]``",
    found_by=("remote.roundtrip.listing",),
)
class ListsFiles(FileConnector):
    """Its list answers the names of its files."""

    async def list(self) -> list[str]:
        """Names."""
        return [path.stem for path in self.files.folder.iterdir()]


@remote_mutant(
    "connector-removes-nothing",
    stands_for="a remove that was left for later",
    releases="0.3.9 and later",
    found_by=("remote.roundtrip.removed", "remote.properties.history"),
)
class RemovesNothing(FileConnector):
    """Its remove_sync says that it is done, and does nothing."""

    def remove_sync(self, key: Any) -> bool:
        """Whether there is one."""
        return self.files.has(key.to_string())
