"""Chunk keys: those of :mod:`wire` and those of the real ``ChunkedTokenDatabase`` and ``TokenHasher``, of the same tokens."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.comparison import Comparison, Contender, Target
from benchmarks.work import RealWork, per_second, real_work
from wire.chunks import TEXT_ALGORITHM, Chunk, chunk_hashes, chunk_keys
from wire.hashes import token_hashes
from wire.keys import CacheKey
from wire.release import Release

TOKENS: Final = 1_000_000
VOCABULARY: Final = 150_000
SEED: Final = 7
NEWEST: Final = "0.5.6"
VLLM: str | None = "0.28.0"
"""Whose hash functions the real lmcache uses; None: no vLLM, and so builtin and its own alone."""
_NOTE: Final = (
    f"A pass is {TOKENS:,} random tokens of a vocabulary of {VOCABULARY:,}, as a list; both sides make the hash of every chunk, "
    f"or in the rows that say so its key string. vLLM's functions are those of vLLM {VLLM}. The seconds are processor time."
)


@dataclass(frozen=True)
class Row:
    """What one comparison makes."""

    release: str
    algorithm: str
    chunk_size: int
    strings: bool
    """Key strings, and not hashes alone."""
    at_least: float = 1.0

    @property
    def name(self) -> str:
        """As the table names it."""
        return f"{self.release} {self.algorithm}, {'keys' if self.strings else 'hashes'} of {self.chunk_size} tokens"


MP_HASH: Final = "blake3"
ROWS: Final = (
    *(
        Row(NEWEST, algorithm, size, strings=False, at_least=2.0 if algorithm == "sha256_cbor" else 1.0)
        for algorithm in ("builtin", "sha256_cbor", "sha256", "xxhash", "xxhash_cbor", MP_HASH)
        for size in (16, 256)
    ),
    Row("0.3.2", TEXT_ALGORITHM, 256, strings=True),
    Row("0.3.3", "builtin", 256, strings=True),
    Row("0.3.15", "sha256_cbor", 256, strings=True, at_least=2.0),
    Row("0.4.5", "sha256_cbor", 256, strings=True, at_least=2.0),
    Row(NEWEST, "builtin", 256, strings=True),
    Row(NEWEST, "sha256_cbor", 256, strings=True, at_least=2.0),
)


def tokens_of(count: int) -> list[int]:
    """The tokens, which the real lmcache's process draws in the same way."""
    drawn = random.Random(SEED)  # noqa: S311  # the same tokens each time
    return [drawn.randrange(VOCABULARY) for _ in range(count)]


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """The real lmcache of each release, started when it is first asked."""
    with contextlib.ExitStack() as ends:
        started: dict[str, RealWork] = {}

        def real(release: str) -> RealWork:
            if release not in started:
                vllm = None if release == "0.3.2" else VLLM
                started[release] = ends.enter_context(real_work(Release.parse(release), vllm))
            return started[release]

        tokens = tokens_of(TOKENS)
        yield [_comparison(row, tokens, real) for row in ROWS]


def _comparison(row: Row, tokens: list[int], real: Callable[[str], RealWork]) -> Comparison:
    once = made_by_wire(row, tokens)
    args = {
        "algorithm": row.algorithm,
        "chunk_size": row.chunk_size,
        "strings": row.strings,
        "count": len(tokens),
        "vocabulary": VOCABULARY,
        "seed": SEED,
    }
    checked = False

    def measure_real(seconds: float) -> float:
        nonlocal checked
        if not checked:
            ours, theirs = _sample(once()), real(row.release).sample("keys", args)
            if ours != theirs:
                raise RuntimeError(f"{row.name}: wire makes {ours}, the real lmcache {theirs}")
            checked = True
        return real(row.release).per_second("keys", args, seconds)

    chunks = len(tokens) // row.chunk_size
    return Comparison(
        row.name,
        "keys/s",
        "more",
        (Contender("wire", lambda seconds: per_second(once, chunks, seconds)), Contender("real", measure_real)),
        (Target("wire", at_least=row.at_least, over="real"),),
        _NOTE,
    )


def _sample(made: Sequence[Any]) -> list[object]:
    """The number of chunks and the last one, as the probe gives them."""
    last = made[-1].chunk_hash if isinstance(made[-1], Chunk) else made[-1]
    return [len(made), last.hex() if isinstance(last, bytes) else str(last)]


def made_by_wire(row: Row, tokens: list[int]) -> Callable[[], Sequence[Any]]:
    """A function that makes all hashes or keys of a row."""
    release = Release.parse(row.release)
    if row.algorithm == MP_HASH:
        return lambda: token_hashes(tokens, row.chunk_size)
    # NONE_HASH is 0 where vLLM is not there as a whole.
    start: int | str = "" if row.algorithm == TEXT_ALGORITHM else 0
    identity = CacheKey("model", 1, 0, 0, "float16", fmt="vllm")

    def once() -> Sequence[Any]:
        chunks = chunk_hashes(
            release,
            tokens,
            chunk_size=row.chunk_size,
            algorithm=row.algorithm,
            none_hash=start,
            returns="int" if row.algorithm in {"builtin", TEXT_ALGORITHM} else "bytes",
            save_unfull_chunk=False,
        )
        return chunk_keys(release, identity, chunks) if row.strings else chunks

    return once
