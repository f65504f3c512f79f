"""Keys that questions are asked about, in the contract's form and for the grammar of each release."""

from __future__ import annotations

from typing import Any

from wire.keys import KEY_GRAMMARS
from wire.release import Release

DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
ENGINE = "vllm"


def chunk_hash(release: Release, value: int | str = 0x1A2B3C4D5E6F7081) -> dict[str, str]:
    """A hash of the contract: the integer, or for releases whose hash is text a digest made of it."""
    if KEY_GRAMMARS[release].hash_style == "text":
        return {"text": value if isinstance(value, str) else f"{value & (2**256 - 1):064x}"}
    return {"int": str(value)}


def key(release: Release, **changes: Any) -> dict[str, Any]:
    """A key of the contract for a release: parts that its grammar lacks are null."""
    made = {**identity(release), "chunk_hash": chunk_hash(release), "layer": None}
    unknown = set(changes) - set(made)
    if unknown:
        raise ValueError(f"keys have no {', '.join(sorted(unknown))}")
    return {**made, **changes}


def identity(release: Release) -> dict[str, Any]:
    """What a process puts into all of its keys: model, ranks, dtype, engine and tags, as far as the grammar has them."""
    grammar = KEY_GRAMMARS[release]
    return {
        "model": "meta-llama/Llama-3.1-8B",
        "world_size": 1,
        "worker_id": 0,
        "dtype": "bfloat16" if grammar.dtype_names is not None else None,
        "fmt": ENGINE if grammar.prefix else None,
        "tags": [],
    }
