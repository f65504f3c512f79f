"""How a release chains the hashes of chunks, inferred from what it hands to its hash function."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from fixturegen.vector import MASKED, Vector
from reports.drift.observe.evidence import Evidence, refusal
from reports.drift.observe.keystring import KeyString
from wire.hashes import tuple_hash

Hash = Mapping[str, str]
"""A hash of the client protocol: ``int``, ``bytes`` or ``text``."""

UNCHANGED: Final = "all bytes"
_FOLDS: Final[Mapping[str, Callable[[bytes], int]]] = MappingProxyType(
    {
        "the first 8 bytes as a big-endian integer": lambda digest: int.from_bytes(digest[:8], "big"),
        "the last 8 bytes as a big-endian integer": lambda digest: int.from_bytes(digest[-8:], "big"),
        "the first 8 bytes as a little-endian integer": lambda digest: int.from_bytes(digest[:8], "little"),
        "the last 8 bytes as a little-endian integer": lambda digest: int.from_bytes(digest[-8:], "little"),
        "all bytes as a big-endian integer": lambda digest: int.from_bytes(digest, "big"),
    }
)
UNKNOWN_FOLD: Final = "something that no rule here matches"
TEXT_CHAIN: Final = "sha256 over the hexadecimal digits of the previous digest and the tokens as little-endian uint32"


@dataclass(frozen=True)
class Chain:
    """The chain of a release."""

    third: str | None
    """What stands behind previous hash and tokens: ``absent``, ``none``, ``empty tuple``; None if it could not be seen."""
    refused: str | None
    """Why it could not be seen."""
    in_chain: str | None
    """What happens to digests before they are chained; None if that could not be seen."""
    in_key: str | None
    """What happens to digests before they become part of a key."""
    text_chain: bool
    """All captured keys follow the text chain of early releases."""
    unexplained: tuple[str, ...]
    """``chain_inputs`` vectors that these rules do not give."""

    @property
    def input(self) -> str:
        """What is hashed, in words."""
        if self.text_chain:
            return TEXT_CHAIN
        if self.third is None:
            return "not seen"
        last = {"absent": "", "none": ", None"}.get(self.third, f", {self.third}")
        return f"(previous hash, tokens{last})"


def infer_chain(evidence: Evidence, strings: KeyString | None) -> Chain:
    """The chain that the captured ``chain_inputs`` and ``chunk_keys`` vectors show."""
    vectors = evidence.of("chain_inputs")
    answered = [(vector, vector.ok) for vector in vectors if vector.ok is not None]
    thirds = {step["third"] for _, ok in answered for step in ok["steps"]}
    third = thirds.pop() if len(thirds) == 1 else None
    in_chain = _fold(pair for vector, ok in answered for pair in _chained(vector, ok))
    in_key = _fold(pair for vector, ok in answered for pair in _keyed(vector, ok))
    refused = next((refusal(vector) for vector in vectors if vector.ok is None), None)
    chunks = evidence.of("chunk_keys")
    texts = (
        strings is not None and strings.text_hash and bool(chunks) and all(_is_text_chain(vector, strings) for vector in chunks)
    )
    unexplained = tuple(vector.id for vector, ok in answered if third is None or not _steps_as_expected(vector, ok))
    return Chain(third, refused, in_chain, in_key, texts, unexplained)


def _pieces(args: Mapping[str, Any]) -> list[list[int]]:
    size = args["chunk_size"]
    found = [args["tokens"][start : start + size] for start in range(0, len(args["tokens"]), size)]
    return found if args["save_unfull_chunk"] else [piece for piece in found if len(piece) == size]


def _chained(vector: Vector, ok: Mapping[str, Any]) -> list[tuple[Hash, Hash]]:
    """What the hash function gave, and what came back to it with the next chunk."""
    return list(zip(vector.args["answers"], (step["prefix"] for step in ok["steps"][1:]), strict=False))


def _keyed(vector: Vector, ok: Mapping[str, Any]) -> list[tuple[Hash, Hash]]:
    """What the hash function gave, and what became of it in the key."""
    given = vector.args["answers"][: len(ok["steps"])]
    return list(zip(given[len(given) - len(ok["hashes"]) :], ok["hashes"], strict=True))


def _fold(pairs: Any) -> str | None:
    """The one rule that turns every digest into what it became; None where there are no digests."""
    digests = [(bytes.fromhex(given["bytes"]), became) for given, became in pairs if "bytes" in given]
    if not digests:
        return None
    if all(became.get("bytes") == given.hex() for given, became in digests):
        return UNCHANGED
    for name, fold in _FOLDS.items():
        if all(became.get("int") == str(fold(given)) for given, became in digests):
            return name
    return UNKNOWN_FOLD


def _steps_as_expected(vector: Vector, ok: Mapping[str, Any]) -> bool:
    """The steps hash one chunk after the other, start from the starting hash, and change no integer."""
    pieces = _pieces(vector.args)
    steps = ok["steps"]
    integers = all(became == given for given, became in _chained(vector, ok) + _keyed(vector, ok) if "bytes" not in given)
    return (
        [step["tokens"] for step in steps] == pieces
        and integers
        and (not steps or steps[0]["prefix"] == vector.args["none_hash"])
    )


def _is_text_chain(vector: Vector, strings: KeyString) -> bool:
    if vector.ok is None:
        return True
    previous, hashes = "", {}
    for index, piece in enumerate(_pieces(vector.args)):
        previous = hashlib.sha256(previous.encode() + struct.pack(f"<{len(piece)}I", *piece)).hexdigest()
        hashes[index * vector.args["chunk_size"]] = previous
    return all(key_hash(chunk["key"], strings) == hashes.get(chunk["start"]) for chunk in vector.ok["chunks"])


def key_hash(text: Any, strings: KeyString) -> str | None:
    """The hash part of a key string as it is written; None if the key is masked or follows another pattern."""
    parts = strings.split(text) if isinstance(text, str) else None
    return None if parts is None else parts.get("chunk_hash")


def builtin_keys(vectors: Sequence[Vector], chain: Chain, strings: KeyString) -> tuple[int, int]:
    """Of the captured keys made with Python's own tuple hash: how many the chain gives, and how many are not masked."""
    right = seen = 0
    for vector in vectors:
        if vector.ok is None or vector.args["algorithm"] != "builtin" or "int" not in vector.args["none_hash"]:
            continue
        hashes = _builtin_chain(vector.args, chain)
        for chunk in vector.ok["chunks"]:
            if chunk["key"] != MASKED:
                seen += 1
                expected = hashes.get(chunk["start"])
                right += expected is not None and key_hash(chunk["key"], strings) == strings.part(
                    "chunk_hash", {"int": str(expected)}
                )
    return right, seen


def _builtin_chain(args: Mapping[str, Any], chain: Chain) -> dict[int, int]:
    if chain.third not in {"absent", "empty tuple"}:
        return {}
    last: tuple[object, ...] = ((),) if chain.third == "empty tuple" else ()
    previous, found = int(args["none_hash"]["int"]), {}
    for index, piece in enumerate(_pieces(args)):
        previous = tuple_hash((previous, tuple(piece), *last))
        found[index * args["chunk_size"]] = previous
    return found
