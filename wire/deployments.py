"""Deployments: which hash function and which starting hash a running lmcache ends up with, and what follows from them.

The setting ``pre_caching_hash_algorithm`` only names a function; the installed vLLM provides it, or not, and what is not found is
replaced in silence. Source: ``lmcache.v1.token_database.TokenDatabase.__init__`` of each release, and ``vllm.utils``,
``vllm.utils.hashing`` and ``vllm.v1.core.kv_cache_utils`` (``init_none_hash``) of vLLM 0.10.0 to 0.33.0.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from wire.chunks import TEXT_ALGORITHM, Chunk, Returns, chunk_hashes
from wire.errors import EncodeError
from wire.hashes import DIGESTS, HASH_OF_NONE, digest_as_int, text_hash
from wire.keys import ChunkHash
from wire.release import RangeTable, Release

BUILTIN: Final = "builtin"
UTILS: Final = "vllm.utils"
HASHING: Final = "vllm.utils.hashing"


@dataclass(frozen=True)
class VllmHashes:
    """The hash functions of a range of vLLM versions: where they are imported from, which there are, what they return."""

    module: str
    functions: tuple[str, ...]
    returns: Returns
    unset_seed: str | None = None
    """What stands in for PYTHONHASHSEED if that is not set, except for the xxhash functions; None: random bytes."""


@dataclass(frozen=True)
class Lookup:
    """How a release of lmcache finds the function that a setting names."""

    modules: tuple[str, ...]
    """Where it looks, in this order."""
    names: Mapping[str, tuple[str, ...]]
    """Setting to the functions that are tried, in this order."""
    all_or_none: bool
    """One import of every function: if one is missing, none is found."""
    any_name: bool = False
    """Further settings are taken for names of functions."""


_CBOR: Final = ("sha256_cbor", "sha256_cbor_64bit")
LOOKUPS: Final = RangeTable[Lookup | None](
    "lookup of hash functions",
    ("0.3.1", None),
    ("0.3.3", Lookup((UTILS,), {"sha256": ("sha256",), "sha256_cbor_64bit": ("sha256_cbor_64bit",)}, all_or_none=True)),
    ("0.3.9", Lookup((HASHING,), {"sha256": ("sha256",), "sha256_cbor": ("sha256_cbor",)}, all_or_none=True)),
    ("0.3.9.post2", Lookup((HASHING, UTILS), dict.fromkeys(_CBOR, _CBOR), all_or_none=False, any_name=True)),
)
"""None: the release hashes in one way, without vLLM."""

_VLLM: Final[Sequence[tuple[Version, VllmHashes]]] = (
    (Version("0.10.0"), VllmHashes(UTILS, ("sha256", "sha256_cbor_64bit"), "int")),
    (Version("0.10.2"), VllmHashes(UTILS, ("sha256", "sha256_cbor"), "bytes")),
    (Version("0.11.1"), VllmHashes(HASHING, ("sha256", "sha256_cbor"), "bytes")),
    (Version("0.13.0"), VllmHashes(HASHING, ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor"), "bytes")),
    (
        Version("0.29.0"),
        VllmHashes(HASHING, ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor"), "bytes", unset_seed="vllm-none-hash"),
    ),
)

NEWEST_VLLM: Final = "0.33.0"
"""The newest version that the rows above were taken from; later ones are taken to be the same."""

IMPORTS_NONE_HASH_EARLY: Final = RangeTable("early import of NONE_HASH", ("0.3.1", False), ("0.3.3", True), ("0.3.4", False))
"""vLLM sets its starting hash in a call; a release that imports it before that call finds none, and takes 0."""

SAVE_ONLY_FIRST_RANK: Final = RangeTable("save_only_first_rank", ("0.3.1", False), ("0.3.10", True))
"""Whether, with multi-head latent attention, only the first rank saves by default, and keys then carry world size 1."""


@dataclass(frozen=True)
class Deployment:
    """What decides about the keys of a process, besides its tokens and its identity."""

    release: Release
    vllm: str | None
    """The version of vLLM that the process can import; None: it has none."""
    algorithm: str
    """The setting ``pre_caching_hash_algorithm``."""
    seed: str | None
    """The value of PYTHONHASHSEED; None: it is not set."""
    kv_cache_utils: bool = True
    """Whether ``vllm.v1.core.kv_cache_utils`` can be imported, which needs far more packages than the hash functions do."""
    python: str = "3.12"
    """The version of CPython that the process runs on."""


@dataclass(frozen=True)
class Hashing:
    """The hash function and the starting hash of a deployment."""

    function: str
    """``builtin``, a name in `wire.hashes.DIGESTS`, or `wire.chunks.TEXT_ALGORITHM`."""
    returns: Returns
    """What the function gives back; ``int`` for builtin."""
    none_hash: ChunkHash | None
    """What the chain starts from, before it is folded; None: random, another one in every process."""

    @property
    def digests(self) -> bool:
        """The function makes digests, whatever it returns of them."""
        return self.function not in {BUILTIN, TEXT_ALGORITHM}

    @property
    def digests_as_bytes(self) -> bool:
        """It returns digests as they are."""
        return self.digests and self.returns == "bytes"

    @property
    def pickles(self) -> bool:
        """What is hashed is a pickle, which other languages do not write."""
        return self.function in {"sha256", "xxhash"}


@dataclass(frozen=True)
class VllmRange:
    """Versions of vLLM that hash alike: from ``first`` on, and before ``before`` if that is given."""

    first: str
    before: str | None

    def __str__(self) -> str:
        return f"{self.first} and later" if self.before is None else f"{self.first} and later, before {self.before}"


def vllm_ranges() -> Iterator[VllmRange]:
    """The ranges of vLLM versions that are known here, oldest first."""
    firsts = [str(first) for first, _ in _VLLM]
    for first, before in zip(firsts, [*firsts[1:], None], strict=True):
        yield VllmRange(first, before)


def vllm_spans(firsts: Collection[str]) -> list[VllmRange]:
    """The ranges that begin with these versions, those that follow each other as one."""
    spans: list[VllmRange] = []
    for found in vllm_ranges():
        if found.first not in firsts:
            continue
        joins = bool(spans) and spans[-1].before == found.first
        spans.append(VllmRange(spans.pop().first if joins else found.first, found.before))
    return spans


def vllm_hashes(version: str | None) -> VllmHashes | None:
    """The hash functions of a version of vLLM; None for none.

    Raises:
        EncodeError: the text is no version, or one older than what is known here.
    """
    if version is None:
        return None
    try:
        parsed = Version(version)
    except ValueError:  # InvalidVersion is one, and so is a number of more digits than Python reads
        raise EncodeError(f"{version!r} is not a version of vLLM; give one such as 0.11.0, or none") from None
    for first, hashes in reversed(_VLLM):
        if first <= parsed:
            return hashes
    raise EncodeError(f"hash functions of vLLM {version} are not known here; known from {_VLLM[0][0]} on")


def hashing(deployment: Deployment, *, function: str | None = None) -> Hashing:
    """What a deployment hashes with, found as lmcache finds it: what is missing is replaced without an error.

    ``function`` is taken instead of what lmcache finds, if it is given.

    Raises:
        EncodeError: the version of vLLM, the seed or the version of Python is none.
    """
    seed_number(deployment.seed)
    python_version(deployment.python)
    vllm = vllm_hashes(deployment.vllm)
    lookup = LOOKUPS[deployment.release]
    if lookup is None:
        return Hashing(TEXT_ALGORITHM, "bytes", "")
    function = function or _found(lookup, vllm, deployment.algorithm)
    returns: Returns = "int" if function == BUILTIN else "bytes" if vllm is None else vllm.returns
    if vllm is None or not deployment.kv_cache_utils or IMPORTS_NONE_HASH_EARLY[deployment.release]:
        return Hashing(function, returns, 0)
    text = none_hash_text(deployment, function)
    return Hashing(function, returns, none_hash(function, returns, text, deployment.seed, deployment.python))


def none_hash_text(deployment: Deployment, function: str) -> str | None:
    """The text of which vLLM makes its starting hash; None: random bytes, or no vLLM.

    Raises:
        EncodeError: the version of vLLM is none.
    """
    vllm = vllm_hashes(deployment.vllm)
    if vllm is None:
        return None
    if deployment.seed is not None:
        return deployment.seed
    return None if function.startswith("xxhash") else vllm.unset_seed


def none_hash(function: str, returns: Returns, text: str | None, seed: str | None, python: str = "3.12") -> ChunkHash | None:
    """The starting hash that vLLM makes of a seed: the hash of its *text*; None if that is random.

    ``seed`` is PYTHONHASHSEED, on which Python's own hash of a text depends as well; that of the empty text is always 0.

    Raises:
        EncodeError: the seed is neither ``random`` nor an integer from 0 to 4294967295: Python does not start with it; or the
            version of Python is none.
    """
    number = seed_number(seed)
    if text is None:
        return None
    if function == BUILTIN:
        rounds = (2, 4) if python_version(python) < (3, 11) else (1, 3)
        return text_hash(text, seed=number, rounds=rounds) if number is not None else None if text else 0
    digest = DIGESTS[function](text)
    return digest_as_int(function, digest) if returns == "int" else digest


def hash_of_none(python: str) -> int | None:
    """What ``hash(None)`` is in a version of CPython; None: an address, another one in every process.

    Raises:
        EncodeError: the text is no version of CPython that lmcache runs on.
    """
    return HASH_OF_NONE if python_version(python) >= (3, 12) else None


def deployment_chunks(
    deployment: Deployment,
    tokens: Sequence[int],
    *,
    chunk_size: int = 256,
    save_unfull_chunk: bool | None = None,
    skip: int = 0,
    address_of_none: int | None = None,
) -> list[Chunk]:
    """The chunks of a token list with the hashes that a deployment gives them; see `wire.chunks.chunk_hashes`.

    ``address_of_none`` is what ``hash(None)`` gives in the one process that is meant; without it the deployment's Python decides.

    Raises:
        EncodeError: the hashes differ from process to process, or one of the deployment's settings is none.
    """
    found = hashing(deployment)
    if found.none_hash is None:
        raise EncodeError(
            "the starting hash is random and differs from process to process, so that the hashes cannot be derived; "
            "set PYTHONHASHSEED to a number in every process"
        )
    return chunk_hashes(
        deployment.release,
        tokens,
        chunk_size=chunk_size,
        algorithm=found.function,
        none_hash=found.none_hash,
        returns=found.returns,
        save_unfull_chunk=save_unfull_chunk,
        skip=skip,
        hash_of_none=hash_of_none(deployment.python) if address_of_none is None else address_of_none,
    )


def world_size_in_keys(release: Release, world_size: int, *, mla: bool, save_only_first_rank: bool | None = None) -> int:
    """The world size that keys carry: 1 where only the first rank saves, which takes multi-head latent attention.

    ``save_only_first_rank`` is the setting of that name; None: it is not set. Source: ``TokenDatabase.__init__``.
    """
    collapses = SAVE_ONLY_FIRST_RANK[release] and mla and save_only_first_rank is not False
    return 1 if collapses else world_size


def _found(lookup: Lookup, vllm: VllmHashes | None, setting: str) -> str:
    if vllm is None or vllm.module not in lookup.modules:
        return BUILTIN
    if lookup.all_or_none and not all(name in vllm.functions for names in lookup.names.values() for name in names):
        return BUILTIN
    tried = lookup.names.get(setting, (setting,) if lookup.any_name else ())
    return next((name for name in tried if name in vllm.functions), BUILTIN)


def seed_number(seed: str | None) -> int | None:
    """The number that a value of PYTHONHASHSEED stands for; None: Python draws a random one.

    Raises:
        EncodeError: Python does not start with it.
    """
    if seed in {None, "", "random"}:
        return None
    assert seed is not None
    if found := re.fullmatch(r"[ \t-\r]*[+]?0*([0-9]{1,10})", seed):
        number = int(found[1])
        if number < 1 << 32:
            return number
    raise EncodeError(
        f"PYTHONHASHSEED={seed!r} is no seed: Python refuses to start with it, so there is no such deployment; "
        "give an integer from 0 to 4294967295, or random"
    )


def python_version(text: str) -> tuple[int, int]:
    """Major and minor of a version of CPython.

    Raises:
        EncodeError: it is none, or older than 3.8, whose hash of tuples is another one.
    """
    found = re.match(r"(3)\.([0-9]{1,4})(?:\.[0-9]+)?(?:(?:a|b|rc)[0-9]+)?[+]?$", text.strip())
    if found is None or int(found[2]) < 8:
        raise EncodeError(f"{text!r} is not a version of CPython that can be modelled; give 3.8 or later, such as 3.12")
    return int(found[1]), int(found[2])
