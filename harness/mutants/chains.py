"""Defects in what chunks are cut and how their hashes are chained."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from harness.mutants.mutant import mutant
from harness.reference.chains import HASH_OF_NONE, Chains
from harness.reference.lm import ReferenceClient
from wire.chunks import CHUNK_CHAINS, Chunk, Link, Returns, Third, chained, fold, tuple_link, words_link
from wire.errors import EncodeError
from wire.hashes import DIGESTS, ChainInput, digest_as_int, token_hashes, tuple_hash
from wire.keys import ChunkHash
from wire.release import Release

Tokens = Sequence[int]
KEYS = ("keys.chunks.keys", "keys.deployments.keys", "keys.deployments.chain")
DIGEST_KEYS = ("keys.deployments.keys", "keys.deployments.chain")


class OtherChain(Chains):
    """Chains as lmcache makes them, step by step, so that a subclass can take another one somewhere."""

    def chunks(
        self,
        release: Release,
        tokens: Tokens,
        *,
        chunk_size: int,
        algorithm: str,
        none_hash: ChunkHash,
        returns: Returns | None,
        save_unfull_chunk: bool,
        skip: int,
    ) -> list[Chunk]:
        """The chunks of a token list."""
        if skip % chunk_size:
            raise EncodeError(f"{skip} masked tokens are no multiple of the chunk size {chunk_size}")
        end = len(tokens) if save_unfull_chunk else len(tokens) - len(tokens) % chunk_size
        pieces = [tokens[start : start + chunk_size] for start in range(0, end, chunk_size)]
        if CHUNK_CHAINS[release].third == "text chain":
            hashes = self.hashes(pieces, "", self.text_link())
        else:
            as_bytes = returns == "bytes" if returns is not None else isinstance(none_hash, bytes)
            link = self.link(release, algorithm, as_bytes)
            hashes = self.hashes(pieces, self.start(release, none_hash), link)
        found = [Chunk(index * chunk_size, index * chunk_size + len(pieces[index]), value) for index, value in enumerate(hashes)]
        return [chunk._replace(chunk_hash=self.key_hash(chunk.chunk_hash)) for chunk in found if chunk.start >= skip]

    def hashes(self, pieces: Iterable[Tokens], start: ChunkHash | None, link: Link) -> Iterator[ChunkHash]:
        """One hash for each piece."""
        return chained(pieces, start, link)

    def text_link(self) -> Link:
        """The link until 0.3.2."""
        return words_link(lambda data: hashlib.sha256(data).digest())

    def link(self, release: Release, algorithm: str, as_bytes: bool) -> Link:
        """The link from 0.3.3 on."""

        def function(value: ChainInput) -> ChunkHash:
            if algorithm == "builtin":
                return self.builtin(value)
            digest = DIGESTS[algorithm](self.hashed(value))
            return self.folded(release, digest if as_bytes else self.number(algorithm, digest))

        return tuple_link(function, self.third(release))

    def builtin(self, value: ChainInput) -> int:
        """Python's hash of a tuple."""
        return tuple_hash(value, hash_of_none=HASH_OF_NONE)

    def hashed(self, value: ChainInput) -> object:
        """What a digest is made of."""
        return value

    def number(self, algorithm: str, digest: bytes) -> int:
        """A digest as an integer."""
        return digest_as_int(algorithm, digest)

    def third(self, release: Release) -> Third:
        """The third element of what is hashed."""
        return CHUNK_CHAINS[release].third

    def folded(self, release: Release, value: ChunkHash) -> ChunkHash:
        """What goes on of a hash."""
        return fold(value) if CHUNK_CHAINS[release].folds else value

    def start(self, release: Release, none_hash: ChunkHash) -> ChunkHash:
        """What the chain starts from."""
        return self.folded(release, none_hash)

    def key_hash(self, value: ChunkHash) -> ChunkHash:
        """What goes into the key of a hash."""
        return value


class _Third(OtherChain):
    def __init__(self, third: Third) -> None:
        self._third: Third = third

    def third(self, release: Release) -> Third:
        del release
        return self._third


@mutant(
    "chain-none-for-the-empty-tuple",
    stands_for="LMCache #2136, #2511, #2979: None in the tuple made hash() differ from process to process; 0.4.1 put () there.",
    releases="0.4.1 and later",
    found_by=KEYS,
)
class NoneForTheTuple(ReferenceClient):
    """Hashes None as the third element instead of an empty tuple."""

    chains = _Third("none")


@mutant(
    "chain-of-two",
    stands_for="A client of 0.3.3, which hashed the prefix and the tokens alone, as vLLM's documentation still describes it.",
    releases="0.3.4 and later",
    found_by=KEYS,
)
class OfTwo(ReferenceClient):
    """Hashes no third element."""

    chains = _Third("absent")


@mutant(
    "chain-with-an-empty-tuple-too-early",
    stands_for="A client of 0.4.1 or later beside an engine that still hashes None.",
    releases="0.3.4 to 0.3.15",
    found_by=DIGEST_KEYS,
)
class TupleTooEarly(ReferenceClient):
    """Hashes an empty tuple where the release has None."""

    chains = _Third("empty tuple")


class _NoFold(OtherChain):
    def folded(self, release: Release, value: ChunkHash) -> ChunkHash:
        del release
        return value


@mutant(
    "chain-without-fold",
    stands_for="A client of 0.4.5 or older: from 0.4.6 on eight bytes of a digest are all that is chained and written.",
    releases="0.4.6 and later",
    found_by=DIGEST_KEYS,
)
class NoFold(ReferenceClient):
    """Chains and writes whole digests."""

    chains = _NoFold()


class _LastBytes(OtherChain):
    def folded(self, release: Release, value: ChunkHash) -> ChunkHash:
        return int.from_bytes(value[-8:], "big") if isinstance(value, bytes) else super().folded(release, value)


@mutant(
    "chain-folds-the-last-bytes",
    stands_for="The low 64 bits, which vLLM 0.10.1 took of a digest and which every cast takes; lmcache takes the first 8 bytes.",
    releases="0.4.6 and later",
    found_by=DIGEST_KEYS,
)
class LastBytes(ReferenceClient):
    """Folds a digest to its last 8 bytes."""

    chains = _LastBytes()


class _LittleEndian(OtherChain):
    def folded(self, release: Release, value: ChunkHash) -> ChunkHash:
        return int.from_bytes(value[:8], "little") if isinstance(value, bytes) else super().folded(release, value)


@mutant(
    "chain-folds-little-endian",
    stands_for="memcpy of eight bytes into a uint64_t.",
    releases="0.4.6 and later",
    found_by=DIGEST_KEYS,
)
class LittleEndian(ReferenceClient):
    """Folds the first 8 bytes of a digest with the least significant one first."""

    chains = _LittleEndian()


class _FoldsTheKey(_NoFold):
    def key_hash(self, value: ChunkHash) -> ChunkHash:
        return fold(value)


@mutant(
    "chain-folds-the-key-alone",
    stands_for="A fold in the function that makes keys: the first chunk after the start comes out wrong already.",
    releases="0.4.6 and later",
    found_by=DIGEST_KEYS,
)
class FoldsTheKey(ReferenceClient):
    """Folds a digest for the key and chains all of it."""

    chains = _FoldsTheKey()


class _StartAsItIs(OtherChain):
    def start(self, release: Release, none_hash: ChunkHash) -> ChunkHash:
        del release
        return none_hash


@mutant(
    "chain-start-not-folded",
    stands_for="A fold of what the hash function returns; NONE_HASH does not come from there.",
    releases="0.4.6 and later",
    found_by=DIGEST_KEYS,
)
class StartAsItIs(ReferenceClient):
    """Folds every digest but the one that the chain starts from."""

    chains = _StartAsItIs()


class _EarlyFold(OtherChain):
    def folded(self, release: Release, value: ChunkHash) -> ChunkHash:
        del release
        return fold(value)


@mutant(
    "chain-folds-too-early",
    stands_for="A client of 0.4.6 or later: until 0.4.5 digests are chained and written whole.",
    releases="0.3.13 to 0.4.5",
    found_by=DIGEST_KEYS,
)
class EarlyFold(ReferenceClient):
    """Folds digests where the release does not."""

    chains = _EarlyFold()


class _Lists(OtherChain):
    def hashed(self, value: ChainInput) -> object:
        previous, piece, *more = value
        assert isinstance(piece, tuple)
        return (previous, list(piece), *more)


@mutant(
    "chain-of-lists",
    stands_for="Tokens given on as they came: CBOR writes lists and tuples alike, pickle does not.",
    releases="0.3.3 and later",
    found_by=DIGEST_KEYS,
    captured=("deployment_keys",),
)
class Lists(ReferenceClient):
    """Pickles the tokens of a chunk as a list."""

    chains = _Lists()


class _WholeNumber(OtherChain):
    def number(self, algorithm: str, digest: bytes) -> int:
        del algorithm
        return int.from_bytes(digest, "big")


@mutant(
    "chain-number-of-256-bits",
    stands_for="A function called ..._64bit, beside vLLM 0.10.1, of which all bits were kept.",
    releases="0.3.3 and later",
    found_by=DIGEST_KEYS,
    captured=("deployment_keys",),
)
class WholeNumber(ReferenceClient):
    """Keeps all bits of a CBOR digest that vLLM cuts to 64."""

    chains = _WholeNumber()


class _UnsignedPrefix(OtherChain):
    def builtin(self, value: ChainInput) -> int:
        return super().builtin(value) & ((1 << 64) - 1)


@mutant(
    "chain-of-unsigned-hashes",
    stands_for="Python's hash kept in a uint64_t: negative ones are hashed again as other numbers.",
    releases="0.4.1 and later",
    found_by=KEYS,
)
class UnsignedPrefix(ReferenceClient):
    """Takes builtin hashes for unsigned numbers."""

    chains = _UnsignedPrefix()


class _Unchained(OtherChain):
    def hashes(self, pieces: Iterable[Tokens], start: ChunkHash | None, link: Link) -> Iterator[ChunkHash]:
        return (link(start, piece) for piece in pieces)


@mutant(
    "chain-broken",
    stands_for="Chunks hashed one by one, as content-addressed stores do it: equal tokens behind other text then share a key.",
    found_by=KEYS,
)
class Unchained(ReferenceClient):
    """Starts the hash of every chunk anew."""

    chains = _Unchained()


class _Words(OtherChain):
    def __init__(self, words: str = "<I", *, as_text: bool = True) -> None:
        self._words = words
        self._as_text = as_text

    def text_link(self) -> Link:
        def digest(data: bytes) -> bytes:
            return hashlib.sha256(data).digest()

        link = words_link(digest, words=self._words, as_text=True)
        if self._as_text:
            return link

        def raw(previous: ChunkHash | None, piece: Tokens) -> ChunkHash:
            assert isinstance(previous, str)
            made = words_link(digest, words=self._words, as_text=False)(bytes.fromhex(previous), piece)
            assert isinstance(made, bytes)
            return made.hex()

        return raw


@mutant(
    "chain-tokens-big-endian",
    stands_for="Tokens in network byte order, as the multiprocess server of later releases hashes them.",
    releases="up to 0.3.2",
    found_by=("keys.chunks.keys",),
)
class TokensBigEndian(ReferenceClient):
    """Hashes tokens with the most significant byte first."""

    chains = _Words(">I")


@mutant(
    "chain-tokens-of-64-bits",
    stands_for="The width that token lists have in torch and numpy.",
    releases="up to 0.3.2",
    found_by=("keys.chunks.keys",),
)
class Tokens64(ReferenceClient):
    """Hashes tokens as 64-bit integers."""

    chains = _Words("<Q")


@mutant(
    "chain-of-raw-digests",
    stands_for="The bytes of a digest chained as other chains do it: until 0.3.2 its hexadecimal digits were.",
    releases="up to 0.3.2",
    found_by=("keys.chunks.keys",),
)
class RawDigests(ReferenceClient):
    """Chains the bytes of a digest instead of its digits."""

    chains = _Words(as_text=False)


class _TokenHashes(Chains):
    def token_hashes(self, tokens: Tokens, chunk_size: int) -> list[bytes]:
        swapped = [int.from_bytes(token.to_bytes(4, "little"), "big") for token in tokens]
        return token_hashes(swapped, chunk_size)


@mutant(
    "token-hash-little-endian",
    stands_for="Tokens as they lie in memory; the multiprocess server packs them big-endian.",
    found_by=("keys.tokens.hashes",),
    captured=("token_hashes",),
)
class TokenHashes(ReferenceClient):
    """Hashes tokens with the least significant byte first."""

    chains = _TokenHashes()


class _PartialTokenHashes(Chains):
    def token_hashes(self, tokens: Tokens, chunk_size: int) -> list[bytes]:
        rest = len(tokens) % chunk_size
        found = token_hashes(tokens, chunk_size)
        return found if tokens and not rest else [*found, token_hashes([*tokens[-rest:], 0], rest + 1)[0]]


@mutant(
    "token-hash-of-a-rest",
    stands_for="A do-while loop, or a range that rounds up: a chunk that is not full has no hash, and no tokens have none.",
    found_by=("keys.tokens.hashes",),
    captured=("token_hashes",),
)
class PartialTokenHashes(ReferenceClient):
    """Hashes what is left behind the last full chunk, be it nothing."""

    chains = _PartialTokenHashes()
