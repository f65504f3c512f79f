"""Deployments: which hash function and which starting hash a running lmcache ends up with, and what follows from them.

The setting ``pre_caching_hash_algorithm`` only names a function; the installed vLLM provides it, or not, and what is not found is
replaced in silence. Source: ``lmcache.v1.token_database.TokenDatabase.__init__`` of each release, and ``vllm.utils``,
``vllm.utils.hashing`` and ``vllm.v1.core.kv_cache_utils`` (``init_none_hash``) of vLLM 0.10.0 to 0.33.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from packaging.version import InvalidVersion, Version

from wire.chunks import TEXT_ALGORITHM, Returns
from wire.errors import EncodeError
from wire.hashes import DIGESTS, digest_as_int, text_hash
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
    def fell_back(self) -> bool:
        """The chain is CPython's own hash."""
        return self.function == BUILTIN


def vllm_hashes(version: str | None) -> VllmHashes | None:
    """The hash functions of a version of vLLM; None for none.

    Raises:
        EncodeError: the text is no version, or one older than what is known here.
    """
    if version is None:
        return None
    try:
        parsed = Version(version)
    except InvalidVersion:
        raise EncodeError(f"{version!r} is not a version of vLLM; give one such as 0.11.0, or none") from None
    for first, hashes in reversed(_VLLM):
        if first <= parsed:
            return hashes
    raise EncodeError(f"hash functions of vLLM {version} are not known here; known from {_VLLM[0][0]} on")


def hashing(deployment: Deployment) -> Hashing:
    """What a deployment hashes with, found as lmcache finds it: what is missing is replaced without an error.

    Raises:
        EncodeError: the version of vLLM or the seed is none.
    """
    vllm = vllm_hashes(deployment.vllm)
    lookup = LOOKUPS[deployment.release]
    if lookup is None:
        return Hashing(TEXT_ALGORITHM, "bytes", "")
    function = _found(lookup, vllm, deployment.algorithm)
    returns: Returns = "int" if function == BUILTIN or vllm is None else vllm.returns
    if vllm is None or not deployment.kv_cache_utils or IMPORTS_NONE_HASH_EARLY[deployment.release]:
        return Hashing(function, returns, 0)
    return Hashing(function, returns, none_hash(function, returns, _seed_text(vllm, function, deployment.seed), deployment.seed))


def none_hash(function: str, returns: Returns, text: str | None, seed: str | None) -> ChunkHash | None:
    """The starting hash that vLLM makes of a seed: the hash of its *text*; None if that is random.

    ``seed`` is PYTHONHASHSEED, on which Python's own hash of a text depends as well.

    Raises:
        EncodeError: the seed is neither ``random`` nor an integer from 0 to 4294967295: Python does not start with it.
    """
    number = _seed_number(seed)
    if text is None:
        return None
    if function == BUILTIN:
        return None if number is None else text_hash(text, seed=number)
    digest = DIGESTS[function](text)
    return digest_as_int(function, digest) if returns == "int" else digest


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


def _seed_text(vllm: VllmHashes, function: str, seed: str | None) -> str | None:
    if seed is not None:
        return seed
    return None if function.startswith("xxhash") else vllm.unset_seed


def _seed_number(seed: str | None) -> int | None:
    if seed in {None, "", "random"}:
        return None
    assert seed is not None
    if seed.isascii() and seed.isdigit() and int(seed) < 1 << 32:
        return int(seed)
    raise EncodeError(f"PYTHONHASHSEED={seed!r} is no seed; Python takes an integer from 0 to 4294967295, or random")
