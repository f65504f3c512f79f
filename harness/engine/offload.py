"""The engine side of a cache: stores the chunks of a prompt through a client, and loads them as engines do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from harness.client import Miss
from harness.engine.chains import Chain, identity, read_key
from harness.engine.memory import CacheFormat, Memory
from harness.engine.prompts import ANSWER, CHUNK, SCATTERED, Prompt
from harness.engine.transformer import decode, prefill
from harness.judge import Judge
from harness.subject import Subject
from harness.targets import Server
from wire.errors import DecodeError
from wire.release import Release

Arranger = Literal["client", "model"]
"""Who turns paged memory into the bytes of a chunk, or back."""
Asking = Literal["exist", "get"]
"""How an engine finds out how much of a prompt is stored: it asks for each chunk first, or gets until one is missing."""
CITED: Final = "LAY-007"


@dataclass(frozen=True)
class Deployment:
    """What the engines that share a cache agree on."""

    release: Release
    chain: Chain
    cache: CacheFormat
    model: str


@dataclass(frozen=True)
class Chunk:
    """Tokens of a prompt, and the key that the client gave them."""

    number: int
    start: int
    end: int
    key: dict[str, Any]

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"chunk {self.number} (tokens {self.start} to {self.end - 1})"


@dataclass
class Engine:
    """One engine with its client, which is connected to the server."""

    deployment: Deployment
    client: Subject
    judge: Judge
    server: Server
    arranges: Arranger = "client"
    loaded: list[Chunk] = field(default_factory=list)
    """The chunks that the last prompt was served with, in their order."""
    holes: list[Chunk] = field(default_factory=list)
    """Those of them that the client had promised, and that did not come."""

    def __post_init__(self) -> None:
        self.connection = self.client.connect(self.server)

    def chunks(self, prompt: Prompt, *, unfull: bool = False) -> list[Chunk]:
        """The chunks of a prompt as the client cuts and names them."""
        it = self.deployment
        about = identity(it.release, it.model, it.cache.dtype)
        found = self.client.ok(
            "chunk_keys",
            tokens=list(prompt),
            chunk_size=CHUNK,
            save_unfull_chunk=unfull,
            skip=0,
            **it.chain.args,
            **about,
        )["chunks"]
        end = len(prompt) if unfull else len(prompt) - len(prompt) % CHUNK
        wanted = [{"start": start, "end": min(start + CHUNK, end)} for start in range(0, end, CHUNK)]
        cut = [{name: chunk[name] for name in ("start", "end")} for chunk in found]
        self.judge.same_value(wanted, cut, what="the list of chunks", source="the chunk size", cite="KEY-CHUNK-007")
        return [Chunk(number, chunk["start"], chunk["end"], self._key(chunk["key"])) for number, chunk in enumerate(found)]

    def store(
        self, memory: Memory, prompt: Prompt, *, only: Collection[int] = range(99), unfull: bool = False, as_prompt: Prompt = ()
    ) -> None:
        """Store the chunks of a prompt that is in memory; under the keys of another one, if one is given."""
        chunks = [chunk for chunk in self.chunks(as_prompt or prompt, unfull=unfull) if chunk.number in only]
        for chunk in chunks:
            about = self._about(chunk)
            payload = self._packed(memory, chunk)
            self.client.ok("put", connection=self.connection, key=chunk.key, location=None, payload=payload, **about)
        if chunks:
            # Nothing answers a put: once this is answered, every other client finds what was put before it.
            self.client.ok("exist", connection=self.connection, key=chunks[-1].key)

    def answer(self, prompt: Prompt, *, unfull: bool = False, asking: Asking = "exist") -> list[int]:
        """Load what is stored of a prompt into memory in which other things were, compute the rest, and go on."""
        self.memory = Memory(self.deployment.cache, SCATTERED)
        self.loaded, self.holes = [], []
        chunks = self.chunks(prompt, unfull=unfull)
        for chunk in self._promised(chunks) if asking == "exist" else chunks:
            payload = self._get(chunk)
            if payload is not None:
                self._unpack(chunk, payload)
            elif asking == "exist":
                self.holes.append(chunk)
            else:
                break
            self.loaded.append(chunk)
        computed = self.loaded[-1].end if self.loaded else 0
        return decode(self.memory, prompt, prefill(self.memory, prompt, computed=computed), ANSWER)

    def _promised(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """The chunks before the first that the client says is missing; the engine counts on them from here on."""
        found: list[Chunk] = []
        for chunk in chunks:
            if not self.client.ok("exist", connection=self.connection, key=chunk.key)["exists"]:
                break
            found.append(chunk)
        return found

    def _get(self, chunk: Chunk) -> bytes | None:
        about = self._about(chunk)
        answer = self.client.call("get", connection=self.connection, key=chunk.key, expect=about)
        if isinstance(answer, Miss):
            return None
        payload: bytes = self.judge.ok("get", answer, conformant=f"{chunk.name}, or a miss")["payload"]
        return payload

    def _packed(self, memory: Memory, chunk: Chunk) -> bytes:
        cache = self.deployment.cache
        if self.arranges == "model":
            return memory.chunk(chunk.start, chunk.end)
        got = self.client.ok(
            "pack_layout",
            format=cache.format,
            dtype=cache.dtype,
            paged=memory.paged.tobytes(),
            paged_shape=list(cache.paged_shape),
            slots=memory.slots(chunk.start, chunk.end),
        )
        shape = list(cache.chunk_shape(chunk.end - chunk.start))
        self.judge.same_value(shape, list(got["shape"]), what=f"the shape of {chunk.name}", source="the format of the chunk")
        payload: bytes = got["bytes"]
        self._has_size(chunk, payload, "pack_layout")
        return payload

    def _unpack(self, chunk: Chunk, payload: bytes) -> None:
        self._has_size(chunk, payload, "get")
        if self.arranges == "model":
            self.memory.place(chunk.start, chunk.end, payload)
            return
        cache, slots = self.deployment.cache, self.memory.slots(chunk.start, chunk.end)
        paged: bytes = self.client.ok(
            "unpack_layout",
            format=cache.format,
            dtype=cache.dtype,
            bytes=payload,
            shape=list(cache.chunk_shape(chunk.end - chunk.start)),
            slots=slots,
            paged_shape=list(cache.paged_shape),
        )["paged"]
        size = self.memory.paged.nbytes
        self.judge.holds(len(paged) == size, f"unpack_layout gave {len(paged)} bytes of paged memory that has {size}", cite=CITED)
        self.memory.fill(slots, paged)

    def _has_size(self, chunk: Chunk, payload: bytes, op: str) -> None:
        size = self.deployment.cache.chunk_size(chunk.end - chunk.start)
        self.judge.holds(len(payload) == size, f"{op} gave {len(payload)} bytes for {chunk.name}, which has {size}", cite=CITED)

    def _about(self, chunk: Chunk) -> dict[str, Any]:
        cache = self.deployment.cache
        return {"format": cache.format, "dtype": cache.dtype, "shape": list(cache.chunk_shape(chunk.end - chunk.start))}

    def _key(self, text: str) -> dict[str, Any]:
        try:
            return read_key(self.deployment.release, text)
        except DecodeError as error:
            self.judge.fail(f"chunk_keys gave what is no key string: {error}", cite="KEY-CHUNK-007")
