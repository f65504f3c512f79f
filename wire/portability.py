"""What the keys of a deployment depend on besides the tokens: a catalogue of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from wire.chunks import CHUNK_CHAINS
from wire.deployments import (
    BUILTIN,
    IMPORTS_NONE_HASH_EARLY,
    LOOKUPS,
    Deployment,
    Hashing,
    hash_of_none,
    hashing,
    none_hash_text,
    seed_number,
    world_size_in_keys,
)
from wire.errors import EncodeError
from wire.keys import KEY_GRAMMARS, CacheKey

Axis = Literal["processes", "pythons", "languages", "vllms", "releases"]
AXES: Final[Mapping[Axis, str]] = MappingProxyType(
    {
        "processes": "other processes with the same settings",
        "pythons": "other versions of Python",
        "languages": "clients in other languages",
        "vllms": "other versions of vLLM",
        "releases": "other releases of lmcache",
    }
)
"""Where keys may have to be found again."""


@dataclass(frozen=True)
class Finding:
    """Something about a deployment that the author of a client should know."""

    id: str
    title: str
    explanation: str
    action: str
    breaks: tuple[Axis, ...] = ()
    """Where the hashes do not carry because of it; nowhere: they carry, if one knows."""


@dataclass(frozen=True)
class Identity:
    """The parts of keys that a deployment is asked about, as far as findings depend on them."""

    key: CacheKey
    mla: bool = False
    save_only_first_rank: bool | None = None
    """The setting; None: the default of the release."""
    save_unfull_chunk: bool | None = None
    """The setting; None: the default of the release."""


@dataclass(frozen=True)
class _Situation:
    deployment: Deployment
    hashing: Hashing
    identity: Identity

    @property
    def third(self) -> str:
        return CHUNK_CHAINS[self.deployment.release].third

    @property
    def starts_from_text(self) -> str | None:
        """The text of which NONE_HASH is made, if it is made of one."""
        if not self.follows_seed:
            return None
        return none_hash_text(self.deployment, self.hashing.function)

    @property
    def follows_seed(self) -> bool:
        """NONE_HASH is what vLLM makes it."""
        it = self.deployment
        has_it = it.vllm is not None and it.kv_cache_utils
        return self.third != "text chain" and has_it and not IMPORTS_NONE_HASH_EARLY[it.release]

    @property
    def hashes_none(self) -> bool:
        return self.third == "none" and self.hashing.function == BUILTIN

    @property
    def collapses_world_size(self) -> bool:
        identity = self.identity
        return world_size_in_keys(self.deployment.release, 2, mla=True, save_only_first_rank=identity.save_only_first_rank) == 1

    @property
    def knows_setting(self) -> bool:
        lookup = LOOKUPS[self.deployment.release]
        return lookup is None or self.deployment.algorithm == BUILTIN or self.hashing.function != BUILTIN


_SAME_SEED: Final = (
    "Set PYTHONHASHSEED to the same number, for example 0, in every process that shares the store, also in workers."
)

_CATALOGUE: Final[Sequence[tuple[Finding, Callable[[_Situation], bool]]]] = (
    (
        Finding(
            "seed-refused",
            "Python does not start with this seed.",
            "PYTHONHASHSEED takes an integer from 0 to 4294967295, or the word random. With anything else Python ends at once "
            "with 'config_init_hash_seed: PYTHONHASHSEED must be \"random\" or an integer in range [0; 4294967295]'.",
            "Set PYTHONHASHSEED to a number from 0 to 4294967295.",
        ),
        lambda _: False,
    ),
    (
        Finding(
            "seed-unset-random",
            "NONE_HASH is random: every process has other keys.",
            "PYTHONHASHSEED is not set, so the chain starts from random bytes, or from a hash that Python salts with a random "
            "number. This holds for vLLM before 0.29 with any function, and for builtin, xxhash and xxhash_cbor with every vLLM. "
            "Nothing hits across processes, not even after a restart, and nothing says why.",
            _SAME_SEED,
            ("processes", "pythons", "languages", "vllms", "releases"),
        ),
        lambda it: it.hashing.none_hash is None and it.deployment.seed is None,
    ),
    (
        Finding(
            "seed-unset-fixed-text",
            "PYTHONHASHSEED is not set, and NONE_HASH is the hash of a text that vLLM fixes.",
            "From vLLM 0.29 on, sha256 and sha256_cbor start from the hash of the text 'vllm-none-hash' if the variable is "
            "not set. Older versions start from random bytes, and processes with the variable from something else.",
            _SAME_SEED,
            ("vllms",),
        ),
        lambda it: it.deployment.seed is None and it.starts_from_text is not None and it.hashing.none_hash is not None,
    ),
    (
        Finding(
            "seed-random",
            "PYTHONHASHSEED is the word random.",
            "Python then salts its own hash with a random number, so that with builtin every process has other keys. "
            "The digest functions hash the word itself: their NONE_HASH is the hash of the text 'random', the same everywhere.",
            _SAME_SEED,
        ),
        lambda it: it.follows_seed and it.deployment.seed == "random" and it.hashing.function != BUILTIN,
    ),
    (
        Finding(
            "seed-random-builtin",
            "PYTHONHASHSEED is the word random, and builtin keys are random with it.",
            "NONE_HASH is Python's hash of the text 'random', salted with a random number that every process draws for itself.",
            _SAME_SEED,
            ("processes", "pythons", "languages", "vllms", "releases"),
        ),
        lambda it: it.follows_seed and it.deployment.seed == "random" and it.hashing.function == BUILTIN,
    ),
    (
        Finding(
            "seed-empty",
            "PYTHONHASHSEED is set to nothing, which is a seed to vLLM and none to Python.",
            "Python takes the empty variable as not set. vLLM hashes the empty text: a fixed NONE_HASH with the digest "
            "functions, and 0 with builtin, because the hash of the empty text is always 0.",
            "Set PYTHONHASHSEED to a number; a client has to hash the empty text meanwhile.",
        ),
        lambda it: it.follows_seed and it.deployment.seed == "",
    ),
    (
        Finding(
            "seed-is-text",
            "NONE_HASH is the hash of the text of PYTHONHASHSEED, not of the number.",
            "vLLM hashes the value of the variable as it stands there, as a text: '0' and '00' are the same seed to Python "
            "and give two NONE_HASHes, and hashing the integer 0 gives a third.",
            "Hash the text, in CBOR as a text string for sha256_cbor and xxhash_cbor, and spell the seed alike everywhere.",
        ),
        lambda it: bool(it.starts_from_text) and it.deployment.seed not in {None, "random"},
    ),
    (
        Finding(
            "vllm-missing",
            "There is no vLLM, so NONE_HASH is 0 and the hash is builtin, whatever the settings say.",
            "A process that cannot import vLLM takes 0 and CPython's own hash without an error. Processes with vLLM and the same "
            "settings have other keys.",
            "Install the same vLLM wherever keys are made, also in tools, or start the client from 0 on purpose.",
            ("vllms",),
        ),
        lambda it: it.third != "text chain" and it.deployment.vllm is None,
    ),
    (
        Finding(
            "kv-cache-utils-missing",
            "vLLM is there, but its module that makes NONE_HASH is not, so NONE_HASH is 0.",
            "vllm.v1.core.kv_cache_utils needs far more packages than the hash functions. Where it cannot be imported lmcache "
            "takes 0, while the hash function may still load: the keys look right and hit nothing.",
            "Install vLLM with all that it needs, and look for NONE_HASH in the log of lmcache; or start the client from 0 on "
            "purpose.",
            ("vllms",),
        ),
        lambda it: it.third != "text chain" and it.deployment.vllm is not None and not it.deployment.kv_cache_utils,
    ),
    (
        Finding(
            "none-hash-too-early",
            "lmcache 0.3.3 reads NONE_HASH before vLLM has set it, and takes 0.",
            "vLLM 0.10.0 and later set it in a call that comes after the import. The seed has no effect on these keys.",
            "Start the chain from 0 for this release, or move to 0.3.4 or later.",
            ("releases",),
        ),
        lambda it: it.deployment.vllm is not None and IMPORTS_NONE_HASH_EARLY[it.deployment.release],
    ),
    (
        Finding(
            "algorithm-fallback",
            "The algorithm that is set is not found, and the hash is builtin.",
            "The setting pre_caching_hash_algorithm only names a function, and the installed vLLM and the release of lmcache "
            "decide whether there is one of that name where lmcache looks. If not, CPython's own hash is taken: without a "
            "word until 0.3.9.post1, with a warning in the log from 0.3.9.post2 on.",
            "Set an algorithm that this pair of lmcache and vLLM has (sha256_cbor from lmcache 0.3.9.post2 on), or make "
            "builtin keys.",
            ("vllms", "releases"),
        ),
        lambda it: not it.knows_setting,
    ),
    (
        Finding(
            "algorithm-ignored",
            "This release has one algorithm, whatever is set.",
            "Until 0.3.2 a chunk hash is the sha256 of the previous hexadecimal digest and the tokens as little-endian "
            "uint32. There is no setting, no NONE_HASH and no vLLM in it, and the seed has no effect.",
            "Follow the text chain for this release; keys of 0.3.3 and later have nothing in common with it.",
            ("releases",),
        ),
        lambda it: it.third == "text chain",
    ),
    (
        Finding(
            "builtin-is-cpython",
            "builtin is CPython's hash of a tuple: a signed 64-bit number that any language can compute.",
            "It is the tuple hash of CPython 3.8 and later on 64-bit machines; the seed does not change it, since integers and "
            "tuples are not salted. Half of the hashes are negative and stand in keys with a minus sign.",
            "Compute it as docs/spec/keys.md describes, modulo 2^64, and read the result as signed.",
        ),
        lambda it: it.hashing.function == BUILTIN,
    ),
    (
        Finding(
            "builtin-none-hash-is-siphash",
            "NONE_HASH of builtin is Python's salted hash of the seed's text.",
            "The seed is here both the text that is hashed and the number that salts the hash. It is SipHash-1-3 from CPython "
            "3.11 on and SipHash-2-4 before, so that Python 3.10 and 3.11 have different keys with the same seed.",
            "Run all processes on CPython 3.11 or later, and compute SipHash-1-3 with the key that CPython derives from the "
            "seed.",
            ("pythons",),
        ),
        lambda it: it.hashing.function == BUILTIN and bool(it.starts_from_text) and it.hashing.none_hash is not None,
    ),
    (
        Finding(
            "hash-of-none-address",
            "builtin keys of this release contain hash(None), which is an address on this Python: every process has other keys.",
            "The chain of 0.3.4 to 0.3.15 hashes None as the third element, and before CPython 3.12 the hash of None is where it "
            "lies in memory. The seed does not help.",
            "Run every process on CPython 3.12 or later, or set sha256_cbor, or move to lmcache 0.4.1 or later.",
            ("processes", "pythons", "languages", "vllms", "releases"),
        ),
        lambda it: it.hashes_none and hash_of_none(it.deployment.python) is None,
    ),
    (
        Finding(
            "hash-of-none-constant",
            "builtin keys of this release contain hash(None), which is 0xfca86420 on this Python.",
            "The chain of 0.3.4 to 0.3.15 hashes None as the third element. From CPython 3.12 on its hash is a constant; "
            "before, it is an address, and such processes share nothing with this one.",
            "Keep every process on CPython 3.12 or later, and take 0xfca86420 for the hash of None.",
            ("pythons",),
        ),
        lambda it: it.hashes_none and hash_of_none(it.deployment.python) is not None,
    ),
    (
        Finding(
            "pickle-digest",
            "The function hashes a pickle, which is Python's own format.",
            "sha256 and xxhash hash what pickle makes of the tuple with the highest protocol. Nobody promises those bytes "
            "from one Python to the next (those of CPython 3.8 to 3.13 are the same for such tuples), and no other language "
            "makes them.",
            "Set sha256_cbor (or xxhash_cbor), the functions that are made for other languages, and keep one Python version "
            "meanwhile.",
            ("pythons", "languages"),
        ),
        lambda it: it.hashing.pickles,
    ),
    (
        Finding(
            "digest-as-integer",
            "This vLLM gives hashes as integers; from 0.10.2 on they are bytes.",
            "vLLM before 0.10.2 turns a digest into a big-endian integer, of which sha256_cbor_64bit keeps the low 64 bits. "
            "Later versions return the digest, which is hashed as a byte string at the next chunk. No key is the same.",
            "Use one vLLM generation wherever keys are made.",
            ("vllms",),
        ),
        lambda it: it.hashing.digests and it.hashing.returns == "int",
    ),
    (
        Finding(
            "digest-as-bytes",
            "This vLLM gives digests as bytes; before 0.10.2 they were integers.",
            "The digest is hashed as a byte string at the next chunk. vLLM before 0.10.2 turned it into a big-endian integer. "
            "The name sha256_cbor_64bit became sha256_cbor with 0.10.2, and xxhash and xxhash_cbor came with 0.13.",
            "Use one vLLM generation wherever keys are made; a client hashes byte strings.",
            ("vllms",),
        ),
        lambda it: it.hashing.digests_as_bytes,
    ),
    (
        Finding(
            "digest-not-writable",
            "This release cannot write a digest into a key: there are no keys.",
            "vLLM returns bytes, and lmcache 0.3.9 to 0.3.12 format the hash as a number and raise a TypeError. Older releases "
            "do not find the functions of such a vLLM.",
            "Set builtin, use a vLLM before 0.10.2, or move to lmcache 0.3.13 or later.",
            ("processes", "pythons", "languages", "vllms", "releases"),
        ),
        lambda it: it.hashing.digests_as_bytes and not KEY_GRAMMARS[it.deployment.release].digests,
    ),
    (
        Finding(
            "digest-whole",
            "A digest goes on, and into the key, as all of its bytes.",
            "0.3.13 to 0.4.5 do not shorten it: 64 hexadecimal digits with sha256, 32 with xxhash, leading zeros included. "
            "From 0.4.6 on it is folded to 64 bits, and no key is the same.",
            "Do not fold for these releases, and keep all processes on one side of 0.4.6.",
            ("releases",),
        ),
        lambda it: (
            it.hashing.digests_as_bytes
            and KEY_GRAMMARS[it.deployment.release].digests
            and not CHUNK_CHAINS[it.deployment.release].folds
        ),
    ),
    (
        Finding(
            "digest-folded",
            "A digest is folded to the integer of its first 8 bytes, at every step.",
            "From 0.4.6 on NONE_HASH and every hash become a big-endian integer of 64 bits before they are hashed again or "
            "written. Up to 0.4.5 all bytes go on.",
            "Fold NONE_HASH and every step, first 8 bytes, big-endian, and keep all processes on one side of 0.4.6.",
            ("releases",),
        ),
        lambda it: it.hashing.digests_as_bytes and CHUNK_CHAINS[it.deployment.release].folds,
    ),
    (
        Finding(
            "third-element",
            "The third element of what is hashed depends on the release of lmcache.",
            "0.3.3 hashes a pair, 0.3.4 to 0.3.15 add None, and 0.4.1 and later the empty tuple. No key of one group is one "
            "of another.",
            "Keep all processes in one group, and start with an empty store after an update across its border.",
            ("releases",),
        ),
        lambda it: it.third != "text chain",
    ),
    (
        Finding(
            "decimal-read-as-hex",
            "lmcache 0.3.4 and 0.3.5 write the hash in decimal and read it in base 16.",
            "A key does not survive the way to the server and back as a number; on the wire and in a store it is decimal.",
            "Compare keys of these releases as text, and write the hash in decimal.",
            ("releases",),
        ),
        lambda it: KEY_GRAMMARS[it.deployment.release].hash_style == "decimal-read-as-hex",
    ),
    (
        Finding(
            "mla-world-size",
            "With multi-head latent attention the world size in keys is 1.",
            "From 0.3.10 on only the first rank saves by default, and the world size in the key is 1 whatever the deployment "
            "has, unless extra_config sets save_only_first_rank to false.",
            "Write 1 for the world size, and look for the keys of worker 0 only.",
            ("releases",),
        ),
        lambda it: it.identity.mla and it.collapses_world_size,
    ),
    (
        Finding(
            "mla-world-size-kept",
            "With multi-head latent attention these keys carry the true world size.",
            "Until 0.3.9.post2, and later with save_only_first_rank set to false, every rank has its own keys. Otherwise the "
            "world size in them becomes 1 from 0.3.10 on.",
            "Write the true world size, and expect no hits across 0.3.10.",
            ("releases",),
        ),
        lambda it: it.identity.mla and not it.collapses_world_size,
    ),
    (
        Finding(
            "partial-chunk-saved",
            "A last chunk that is not full has a key, by default.",
            "save_unfull_chunk is true by default until 0.3.10.post2 and false from 0.3.11 on.",
            "Set save_unfull_chunk explicitly, and store and look up partial chunks only where it is true.",
        ),
        lambda it: it.identity.save_unfull_chunk is None and CHUNK_CHAINS[it.deployment.release].saves_unfull_chunk,
    ),
    (
        Finding(
            "fp8-name",
            "The name of this dtype in keys changed with 0.3.14.",
            "0.3.9.post1 to 0.3.13 write fp8_e4m3 and fp8_e5m2 for two dtypes each; 0.3.14 and later write the names of torch "
            "after fp8_, such as fp8_e4m3fn. Before 0.3.9.post1 keys have no dtype.",
            "Take the name from the table of the release, and expect no hits across 0.3.14.",
            ("releases",),
        ),
        lambda it: (
            (it.identity.key.dtype or "").startswith("float8") and KEY_GRAMMARS[it.deployment.release].dtype_names is not None
        ),
    ),
    (
        Finding(
            "separator-in-identity",
            "A part of the key contains '@', which separates the parts.",
            "lmcache writes such a key without complaint, and every reader cuts it in the wrong places: a server drops the "
            "connection or stores under another name.",
            "Serve the model under a name without '@' (--served-model-name), and keep '@' out of tags.",
            ("processes", "languages"),
        ),
        lambda it: any("@" in part for part in _texts(it.identity.key)),
    ),
)

FINDINGS: Final[Mapping[str, Finding]] = MappingProxyType({finding.id: finding for finding, _ in _CATALOGUE})
"""Every finding by its id, in the order in which they are reported."""


def findings(deployment: Deployment, identity: Identity) -> tuple[Finding, ...]:
    """What there is to know about the keys of a deployment, the gravest first.

    Raises:
        EncodeError: a setting of the deployment is none.
    """
    situation = _Situation(deployment, hashing(deployment), identity)
    held = [finding for finding, holds in _CATALOGUE if holds(situation)]
    return tuple(sorted(held, key=lambda finding: "processes" not in finding.breaks))


def refusal(seed: str | None) -> Finding | None:
    """The finding about a seed with which Python does not start; None for any other."""
    try:
        seed_number(seed)
    except EncodeError:
        return FINDINGS["seed-refused"]
    return None


def _texts(key: CacheKey) -> Iterable[str]:
    return (key.model, key.fmt or "", *(text for tag in key.tags for text in tag))
