"""The lmcache-driven data path without a GPU: the server copies from and to tensors of the engine in shared memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Self

from msgspec.msgpack import Ext

from fixturegen.environment import PinnedEnvironment
from fixturegen.errors import CaptureError
from fixturegen.mp.launch import CPU_TENSORS
from fixturegen.mp.memory import SEGMENT_NAME_LENGTH
from fixturegen.mp.script import CHUNK, HIDDEN, SETTLED, Key, Script, tokens
from fixturegen.vector import Json, raw
from wire.mp.frames import encode_request
from wire.mp.operations import operation_table
from wire.mp.values import Value
from wire.release import Release

BLOCKS: Final = 8
BLOCK_BYTES: Final = CHUNK * HIDDEN * 2
"""The keys, or the values, of one block as float16; a block has as many tokens as a chunk."""
SHAPE: Final = (2, BLOCKS, 1, CHUNK, HIDDEN)
"""Keys and values, blocks, heads, tokens of a block, size of a head: the order that lmcache assumes on a CPU."""
SIZE: Final = 2 * BLOCKS * BLOCK_BYTES
SEGMENT: Final = "the client's shared memory has a name that is unique on the machine"
EVENT: Final = b""
"""Without a device there is no event to wait for."""
_PLACEHOLDER: Final = "/" + "0" * SEGMENT_NAME_LENGTH

PROBE_TIMEOUT: Final = 120.0


def scripts(release: Release, environment: PinnedEnvironment) -> Iterator[Script]:
    """The scripts of a release; none where its server takes no such tensors.

    Raises:
        EnvironmentUnavailable: the real class that describes a tensor cannot be asked.
    """
    if not CPU_TENSORS[release]:
        return
    wrapper = wrapped(release, environment)
    streams = EVENTS if "SUBSCRIBE_KV_EVENTS" in operation_table(release) else {}
    for name, (title, build) in {**BUILDS, **streams}.items():
        script = TensorScript(release, name, title, wrapper)
        build(script)
        yield script


def wrapped(release: Release, environment: PinnedEnvironment) -> bytes:
    """What the real class writes for the tensor of these scenarios, with zeros for the name of its memory.

    Raises:
        EnvironmentUnavailable: the pinned environment cannot be used.
        CaptureError: the class refuses.
    """
    strides = [1]
    for size in reversed(SHAPE[1:]):
        strides.insert(0, strides[0] * size)
    fields: dict[str, Json] = {
        "shm_name": _PLACEHOLDER,
        "nbytes": SIZE,
        "handle": None,
        "dtype": "float16",
        "shape": list(SHAPE),
        "stride": strides,
        "storage_offset": 0,
        "device_uuid": "cpu",
    }
    question = {"id": "tensor", "op": "mp_encode_registration", "args": {"wrapper": "CpuShmTensorWrapper", "fields": fields}}
    outcome = environment.run_mp_probe(release, {"vectors": [question]}, timeout=PROBE_TIMEOUT)["outcomes"]["tensor"]
    if "ok" not in outcome:
        raise CaptureError(f"lmcache {release} describes no tensor in shared memory: {outcome}")
    return raw(outcome["ok"]["bytes"])


class TensorScript(Script):
    """Steps of an engine whose KV cache is one layer in shared memory."""

    def __init__(self, release: Release, name: str, title: str, wrapper: bytes) -> None:
        super().__init__(release, name, title, "cpu-tensors")
        self._wrapper = wrapper

    def cache(self) -> Self:
        """Make the KV cache."""
        self.bound["cache"] = SEGMENT
        return self._add("segment", None, name="cache", size=SIZE)

    def register_tensors(self, instance: int | None = None, *, within: float | None = None) -> Self:
        """Register the KV cache."""
        worker = self.instance if instance is None else instance
        payloads: list[Value] = [worker, [Ext(1, self._wrapper)], self.model, 1, "vllm", {}, []]
        frames: list[Json] = [frame.hex() for frame in (self.uid(), *encode_request(self.table, "REGISTER_KV_CACHE", payloads))]
        before, _, behind = frames[3].partition(_PLACEHOLDER[1:].encode().hex())
        frames[3] = {"parts": [before, {"bound": "cache"}, behind]}
        return self._add("send", "a", frames=frames).receive(within=within)

    def write_block(self, block: int, seed: int) -> Self:
        """Fill a block: its keys from the pattern of the seed, its values from that of the next."""
        for plane in range(2):
            pattern = {"seed": seed + plane, "length": BLOCK_BYTES}
            self._add("shm-write", None, segment="cache", at=_place(plane, block), pattern=pattern)
        return self

    def read_block(self, block: int) -> Self:
        """Read a block."""
        for plane in range(2):
            self._add("shm-read", None, segment="cache", at=_place(plane, block), length=BLOCK_BYTES)
        return self

    def store_blocks(self, key: Key, blocks: list[int], instance: int | None = None) -> Self:
        """Have the server copy blocks away."""
        worker = self.instance if instance is None else instance
        return self.ask("STORE", key.record(self.release), worker, [blocks], EVENT, within=SETTLED)

    def retrieve_blocks(self, key: Key, blocks: list[int], *, skip: int = 0, instance: int | None = None) -> Self:
        """Have the server copy into blocks."""
        worker = self.instance if instance is None else instance
        return self.ask("RETRIEVE", key.record(self.release), worker, [blocks], EVENT, skip, within=SETTLED)


def _place(plane: int, block: int) -> int:
    return plane * BLOCKS * BLOCK_BYTES + block * BLOCK_BYTES


def _round_trip(script: TensorScript) -> None:
    key = script.key(tokens(2))
    script.cache().register_tensors().count().write_block(1, 10).write_block(3, 20).store_blocks(key, [1, 3]).status()
    script.lookup(key).status().retrieve_blocks(key, [5, 2]).status().read_block(5).read_block(2).read_block(4)
    script.end(key).clear().status()


def _without_lookup(script: TensorScript) -> None:
    key = script.key(tokens(1))
    script.cache().register_tensors().write_block(1, 10).store_blocks(key, [1])
    script.retrieve_blocks(script.key(tokens(1), "r2"), [2]).read_block(2)


def _not_registered(script: TensorScript) -> None:
    key = script.key(tokens(1))
    script.store_blocks(key, [1]).lookup(key).retrieve_blocks(key, [1]).ask("UNREGISTER_KV_CACHE", script.instance).alive()


def _few_blocks(script: TensorScript) -> None:
    key = script.key(tokens(2))
    script.cache().register_tensors().count().write_block(1, 10).store_blocks(key, [1]).status().lookup(key)


def _null_block(script: TensorScript) -> None:
    key = script.key(tokens(2))
    script.cache().register_tensors().count().write_block(0, 10).write_block(1, 20).store_blocks(key, [1, 0]).status().lookup(key)


def _again(script: TensorScript) -> None:
    script.cache()
    script.register_tensors().ask("UNREGISTER_KV_CACHE", script.instance).register_tensors()
    script.ask("UNREGISTER_KV_CACHE", script.instance).alive()


def _kv_events(script: TensorScript) -> None:
    script.cache().register_tensors().subscribe().write_block(1, 10).write_block(2, 20)
    script.store_blocks(script.key(tokens(2)), [1, 2]).batch()
    script.acknowledge().clear().batch().acknowledge().unsubscribe()


BUILDS: Final[dict[str, tuple[str, Callable[[TensorScript], object]]]] = {
    "round-trip": ("Two blocks are stored, and retrieved into two others.", _round_trip),
    "no-lookup": ("A retrieve without a lookup leaves the block as it is.", _without_lookup),
    "not-registered": ("An engine that never registered.", _not_registered),
    "few-blocks": ("Fewer blocks than the range of the key has.", _few_blocks),
    "null-block": ("A block that means that there is no data.", _null_block),
    "registered-again": ("A registration that is taken back and made anew.", _again),
}
EVENTS: Final[dict[str, tuple[str, Callable[[TensorScript], object]]]] = {
    "kv-events-of-tensors": ("A subscription to what is stored and removed, until it is cancelled.", _kv_events)
}
