"""Why two releases make different keys of the same tokens, read off their captures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fixturegen.corpus import load_corpus
from harness.compat.frames_of import PLAIN_KEY, frames_of
from wire.release import Release

Spelling = Literal["a hexadecimal number", "a decimal number", "a hexadecimal digest"]
Chain = Literal["text", "(prefix, tokens)", "(prefix, tokens, None)", "(prefix, tokens, ())"]

_THIRDS: Final[Mapping[str, Chain]] = {
    "absent": "(prefix, tokens)",
    "none": "(prefix, tokens, None)",
    "empty tuple": "(prefix, tokens, ())",
}


@dataclass(frozen=True)
class Parts:
    """A captured key text in its parts."""

    prefix: bool
    """The engine's name stands in front."""
    world: str
    chunk_hash: str
    dtype: str | None
    rest: tuple[str, ...]
    """Layer and tags."""


@dataclass(frozen=True)
class KeyFacts:
    """What decides about the keys of a release."""

    prefix: bool
    spelling: Spelling
    dtype: bool
    """The dtype is part of the key."""
    chain: Chain
    digests: Any
    """What the key and the next step of the chain are given for digests; None where the chain takes none."""
    chunk_size: int
    saves_unfull: bool

    @property
    def use_of_digests(self) -> str:
        """What becomes of a digest in the key and in the chain."""
        (first, *_), _ = self.digests
        return "whole" if "bytes" in first else "as integers of their first 8 bytes"


@functools.lru_cache(maxsize=64)
def facts_of(release: Release) -> KeyFacts:
    """The facts of a release, all of them from its captures.

    Raises:
        CorpusError: the release is not captured, or lacks what is needed.
    """
    corpus = load_corpus(release)
    plain = frames_of(release).key(PLAIN_KEY)
    parts = parts_of(plain.text, plain.identity)
    chains = {vector.id: vector for vector in corpus.vectors.get("chain_inputs", ()) if vector.ok is not None}
    defaults = corpus.vector("lm.defaults").answer
    ints, digests = chains.get("lm.chain.ints"), chains.get("lm.chain.bytes")
    return KeyFacts(
        prefix=parts.prefix,
        spelling=_spelling(parts.chunk_hash, plain.identity["chunk_hash"]),
        dtype=parts.dtype is not None,
        chain="text" if ints is None else _THIRDS[ints.answer["steps"][0]["third"]],
        digests=None if digests is None else [digests.answer["hashes"], [step["prefix"] for step in digests.answer["steps"]]],
        chunk_size=defaults["chunk_size"],
        saves_unfull=defaults["save_unfull_chunk"],
    )


def parts_of(text: str, identity: Mapping[str, Any]) -> Parts:
    """Take a captured key text apart; ``identity`` is what it was made of (a key, or the arguments of chunk keys)."""
    fmt = identity.get("fmt")
    prefix = fmt is not None and text.startswith(f"{fmt}@")
    rest = text.removeprefix(f"{fmt}@") if prefix else text
    _, _, behind = rest.removeprefix(identity["model"]).partition("@")
    world, _worker, chunk_hash, *others = behind.split("@")
    dtype = others.pop(0) if identity.get("dtype") is not None else None
    return Parts(prefix, world, chunk_hash, dtype, tuple(others))


def _spelling(text: str, value: Mapping[str, str]) -> Spelling:
    if "text" in value:
        return "a hexadecimal digest"
    return "a decimal number" if text == value["int"] else "a hexadecimal number"


@dataclass(frozen=True)
class Difference:
    """One way in which the keys of two releases differ."""

    kind: Literal[
        "fmt prefix",
        "dtype in key",
        "dtype name",
        "world size",
        "hash spelling",
        "hash function",
        "chain",
        "text chain",
        "chunk size",
        "fold",
    ]
    words: str

    @property
    def of_tokens(self) -> bool:
        """It lies in how tokens become hashes; a hash that is given is not touched by it."""
        return self.kind in {"hash function", "chain", "text chain", "chunk size", "fold"}

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}"


def differences(stores: KeyFacts, asks: KeyFacts) -> list[Difference]:
    """Why plain tokens have different keys; empty if the captures know of nothing."""
    return [found for compare in _COMPARISONS if (found := compare(stores, asks)) is not None]


def dtype_name(stored: Parts, asked: Parts) -> list[Difference]:
    """The two names of one dtype, if there are two."""
    if None in {stored.dtype, asked.dtype} or stored.dtype == asked.dtype:
        return []
    return [Difference("dtype name", f"stored as {stored.dtype}, asked for as {asked.dtype}")]


def world_size(stored: Parts, asked: Parts) -> list[Difference]:
    """The world sizes of keys of one deployment, if they differ."""
    if stored.world == asked.world:
        return []
    words = f"stored with {stored.world}, asked for with {asked.world}, as with latent attention the first rank alone saves"
    return [Difference("world size", words)]


def hash_function(stored: str | None, asked: str | None) -> list[Difference]:
    """The functions that two releases find for one setting beside the same vLLM, if they differ."""
    if stored is None or asked is None or stored == asked:
        return []
    return [Difference("hash function", f"with the same settings {stored} is found for storing, and {asked} for asking")]


def fold(stores: KeyFacts, asks: KeyFacts) -> list[Difference]:
    """What becomes of digests on both sides, if it is not the same; it matters for hash functions that give digests alone."""
    if stores.digests is None or asks.digests is None or stores.digests == asks.digests:
        return []
    return [Difference("fold", f"digests are stored {stores.use_of_digests}, and asked for {asks.use_of_digests}")]


def _prefix(stores: KeyFacts, asks: KeyFacts) -> Difference | None:
    if stores.prefix == asks.prefix:
        return None
    words = f"stored {_with(stores.prefix)} the engine's name in front, asked for {_with(asks.prefix)} it"
    return Difference("fmt prefix", words)


def _dtype(stores: KeyFacts, asks: KeyFacts) -> Difference | None:
    if stores.dtype == asks.dtype:
        return None
    return Difference("dtype in key", f"stored {_with(stores.dtype)} a dtype, asked for {_with(asks.dtype)} one")


def _hash_spelling(stores: KeyFacts, asks: KeyFacts) -> Difference | None:
    if stores.spelling == asks.spelling:
        return None
    return Difference("hash spelling", f"stored as {stores.spelling}, asked for as {asks.spelling}")


def _chain(stores: KeyFacts, asks: KeyFacts) -> Difference | None:
    if stores.chain == asks.chain:
        return None
    if "text" in {stores.chain, asks.chain}:
        return Difference("text chain", f"stored with {_hashes(stores.chain)}, asked for with {_hashes(asks.chain)}")
    return Difference("chain", f"stored with {_hashes(stores.chain)}, asked for with {_hashes(asks.chain)}")


def _chunk_size(stores: KeyFacts, asks: KeyFacts) -> Difference | None:
    if stores.chunk_size == asks.chunk_size:
        return None
    return Difference("chunk size", f"stored in chunks of {stores.chunk_size} tokens, asked for in chunks of {asks.chunk_size}")


def _with(present: bool) -> str:
    return "with" if present else "without"


def _hashes(chain: Chain) -> str:
    return "sha256 digests of text" if chain == "text" else f"hashes of {chain}"


_COMPARISONS: Final[Sequence[Callable[[KeyFacts, KeyFacts], Difference | None]]] = (
    _prefix,
    _dtype,
    _hash_spelling,
    _chain,
    _chunk_size,
)
