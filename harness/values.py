"""Values that cases store and load: a payload with its format, dtype and shape, and keys that no other test uses."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fixturegen.inputs import identities, samples
from fixturegen.vector import patterned
from harness.per_process import PerProcess
from wire.lm.profile import LmProfile
from wire.release import Release


@dataclass(frozen=True)
class Value:
    """A payload and its description, consistent with each other."""

    payload: bytes
    format: str
    dtype: str | None
    shape: tuple[int, ...]

    @property
    def expect(self) -> dict[str, Any]:
        """What a client says that it expects of a ``get``."""
        return {"format": self.format, "dtype": self.dtype, "shape": list(self.shape)}

    @property
    def stored(self) -> dict[str, Any]:
        """The members of a ``put`` that describe the value."""
        return {**self.expect, "location": None, "payload": self.payload}


def sample(profile: LmProfile, format_name: str = "KV_2LTD", dtype: str = "float16", *, seed: int = 1) -> Value:
    """A small value of a format."""
    about = samples.sample(profile, format_name, dtype)
    return Value(patterned(seed, about.length), about.format, about.dtype, about.shape)


def binary(payload: bytes, format_name: str = "BINARY") -> Value:
    """Plain bytes as a value."""
    return Value(payload, format_name, "uint8", (len(payload), 0, 0, 0))


storable_formats = samples.storable_formats


class Keys:
    """Makes keys of the contract under a model name that no other test and no other run uses."""

    _numbers = itertools.count(1)
    _run = PerProcess(lambda: uuid.uuid4().hex[:8])

    def __init__(self, release: Release) -> None:
        self.release = release
        self.model = f"lmconform/{self._run.value}/{next(self._numbers)}"

    def __call__(self, **changes: Any) -> dict[str, Any]:
        """A key; give parts to change, and ``hash`` as an integer."""
        if "hash" in changes:
            changes["chunk_hash"] = identities.chunk_hash(self.release, changes.pop("hash"))
        return identities.key(self.release, **{"model": self.model, **changes})

    def several(self, count: int) -> Sequence[dict[str, Any]]:
        """Keys that differ in their hash."""
        return [self(hash=0x1000 + index) for index in range(count)]
