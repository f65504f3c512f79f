"""Chunk keys that hold in another process: the chain that the harness asks clients for, and keys read from key strings."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fixturegen.inputs import identities
from harness.captures import Vector
from harness.case import answered
from wire.errors import DecodeError
from wire.keys import KEY_GRAMMARS, parse_key
from wire.release import Release

_DIGEST: Final = 64
"""Digits of a hash that is a digest; the longest integer has 17."""


@dataclass(frozen=True)
class Chain:
    """What a chunk chain starts from and hashes with, as ``chunk_keys`` takes it."""

    algorithm: str
    none_hash: Mapping[str, str]
    returns: str | None

    @property
    def args(self) -> dict[str, Any]:
        """The members of ``chunk_keys``."""
        given = {"algorithm": self.algorithm, "none_hash": dict(self.none_hash)}
        return given if self.returns is None else {**given, "returns": self.returns}


@functools.cache
def portable_chain(release: Release) -> Chain | None:
    """A chain that the real lmcache of a release was seen to make the same keys with in two processes, CBOR if there is one.

    None for 0.3.9 and 0.3.9.post1: what they can write into keys are hashes of ``builtin``, with an address in them before
    CPython 3.12.
    """
    deployed = answered("deployment_keys", lambda vector: _shows_keys(vector) and not vector.args["mla"])(release)
    chains = [_deployed(variant.value) for variant in deployed]
    chains += [_asked(variant.value) for variant in answered("chunk_keys", _shows_keys)(release)]
    usable = [chain for chain in chains if chain.algorithm not in {"sha256", "xxhash"}]
    return max(usable, key=lambda chain: ("sha256_cbor" in chain.algorithm, chain.returns == "bytes"), default=None)


def _shows_keys(vector: Vector) -> bool:
    return vector.volatile is None and bool(vector.answer["chunks"])


def _deployed(vector: Vector) -> Chain:
    function = vector.answer["function"].rpartition(".")[2]
    return Chain(function, vector.answer["none_hash"], vector.answer["returns"])


def _asked(vector: Vector) -> Chain:
    return Chain(vector.args["algorithm"], vector.args["none_hash"], None)


def identity(release: Release, model: str, dtype: str) -> dict[str, Any]:
    """What an engine puts into all of its keys."""
    parts = identities.identity(release)
    return {**parts, "model": model, "dtype": dtype if parts["dtype"] is not None else None}


def read_key(release: Release, text: str) -> dict[str, Any]:
    """The key of the contract that a key string stands for, its hash as it is written.

    0.3.4 and 0.3.5 write a decimal number and read it in base 16: a client is asked to store under what was written.

    Raises:
        DecodeError: it is no key string of the release.
    """
    key = parse_key(release, text)
    grammar = KEY_GRAMMARS[release]
    written = text.split("@")[3 + grammar.prefix]
    if grammar.hash_style == "text":
        number = {"text": written}
    elif len(written) == _DIGEST:
        number = {"bytes": written}
    else:
        try:
            number = {"int": str(int(written, 16 if grammar.hash_style == "hex" else 10))}
        except ValueError:
            raise DecodeError(f"key {text!r}: the hash {written!r} is no number as lmcache {release} writes it") from None
    return {
        "model": key.model,
        "world_size": key.world_size,
        "worker_id": key.worker_id,
        "chunk_hash": number,
        "dtype": key.dtype,
        "fmt": key.fmt,
        "layer": key.layer,
        "tags": [list(tag) for tag in key.tags],
    }
