"""Keys and chunks for cases about the multiprocess server, of models and requests that no other test and no other run uses."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping
from typing import Any, Final

from fixturegen.vector import patterned
from harness.mp.targets import CHUNK_SIZE
from harness.per_process import PerProcess
from wire.mp.records import key_record
from wire.release import Release

ELEMENT_SIZES: Final = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "uint8": 1}
"""Bytes of an element."""


class MpKeys:
    """Makes mp keys of the contract; all of one maker have one model, and each has a request id of its own."""

    _numbers = itertools.count(1)
    _run = PerProcess(lambda: uuid.uuid4().hex[:8])

    def __init__(self, release: Release) -> None:
        self.release = release
        self._number = next(self._numbers)
        self.model = f"lmconform/{self._run.value}/{self._number}"
        self.instance = 1000 + self._number
        """An instance id that no other maker of this process has."""

    def __call__(self, chunks: int = 2, *, first: int | None = None, **changes: Any) -> dict[str, Any]:
        """A key for so many whole chunks, whose tokens begin with ``first``; give members to change."""
        count = chunks * CHUNK_SIZE
        begin = self._number * 100_000 if first is None else first
        return {
            "model_name": self.model,
            "world_size": 1,
            "worker_id": 0,
            "tokens": list(range(begin, begin + count)),
            "start": 0,
            "end": count,
            "request_id": self.request_id(),
            "cache_salt": "",
            **changes,
        }

    def request_id(self) -> str:
        """A request id that nobody else has."""
        return f"lmconform-{self._run.value}-{next(self._numbers)}"

    def context(self, **changes: Any) -> dict[str, Any]:
        """A small layout of this model: 1024 bytes a chunk."""
        return {
            "model_name": self.model,
            "world_size": 1,
            "block_size": CHUNK_SIZE,
            "num_layers": 2,
            "hidden_dim_size": 8,
            "dtype": "float16",
            "use_mla": False,
            **changes,
        }

    def chunk_bytes(self, context: Mapping[str, Any]) -> int:
        """The length of a chunk of a layout."""
        halves = 1 if context["use_mla"] else 2
        elements = halves * context["num_layers"] * CHUNK_SIZE * context["hidden_dim_size"]
        return int(elements * ELEMENT_SIZES[context["dtype"]])

    def chunks(self, count: int, context: Mapping[str, Any] | None = None, *, seed: int = 1) -> list[bytes]:
        """Bytes of so many chunks, each different from the others."""
        length = self.chunk_bytes(context or self.context())
        return [patterned(seed + index, length) for index in range(count)]

    def record(self, key: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """The key record that a client sends for an mp key: a value of the pure operations."""
        found = {**key, "token_ids": key["tokens"], "chunk_hash": None, "request_configs": key.get("request_configs")}
        found["num_kv_readers"] = key.get("num_kv_readers", 1)
        found |= changes
        return key_record(self.release, found)
