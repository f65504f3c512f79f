"""Causes that lie in how a client computes hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import xxhash

from harness.mismatch.hypothesis import Hypothesis, RecipeChange, cooked
from harness.mismatch.recipe import MP_HASH, Recipe
from harness.mismatch.request import Request
from reports.keys.record import Cause
from wire.chunks import TEXT_ALGORITHM, fold
from wire.deployments import BUILTIN, Deployment, seed_number
from wire.hashes import DIGESTS, NONE_TOKEN_HASH, digest_as_int

MOST_MISSING: Final = 8
BEGINNINGS: Final = (1, 2, 128000, 151643, 0, 100000, 200000, 5, 50256, 199998, 200006)
"""Tokens with which tokenizers begin a text."""


def _digests(recipe: Recipe) -> bool:
    return recipe.function in DIGESTS


def _tuples(recipe: Recipe) -> bool:
    return not recipe.hashes_bytes


def third_elements(request: Request) -> Iterator[Hypothesis]:
    """What is hashed behind the tokens."""
    release = request.deployment.release
    action = f"Hash the third element that lmcache {release} hashes, or compare with the release of the key."
    for third, id_, words in (
        ("none", "third-none", "None there, as in lmcache 0.3.4 to 0.3.15"),
        ("empty tuple", "third-empty-tuple", "the empty tuple there, as in lmcache 0.4.1 and later"),
        ("absent", "third-absent", "absent there (a pair is hashed), as in lmcache 0.3.3"),
    ):
        cause = Cause(id_, f"The third element of what is hashed is {words}.", action)
        yield Hypothesis("third element", cause, recipe=cooked(_tuples, third=third), common=True)
    cause = Cause(
        "third-none-as-zero",
        "None is hashed as 0 there.",
        "hash(None) is 0xfca86420 from CPython 3.12 on, and an address before.",
    )
    yield Hypothesis("third element", cause, recipe=cooked(_hashes_none, none_value=0))


def _hashes_none(recipe: Recipe) -> bool:
    return recipe.function == BUILTIN and recipe.third == "none"


def digests(_: Request) -> Iterator[Hypothesis]:
    """What a digest becomes before it is hashed again or written."""
    rows: tuple[tuple[str, str, str, RecipeChange, bool], ...] = (
        (
            "fold-none",
            "A digest goes on whole there, as in lmcache 0.3.13 to 0.4.5; here it becomes the integer of its first 8 bytes.",
            "Fold NONE_HASH and every digest to its first 8 bytes, big-endian (from 0.4.6 on).",
            cooked(lambda it: _digests(it) and it.carry == "first 8", carry="digest"),
            True,
        ),
        (
            "fold-first-8",
            "A digest becomes the integer of its first 8 bytes there, as in lmcache 0.4.6 and later; here it goes on whole.",
            "Do not fold before 0.4.6.",
            cooked(lambda it: _digests(it) and it.carry == "digest", carry="first 8"),
            True,
        ),
        (
            "fold-last-8",
            "A digest becomes the integer of its last 8 bytes there.",
            "Take the first 8 bytes, big-endian (from 0.4.6 on); only vLLM before 0.10.2 gave the last 8.",
            cooked(_digests, carry="last 8"),
            False,
        ),
        (
            "fold-little-endian",
            "The first 8 bytes of a digest are read in little-endian order there.",
            "Read them in big-endian order.",
            cooked(_digests, carry="first 8 little-endian"),
            False,
        ),
        (
            "fold-signed",
            "The first 8 bytes of a digest become a signed integer there, in the chain as well.",
            "Read them as an unsigned number: from 2^63 on CBOR writes another integer, and the key has no minus sign.",
            cooked(_digests, carry="first 8 signed"),
            False,
        ),
        (
            "fold-at-end",
            "The whole digest is chained there, and only what stands in the key is folded.",
            "Write the whole digest (0.3.13 to 0.4.5), or fold at every step, NONE_HASH included (from 0.4.6 on).",
            cooked(_digests, carry="digest", carry_at_end="first 8"),
            False,
        ),
        (
            "fold-last-8-at-end",
            "The whole digest is chained there, and its last 8 bytes stand in the key.",
            "Write the whole digest (0.3.13 to 0.4.5), or fold to the first 8 bytes at every step (from 0.4.6 on).",
            cooked(_digests, carry="digest", carry_at_end="last 8"),
            False,
        ),
        (
            "chain-through-hex",
            "The chain goes on with the hexadecimal digits of a digest there, as a text.",
            "Hash the digest itself, as a byte string, or its folded integer.",
            cooked(_digests, carry="hex text"),
            False,
        ),
    )
    for id_, sentence, action, change, common in rows:
        yield Hypothesis("digest", Cause(id_, sentence, action), recipe=change, common=common)


def starting_hashes(request: Request) -> Iterator[Hypothesis]:
    """What the chain starts from."""
    seed = request.deployment.seed
    shown = "the seed" if seed is None else f"the seed '{seed}'"
    rows: tuple[tuple[str, str, RecipeChange], ...] = (
        ("none-hash-zero", "0 there, and not from what vLLM makes of the seed", _started(0)),
        ("none-hash-none", "None there", _started(None)),
        ("none-hash-empty", "the empty byte string there", _started(b"")),
        ("none-hash-zero-bytes", "32 zero bytes there", _started(bytes(32))),
        ("none-hash-of-number", f"the hash of {shown} as a number there; vLLM hashes its text", _of_seed(seed_number)),
        ("none-hash-of-bytes", f"the hash of {shown} as a byte string there; vLLM hashes a text", _of_seed(str.encode)),
        ("none-hash-plain", f"the plain digest of {shown} there, without CBOR or pickle around the text", _plain_digest),
        ("none-hash-is-seed", f"{shown} itself there, and not from its hash", _seed_itself),
        (
            "none-hash-unfolded",
            "the whole digest of the seed there; here NONE_HASH is folded like every other hash",
            cooked(lambda it: isinstance(it.start, bytes) and it.carry != "digest", carries_start=False),
        ),
        (
            "none-hash-folded",
            "the first 8 bytes of the digest of the seed there, as an integer; here from all of it",
            lambda it, _: replace(it, start=fold(it.start)) if isinstance(it.start, bytes) and it.carry == "digest" else None,
        ),
    )
    for id_, words, change in rows:
        cause = Cause(id_, f"The chain starts from {words}.", "Start from NONE_HASH as it is printed above.")
        yield Hypothesis("NONE_HASH", cause, recipe=change, common=id_ == "none-hash-zero")


def _started(start: int | bytes | None) -> RecipeChange:
    return cooked(_tuples, start=start, random=False, carries_start=False)


def _of_seed(value_of: Callable[[str], object]) -> RecipeChange:
    def change(recipe: Recipe, deployment: Deployment) -> Recipe | None:
        value = None if deployment.seed is None else value_of(deployment.seed)
        return None if value is None or not _digests(recipe) else _from_digest(recipe, DIGESTS[recipe.function](value))

    return change


def _plain_digest(recipe: Recipe, deployment: Deployment) -> Recipe | None:
    if deployment.seed is None or not _digests(recipe):
        return None
    text = deployment.seed.encode()
    sha = recipe.function.startswith("sha256")
    return _from_digest(recipe, hashlib.sha256(text).digest() if sha else xxhash.xxh3_128_digest(text))


def _from_digest(recipe: Recipe, digest: bytes) -> Recipe:
    start = digest_as_int(recipe.function, digest) if recipe.carry == "integer" else digest
    return replace(recipe, start=start, random=False)


def _seed_itself(recipe: Recipe, deployment: Deployment) -> Recipe | None:
    number = seed_number(deployment.seed)
    return None if number is None or recipe.hashes_bytes else replace(recipe, start=number, random=False)


def tokens(request: Request) -> Iterator[Hypothesis]:
    """Tokens that are missing in front, or that only one side has there."""
    first = request.tokens[:1]
    if request.skip:
        cause = Cause(
            "skip-not-hashed",
            f"The chain begins behind the {request.skip} skipped tokens there.",
            "Hash all tokens from the first on: skipping leaves out keys and not tokens.",
            str(request.skip),
        )
        yield Hypothesis("tokens", cause, recipe=cooked(dropped=request.skip), common=True)
    for count in range(1, min(MOST_MISSING, len(request.tokens) - 1) + 1):
        shown = f"first token ({first[0]}) is" if count == 1 else f"first {count} tokens are"
        cause = Cause(
            "leading-tokens-missing",
            f"The {shown} not hashed there.",
            "Hash the tokens that the engine sees, also the one that the tokenizer puts in front (add_special_tokens).",
            str(count),
        )
        yield Hypothesis("tokens", cause, recipe=cooked(dropped=count), common=count == 1)
    for token in dict.fromkeys([*first, *BEGINNINGS]):
        twice = token in first
        cause = Cause(
            "leading-token-twice" if twice else "leading-token-added",
            f"Token {token} stands {'twice in front' if twice else 'in front of the others'} there.",
            "Hash the tokens that the engine sees; a chat template and the tokenizer may each put a first token in front.",
            str(token),
        )
        yield Hypothesis("tokens", cause, recipe=cooked(before=(token,)), common=twice)


def links(_: Request) -> Iterator[Hypothesis]:
    """Whether a chunk depends on the one before."""
    cause = Cause(
        "not-chained",
        "Every chunk is hashed alone there, from NONE_HASH on.",
        "Put the hash of the chunk before into each hash: a key names all tokens up to its end.",
    )
    yield Hypothesis("link", cause, recipe=cooked(linked=False), common=True)


def families(_: Request) -> Iterator[Hypothesis]:
    """Hashes of tokens that are made for something else."""
    cause = Cause(
        "mp-token-hash",
        "It is a token hash of the multiprocess server (blake3 over big-endian tokens), which is no chunk hash of lm:// keys.",
        "Take the hashes of ChunkedTokenDatabase for lm:// and other remote stores, as they are printed above.",
    )
    yield Hypothesis("family", cause, recipe=_token_hasher, common=True)
    cause = Cause(
        "vllm-block-hash",
        "It is the hash of a block of vLLM's own prefix cache: a chain with None, over whole digests, in blocks of 16 tokens.",
        "Take the hashes of lmcache, which have another third element and other chunks.",
    )
    yield Hypothesis("family", cause, recipe=_block_hash, common=True)


def _token_hasher(recipe: Recipe, _: Deployment) -> Recipe:
    own = Recipe(MP_HASH, NONE_TOKEN_HASH, recipe.chunk_size, words=">I", as_text=False)
    return replace(own, dropped=recipe.dropped, before=recipe.before, linked=recipe.linked)


def _block_hash(recipe: Recipe, _: Deployment) -> Recipe | None:
    if not _digests(recipe):
        return None
    return replace(recipe, third="none", carry="integer" if recipe.carry == "integer" else "digest", chunk_size=16)


def words(_: Request) -> Iterator[Hypothesis]:
    """Width and order of the bytes of a token, where tokens are hashed as bytes."""
    for form, id_, shown in (
        (">I", "words-big-endian", "big-endian 32-bit"),
        ("<I", "words-little-endian", "little-endian 32-bit"),
        ("<Q", "words-64-bit", "little-endian 64-bit"),
        (">Q", "words-64-bit-big-endian", "big-endian 64-bit"),
    ):
        cause = Cause(
            id_,
            f"Tokens are hashed as {shown} integers there.",
            "The text chain until 0.3.2 takes little-endian uint32, the token hashes of the multiprocess server big-endian "
            "uint32.",
        )
        yield Hypothesis("words", cause, recipe=cooked(lambda it: it.hashes_bytes, words=form))


def text_links(_: Request) -> Iterator[Hypothesis]:
    """How the text chain goes on."""
    cause = Cause(
        "chain-through-digest",
        "The chain goes on with the 32 bytes of a digest there; until 0.3.2 it goes on with its 64 hexadecimal digits.",
        "Hash the hexadecimal digits in ASCII, lower case.",
    )
    yield Hypothesis("text link", cause, recipe=cooked(lambda it: it.function == TEXT_ALGORITHM, as_text=False))
