"""Recipes: all that chunk hashes are made with, as one value that differs in as many fields as there are mistakes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from blake3 import blake3

from harness.mismatch.request import Request
from wire.chunks import CHUNK_CHAINS, TEXT_ALGORITHM, Link, Third, chained, fold, tuple_link, words_link
from wire.deployments import BUILTIN, Deployment, hash_of_none, hashing
from wire.hashes import DIGESTS, ChainInput, digest_as_int, tuple_hash
from wire.keys import ChunkHash

MP_HASH: Final = "blake3"
"""Our name for the function of the multiprocess server."""

Carry = Literal["digest", "integer", "first 8", "last 8", "first 8 little-endian", "first 8 signed", "hex text"]
"""What a digest becomes before it is hashed again or written."""

CARRIED: Final[Mapping[Carry, Callable[[str, bytes], ChunkHash]]] = {
    "digest": lambda _, digest: digest,
    "integer": digest_as_int,
    "first 8": lambda _, digest: fold(digest),
    "last 8": lambda _, digest: int.from_bytes(digest[-8:], "big"),
    "first 8 little-endian": lambda _, digest: int.from_bytes(digest[:8], "little"),
    "first 8 signed": lambda _, digest: int.from_bytes(digest[:8], "big", signed=True),
    "hex text": lambda _, digest: digest.hex(),
}


@dataclass(frozen=True)
class Recipe:
    """How tokens become chunk hashes."""

    function: str
    """``builtin``, a name in `wire.hashes.DIGESTS`, `TEXT_ALGORITHM` or `MP_HASH`."""
    start: ChunkHash | None
    """What the chain starts from; None: Python's None."""
    chunk_size: int
    random: bool = False
    """``start`` differs from process to process and is not known."""
    third: Third = "text chain"
    carry: Carry = "digest"
    carries_start: bool = True
    """``start`` becomes what a digest becomes, if it is bytes."""
    carry_at_end: Carry = "digest"
    """What a digest becomes where it is written, and only there."""
    none_value: int | None = None
    """What None hashes to with builtin; None: an address."""
    linked: bool = True
    """A hash depends on the one before it."""
    words: str = "<I"
    """How the byte chains write a token, as a format of :mod:`struct`."""
    as_text: bool = True
    """Whether the text chain goes on with hexadecimal digits."""
    dropped: int = 0
    """Leading tokens that are missing."""
    before: tuple[int, ...] = ()
    """Tokens in front that are not in the list."""

    @property
    def hashes_bytes(self) -> bool:
        """It is no chain of tuples."""
        return self.function in {TEXT_ALGORITHM, MP_HASH}

    def normal(self) -> Recipe:
        """The same hashes as a recipe in which nothing stands that has no effect, so that equal recipes are equal values."""
        if self.hashes_bytes:
            return self if self.function == TEXT_ALGORITHM else replace(self, as_text=False)
        start, carry = self.start, self.carry
        if self.function == BUILTIN:
            carry = "digest"
        elif self.carries_start and isinstance(start, bytes):
            start = CARRIED[carry](self.function, start)
        if carry == "integer" and self.function == "sha256_cbor":
            carry = "last 8"
        needs_none = self.function == BUILTIN and (self.third == "none" or start is None)
        none_value = self.none_value if needs_none else None
        return replace(self, start=start, carry=carry, carries_start=False, none_value=none_value, words="<I", as_text=True)

    @property
    def computable(self) -> bool:
        """The hashes follow from the recipe alone."""
        if self.random or (self.function == BUILTIN and not isinstance(self.start, int | None)):
            return False
        needs_none = self.function == BUILTIN and (self.third == "none" or self.start is None)
        return not (needs_none and self.none_value is None)


def recipe_of(request: Request, deployment: Deployment, function: str | None = None) -> Recipe:
    """The recipe of a deployment; ``function`` is taken instead of what lmcache finds, if it is given.

    Raises:
        EncodeError: a setting of the deployment is none.
    """
    found = hashing(deployment, function=function)
    chain = CHUNK_CHAINS[deployment.release]
    if chain.third == "text chain":
        return Recipe(TEXT_ALGORITHM, "", request.chunk_size)
    digests = found.function != BUILTIN
    carry: Carry = "digest" if not digests else "integer" if found.returns == "int" else "first 8" if chain.folds else "digest"
    return Recipe(
        function=found.function.removesuffix("_64bit"),
        start=found.none_hash,
        chunk_size=request.chunk_size,
        random=found.none_hash is None,
        third=chain.third,
        carry=carry,
        none_value=None if digests else hash_of_none(deployment.python),
    )


@dataclass(frozen=True)
class Value:
    """The hash of one chunk."""

    index: int
    start: int
    """Where it begins in the tokens that were given, which a recipe may have changed."""
    length: int
    full: bool
    chunk_hash: ChunkHash


class Kitchen:
    """Follows recipes with one list of tokens, of which it looks at the beginning; what is cut once is kept."""

    def __init__(self, tokens: Sequence[int], *, most_tokens: int, most_chunks: int) -> None:
        self._tokens = tokens
        self.most_tokens = most_tokens
        self.most_chunks = most_chunks
        self._cut: dict[tuple[int, tuple[int, ...], int], list[tuple[int, ...]]] = {}

    def values(self, recipe: Recipe) -> Iterator[Value]:
        """The hashes of all chunks in view, also of a last one that is not full, by a recipe in its normal form.

        Raises:
            EncodeError: a token does not fit into its word.
        """
        pieces = self._pieces(recipe)
        link = _link(recipe)
        first = recipe.start
        made = chained(pieces, first, link) if recipe.linked else (link(first, piece) for piece in pieces)
        for index, (piece, value) in enumerate(zip(pieces, made, strict=True)):
            start = max(0, index * recipe.chunk_size + recipe.dropped - len(recipe.before))
            written = CARRIED[recipe.carry_at_end](recipe.function, value) if isinstance(value, bytes) else value
            yield Value(index, start, len(piece), len(piece) == recipe.chunk_size, written)

    def _pieces(self, recipe: Recipe) -> list[tuple[int, ...]]:
        name = (recipe.dropped, recipe.before, recipe.chunk_size)
        if name not in self._cut:
            size, most = recipe.chunk_size, self.most_tokens
            whole = most < len(self._tokens)
            tokens = [*recipe.before, *self._tokens[recipe.dropped : most]]
            pieces = [tuple(tokens[at : at + size]) for at in range(0, min(len(tokens), size * self.most_chunks), size)]
            # A piece that ends where the view ends is no last chunk.
            self._cut[name] = pieces[:-1] if whole and pieces and len(pieces[-1]) < size else pieces
        return self._cut[name]


def _link(recipe: Recipe) -> Link:
    if recipe.function == MP_HASH:
        return words_link(lambda data: blake3(data).digest(), words=recipe.words, as_text=False)
    if recipe.function == TEXT_ALGORITHM:
        return words_link(lambda data: hashlib.sha256(data).digest(), words=recipe.words, as_text=recipe.as_text)
    if recipe.function == BUILTIN:
        none_value = recipe.none_value or 0
        return tuple_link(lambda value: _builtin(value, none_value), recipe.third)
    digest, carried, function = DIGESTS[recipe.function], CARRIED[recipe.carry], recipe.function
    return tuple_link(lambda value: carried(function, digest(value)), recipe.third)


_SAMPLE: Final[ChainInput] = (-(2**63), (0, 2**32 - 1, 2**61), ())
_INTERPRETER_HASHES_ALIKE: Final = hash(_SAMPLE) == tuple_hash(_SAMPLE)


def _builtin(value: ChainInput, none_value: int) -> int:
    """The same as `tuple_hash`, by the interpreter's own hash where that is the same: a search makes millions."""
    if not _INTERPRETER_HASHES_ALIKE:
        return tuple_hash(value, hash_of_none=none_value)
    return hash(tuple(none_value if element is None else element for element in value))
