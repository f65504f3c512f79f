"""Chunk hashes: what is hashed in which release, the functions that a setting may name, and token hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from docs.generator.spec.words import code, since, spanned
from docs.generator.table import table
from wire.chunks import CHUNK_CHAINS, TEXT_ALGORITHM, Third
from wire.deployments import BUILTIN, LOOKUPS
from wire.hashes import ALL_BITS, DIGESTS, HASH_OF_NONE, MERSENNE, NONE_TOKEN_HASH, TUPLE_LENGTH_MARK, TUPLE_PRIMES
from wire.mp.objects import TOKEN_MODE

_HASHED: Final[Mapping[Third, str]] = {
    "text chain": "the previous hash as text, then each token as little-endian uint32",
    "absent": "`(previous, tokens)`",
    "none": "`(previous, tokens, None)`",
    "empty tuple": "`(previous, tokens, ())`",
}
CBOR_OF_THIRD: Final[Mapping[Third, str]] = {
    "absent": "`82` previous tokens",
    "none": "`83` previous tokens `f6`",
    "empty tuple": "`83` previous tokens `80`",
}
_SERIALISED: Final[Mapping[str, tuple[str, str, str]]] = {
    "builtin": ("none: CPython hashes the tuple itself", "CPython's hash of a tuple", "64 bits, signed"),
    "sha256_cbor": ("canonical CBOR", "sha256", "32 bytes"),
    "sha256_cbor_64bit": ("canonical CBOR", "sha256", "32 bytes; as an integer the low 64 bits"),
    "xxhash_cbor": ("canonical CBOR", "XXH3, 128 bits", "16 bytes"),
    "sha256": ("pickle, highest protocol", "sha256", "32 bytes"),
    "xxhash": ("pickle, highest protocol", "XXH3, 128 bits", "16 bytes"),
}


def chains() -> str:
    """What is hashed, what the first chunk is chained to, and what becomes of a digest."""
    head = (
        "releases",
        "what is hashed",
        "in CBOR",
        "the first `previous`",
        "a digest goes on as",
        "a last chunk that is not full",
    )
    return table(head, _chains())


def _chains() -> Iterator[tuple[str, ...]]:
    for span, chain in CHUNK_CHAINS.rows():
        text = chain.third == "text chain"
        yield (
            spanned(span),
            _HASHED[chain.third],
            "-" if text else CBOR_OF_THIRD[chain.third],
            "the empty text" if text else "NONE_HASH",
            "its hexadecimal digits"
            if text
            else "the integer of its first 8 bytes, big-endian"
            if chain.folds
            else "all of its bytes",
            "is hashed" if chain.saves_unfull_chunk else "is left out",
        )


def functions() -> str:
    """The hash functions by the names that the setting takes."""
    known = {BUILTIN, *DIGESTS}
    rows = [
        (
            code(TEXT_ALGORITHM),
            "up to 0.3.2, without a setting",
            "text and uint32 words, see above",
            "sha256",
            "64 hexadecimal digits",
        )
    ]
    firsts = _first_named()
    for name, about in _SERIALISED.items():
        if name not in known:
            raise ValueError(f"no hash function is called {name!r}")
        rows.append((code(name), since(firsts[name]), *about))
    if missing := known - set(_SERIALISED):
        raise ValueError(f"{__name__} says nothing of {', '.join(sorted(missing))}")
    return table(("name", "releases that may use it", "what is hashed, as bytes", "function", "result"), rows)


def _first_named() -> dict[str, str]:
    found: dict[str, str] = {}
    for span, lookup in LOOKUPS.rows():
        if lookup is not None:
            names = [*DIGESTS] if lookup.any_name else [name for names in lookup.names.values() for name in names]
            for name in (BUILTIN, *names):
                found.setdefault(name, span.first.text)
    return found


def token_hash() -> str:
    """The token hashes of the multiprocess server."""
    first = next(span.first for span, tokens in TOKEN_MODE.rows() if tokens)
    rows = [
        ("the releases", f"{first} and later"),
        ("the function", "blake3, 32 bytes"),
        ("what is hashed", "the previous hash, 32 bytes, then each token of the chunk as big-endian uint32"),
        ("the first `previous`", code(NONE_TOKEN_HASH.hex())),
        ("which is", "blake3 of eight zero bytes and one zero uint32"),
        ("a last chunk that is not full", "has no hash"),
    ]
    return table(("of a token hash", "is"), rows)


def tuple_hash_steps() -> str:
    """CPython's hash of a tuple, step by step, with its constants."""
    prime_1, prime_2, prime_5 = TUPLE_PRIMES
    begin = f"0x{prime_5:016x}"
    rows = [
        ("an integer", f"its magnitude modulo {MERSENNE} (2^61 - 1) with its sign, and -2 instead of -1"),
        ("None", f"{HASH_OF_NONE} (0x{HASH_OF_NONE:x}) from CPython 3.12 on; before, an address, another one in every process"),
        ("a tuple: begin", f"accumulator = {prime_5} ({begin})"),
        ("for the hash h of each element", f"accumulator + h * {prime_2} (0x{prime_2:016x})"),
        ("", "rotate it left by 31 bits"),
        ("", f"multiply it by {prime_1} (0x{prime_1:016x})"),
        ("at the end", f"accumulator + (number of elements xor {prime_5} xor {TUPLE_LENGTH_MARK})"),
        ("if all bits are set", f"{ALL_BITS} instead"),
        ("the result", "read as a signed number of 64 bits"),
    ]
    return table(("of", "the hash is"), rows)
