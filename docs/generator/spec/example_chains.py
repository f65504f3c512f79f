"""From tokens to key strings, step by step, for every kind of chain that was captured.

Every example ends with the key strings that lmcache made; where the steps lead elsewhere, nothing is written.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import xxhash
from blake3 import blake3

from docs.generator.spec.corpus import place, vector
from docs.generator.spec.words import spanned
from fixturegen.vector import Vector
from wire.chunks import CHUNK_CHAINS, TEXT_ALGORITHM, Third
from wire.deployments import BUILTIN
from wire.hashes import MERSENNE, NONE_TOKEN_HASH, TUPLE_LENGTH_MARK, TUPLE_PRIMES, tuple_hash
from wire.release import Release, ReleaseRange

_CBOR_THIRD: Final[dict[Third, tuple[tuple[bytes, str], ...]]] = {
    "absent": (),
    "none": ((b"\xf6", "None"),),
    "empty tuple": ((b"\x80", "the empty tuple"),),
}
_THIRD: Final[dict[Third, tuple[object, ...]]] = {"absent": (), "none": (None,), "empty tuple": ((),)}
_MOST_TOKENS: Final = 6
RETURNS_INTEGERS: Final = "0.10.1"
"""The captured vLLM whose hash functions return integers."""


class StepsDiffer(RuntimeError):
    """The steps of an example do not lead to what was captured."""


@dataclass(frozen=True)
class Row:
    """One line of an example: what it is, bytes or a number, and what they mean."""

    label: str
    shown: str
    meaning: str = ""


@dataclass(frozen=True)
class Example:
    """A vector, and the releases that chain like that."""

    release: str
    vector: str
    algorithm: str
    title: str
    chunks: int = 3
    """How many chunks are shown."""


_SMALL: Final = "lm.chunks.size-1"
_INTEGERS: Final = "lm.deployments.vllm-0.10.1.seed-0.sha256-cbor-64bit.size-1"
_DIGESTS: Final = "lm.deployments.vllm-0.28.0.seed-0.sha256-cbor.size-1"
_XXHASH: Final = "lm.deployments.vllm-0.28.0.seed-0.xxhash-cbor.three"
_EXAMPLES: Final = (
    Example("0.3.2", _SMALL, TEXT_ALGORITHM, "The text chain"),
    Example("0.3.3", _SMALL, BUILTIN, "`builtin`, a pair"),
    Example("0.3.7", _INTEGERS, "sha256_cbor_64bit", "`sha256_cbor_64bit`, which returns integers"),
    Example("0.3.15", _DIGESTS, "sha256_cbor", "`sha256_cbor`, which returns digests"),
    Example("0.4.5", _DIGESTS, "sha256_cbor", "`sha256_cbor`, with the empty tuple"),
    Example("0.5.6", _SMALL, BUILTIN, "`builtin`, with the empty tuple"),
    Example("0.5.6", _DIGESTS, "sha256_cbor", "`sha256_cbor`, folded"),
    Example("0.5.6", _XXHASH, "xxhash_cbor", "`xxhash_cbor`, folded", chunks=1),
)


def chains() -> str:
    """The examples below each other."""
    return "\n\n".join(_shown(example) for example in _EXAMPLES)


def _shown(example: Example) -> str:
    found = vector(example.release, example.vector)
    args = found.args
    span = next(span for span, _ in CHUNK_CHAINS.rows() if Release.parse(example.release) in span)
    about = f"tokens {', '.join(map(str, args['tokens'][:_MOST_TOKENS]))}{', ...' if len(args['tokens']) > _MOST_TOKENS else ''}"
    head = (
        f"{example.title}, {_releases(span)}, here of {example.release}: {about} in chunks of {args['chunk_size']} "
        f"({place(example.release, found)}):"
    )
    return f"{head}\n\n{block(_rows(example, found))}"


def _releases(span: ReleaseRange) -> str:
    """The releases whose chain has the same third element and folds alike: a default that changed is passed over."""
    chain = CHUNK_CHAINS[span.first]
    alike = [each for each, other in CHUNK_CHAINS.rows() if (other.third, other.folds) == (chain.third, chain.folds)]
    return spanned(ReleaseRange(alike[0].first, alike[-1].last))


def block(rows: Iterable[Row]) -> str:
    """Rows as a fenced block of three columns."""
    held = list(rows)
    first = max(len(row.label) for row in held)
    second = max(len(row.shown) for row in held if row.meaning)
    lines = [f"{row.label.ljust(first)}  {row.shown.ljust(second)}  {row.meaning}".rstrip() for row in held]
    return "\n".join(["```text", *lines, "```"])


def _rows(example: Example, found: Vector) -> Iterator[Row]:
    chain = CHUNK_CHAINS[Release.parse(example.release)]
    algorithm = example.algorithm
    previous, begin = _start(found, algorithm)
    yield from begin
    if chain.folds and isinstance(previous, bytes):
        previous, (row,) = _folded(previous)
        yield row
    size, tokens = found.args["chunk_size"], found.args["tokens"]
    for index in range(example.chunks):
        piece = tokens[index * size : (index + 1) * size]
        if index or begin:
            yield Row("", "")
        yield Row(f"chunk {index}", f"token {index}" if size == 1 else f"tokens {index * size} to {(index + 1) * size - 1}")
        if algorithm == TEXT_ALGORITHM:
            previous, rows = _text_step(previous, piece)
        elif algorithm == BUILTIN:
            previous, rows = _builtin_step(previous, piece, chain.third)
        else:
            previous, rows = _cbor_step(algorithm, previous, piece, chain.third)
            if found.args["vllm"] == RETURNS_INTEGERS:
                previous, more = _low_bits(previous)
                rows += more
            elif chain.folds:
                previous, more = _folded(previous)
                rows += more
        yield from rows
        key = found.answer["chunks"][index]["key"]
        written = _written(example.release, previous)
        if f"@{written}" not in key:
            raise StepsDiffer(f"{example.release} {example.vector}, chunk {index}: the steps give {written}, captured was {key}")
        yield Row("key", key)


def _written(release: str, value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, str) else str(value) if Release.parse(release) < Release.parse("0.3.6") else f"{value:x}"


def _start(found: Vector, algorithm: str) -> tuple[Any, list[Row]]:
    if algorithm == TEXT_ALGORITHM:
        return "", []
    captured = found.answer.get("none_hash") or found.args["none_hash"]
    if "int" in captured:
        value = int(captured["int"])
        if value == 0:
            return value, [Row("NONE_HASH", "0")]
        data, rows = _seeded(algorithm, found.args["seed"])
        low, more = _low_bits(data)
        if low != value:
            raise StepsDiffer(f"{found.id}: NONE_HASH is {value}, not {low}")
        return value, [*rows, *more]
    data, rows = _seeded(algorithm, found.args["seed"])
    if data.hex() != captured["bytes"]:
        raise StepsDiffer(f"{found.id}: NONE_HASH is {captured['bytes']}, not {data.hex()}")
    return data, rows


def _seeded(algorithm: str, seed: str) -> tuple[bytes, list[Row]]:
    text = bytes([0x60 + len(seed)]) + seed.encode()
    data = _digest(algorithm, text)
    return data, [
        Row("PYTHONHASHSEED", text.hex(" "), f'the text "{seed}" in CBOR'),
        Row("NONE_HASH", data.hex(), f"{_function(algorithm)} of it"),
    ]


def _digest(algorithm: str, data: bytes) -> bytes:
    return xxhash.xxh3_128_digest(data) if algorithm.startswith("xxhash") else hashlib.sha256(data).digest()


def _function(algorithm: str) -> str:
    return "XXH3 (128 bits)" if algorithm.startswith("xxhash") else "sha256"


def _folded(digest: bytes) -> tuple[int, list[Row]]:
    value = int.from_bytes(digest[:8], "big")
    return value, [Row("folded", f"{value:x}", f"its first 8 bytes, big-endian: {value}")]


def _low_bits(digest: bytes) -> tuple[int, list[Row]]:
    value = int.from_bytes(digest, "big") & ((1 << 64) - 1)
    return value, [Row("", f"{value:x}", f"its low 64 bits as an integer: {value}")]


def _text_step(previous: str, piece: Sequence[int]) -> tuple[str, list[Row]]:
    words = struct.pack(f"<{len(piece)}I", *piece)
    found = hashlib.sha256(previous.encode() + words).hexdigest()
    rows = [Row("hashed", f'"{previous}"', "the previous hash as text")]
    rows += [Row("", words[4 * index : 4 * index + 4].hex(" "), f"token {token}") for index, token in enumerate(piece)]
    return found, [*rows, Row("sha256", found)]


def _builtin_step(previous: int, piece: Sequence[int], third: Third) -> tuple[int, list[Row]]:
    tokens = tuple_hash(tuple(piece))
    parts = [("the previous hash", _integer_hash(previous)), (f"({', '.join(map(str, piece))},)", tokens)]
    parts += [("()", tuple_hash(()))] if third == "empty tuple" else []
    rows = [*_tuple_rows([(f"token {token}", _integer_hash(token)) for token in piece], "the tuple of tokens")]
    rows += _tuple_rows(parts, "the whole")
    found = tuple_hash((previous, tuple(piece), *_THIRD[third]))
    return found, [*rows, Row("hash", f"{found:x}", str(found))]


def _integer_hash(value: int) -> int:
    found = abs(value) % MERSENNE * (-1 if value < 0 else 1)
    return -2 if found == -1 else found


def _tuple_rows(elements: Sequence[tuple[str, int]], what: str) -> Iterator[Row]:
    prime_1, prime_2, prime_5 = TUPLE_PRIMES
    mask = (1 << 64) - 1
    held = prime_5
    yield Row(what, f"{held:016x}", "the accumulator")
    for name, lane in elements:
        held = (held + (lane & mask) * prime_2) & mask
        held = ((held << 31) | (held >> 33)) & mask
        held = held * prime_1 & mask
        yield Row("", f"{held:016x}", f"with {name}, of hash {lane}")
    held = (held + (len(elements) ^ (prime_5 ^ TUPLE_LENGTH_MARK))) & mask
    yield Row("", f"{held:016x}", f"with the number of elements, {len(elements)}")


def _cbor_step(algorithm: str, previous: Any, piece: Sequence[int], third: Third) -> tuple[bytes, list[Row]]:
    elements = 2 + len(_CBOR_THIRD[third])
    parts = [(_head(0x80, elements), f"array of {elements}")]
    about = f"the previous hash, {previous}" if isinstance(previous, int) else "the previous hash, 32 bytes"
    parts += [(_cbor(previous), about), (_head(0x80, len(piece)), f"array of {len(piece)}")]
    parts += [(_cbor(token), f"token {token}") for token in piece]
    parts += _CBOR_THIRD[third]
    rows = [Row("" if index else "hashed", _wrapped(data), meaning) for index, (data, meaning) in enumerate(parts)]
    digest = _digest(algorithm, b"".join(data for data, _ in parts))
    return digest, [*rows, Row(_function(algorithm), digest.hex())]


def _wrapped(data: bytes) -> str:
    return data.hex(" ") if len(data) <= 12 else data[:2].hex(" ") + " " + data[2:].hex()


def _cbor(value: Any) -> bytes:
    if isinstance(value, bytes):
        return _head(0x40, len(value)) + value
    return _head(0x00, value) if value >= 0 else _head(0x20, -1 - value)


def _head(kind: int, value: int) -> bytes:
    """The shortest head of a CBOR item."""
    if value < 24:
        return bytes([kind + value])
    for extra, form, limit in ((24, ">B", 1 << 8), (25, ">H", 1 << 16), (26, ">I", 1 << 32), (27, ">Q", 1 << 64)):
        if value < limit:
            return bytes([kind + extra]) + struct.pack(form, value)
    raise StepsDiffer(f"{value} has more than 64 bits")


def token_hashes() -> str:
    """The token hashes of the multiprocess server."""
    release = "0.5.6"
    found = vector(release, "mp.tokens.size-1")
    previous = NONE_TOKEN_HASH
    rows = [Row("start", previous.hex())]
    for index, token in enumerate(found.args["tokens"]):
        word = struct.pack(">I", token)
        previous = blake3(previous + word).digest()
        if previous.hex() != found.answer["hashes"][index]:
            raise StepsDiffer(f"{found.id}, chunk {index}")
        rows += [Row("", ""), Row(f"chunk {index}", f"token {index}"), Row("hashed", "the hash before it", "32 bytes")]
        rows += [Row("", word.hex(" "), f"token {token}"), Row("blake3", previous.hex())]
    return f"Tokens {', '.join(map(str, found.args['tokens']))} in chunks of 1 ({place(release, found)}):\n\n{block(rows)}"
