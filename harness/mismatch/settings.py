"""Causes that lie in the settings and versions of a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from harness.mismatch.hypothesis import Hypothesis, cooked, deployed
from harness.mismatch.request import Request
from reports.keys.record import Cause
from wire.chunks import CHUNK_CHAINS
from wire.deployments import IMPORTS_NONE_HASH_EARLY, LOOKUPS, seed_number, vllm_ranges, vllm_spans
from wire.keys import KEY_GRAMMARS
from wire.reach import PYTHONS, release_spans
from wire.release import KNOWN_RELEASES, Release

SEEDS: Final = ("0", "1", "42", "123", "1234", "00", "2", "7", "10", "100", "1337", "12345", "2024", "2025", "random", "")
COMMON_SEEDS: Final = frozenset({"0", "1", "42", "123", "1234", "00"})
SIZES: Final = tuple(1 << power for power in range(13))
COMMON_SIZES: Final = frozenset({16, 32, 64, 128, 256, 512, 1024})
ALGORITHMS: Final = ("builtin", "sha256_cbor", "sha256", "xxhash_cbor", "xxhash")
COMMON_ALGORITHMS: Final = frozenset({"builtin", "sha256_cbor", "sha256"})


def seeds(request: Request) -> Iterator[Hypothesis]:
    """Other seeds that people use, and the seed spelled with other zeros."""
    here = request.deployment.seed
    shown = "not set" if here is None else f"'{here}'"
    near = [f"0{here}", here.lstrip("0") or "0"] if here and here.isdigit() else []
    action = "Set PYTHONHASHSEED to the same text in every process that makes keys."
    for seed in dict.fromkeys([*SEEDS, *near]):
        if seed == here:
            continue
        sentence = f"PYTHONHASHSEED is '{seed}' there and {shown} here."
        if seed_number(seed) is not None and seed_number(seed) == seed_number(here):
            sentence = f"PYTHONHASHSEED is spelled '{seed}' there and {shown} here: one number, but its text is hashed."
        yield Hypothesis(
            "seed", Cause("seed", sentence, action, seed), deployment=deployed(seed=seed), common=seed in COMMON_SEEDS
        )
    if here is not None:
        sentence = "PYTHONHASHSEED is not set there; vLLM 0.29 and later then hash the text 'vllm-none-hash'."
        yield Hypothesis("seed", Cause("seed-unset", sentence, action), deployment=deployed(seed=None), common=True)


def chunk_sizes(request: Request) -> Iterator[Hypothesis]:
    """Powers of two, neighbours of the size, and all tokens in one chunk."""
    here, count = request.chunk_size, len(request.tokens)
    for size in dict.fromkeys([256, *SIZES[::-1], here - 1, here + 1, count]):
        if size != here and 1 <= size <= count:
            cause = Cause(
                "chunk-size",
                f"Chunks have {size} tokens there and {here} here.",
                "Set chunk_size alike on both sides (256 unless it is set).",
                str(size),
            )
            yield Hypothesis("chunk size", cause, recipe=cooked(chunk_size=size), common=size in COMMON_SIZES)


def algorithms(request: Request) -> Iterator[Hypothesis]:
    """Every hash function, found or not."""
    if LOOKUPS[request.deployment.release] is None:
        return
    for function in ALGORITHMS:
        cause = Cause(
            "algorithm",
            f"The hash function is {function} there.",
            "Set pre_caching_hash_algorithm alike, and see that both sides have a vLLM with this function: one that is not "
            "found is replaced by builtin without an error.",
            function,
        )
        yield Hypothesis("algorithm", cause, function=function, common=function in COMMON_ALGORITHMS)


def vllm_versions(request: Request) -> Iterator[Hypothesis]:
    """No vLLM, and every range of versions."""
    here = request.deployment.vllm
    if here is not None:
        cause = Cause(
            "vllm-missing",
            "vLLM cannot be imported there: NONE_HASH is 0 and the hash is builtin, whatever the settings say.",
            "Install the same vLLM wherever keys are made; lmcache replaces what is missing without an error.",
        )
        yield Hypothesis("vllm", cause, deployment=deployed(vllm=None), common=True)
    if here is not None and request.deployment.kv_cache_utils:
        cause = Cause(
            "kv-cache-utils-missing",
            "vLLM's module kv_cache_utils cannot be imported there, so that NONE_HASH is 0; the hash function is loaded all "
            "the same.",
            "Install vLLM with all that it needs; lmcache replaces what is missing without an error.",
        )
        yield Hypothesis("vllm", cause, deployment=deployed(kv_cache_utils=False))
    for found in vllm_ranges():
        named = partial(_vllm_cause, here)
        yield Hypothesis(
            "vllm",
            named((found.first,)),
            deployment=deployed(vllm=found.first),
            common=True,
            members=(found.first,),
            joined=named,
        )


def _vllm_cause(here: str | None, firsts: tuple[str, ...]) -> Cause:
    span = "; or ".join(map(str, vllm_spans(firsts)))
    return Cause(
        "vllm-version",
        f"vLLM is {span} there and {here or 'missing'} here.",
        "Use one vLLM generation wherever keys are made: hashes are integers before 0.10.2 and bytes since, and an unset seed "
        "means something else from 0.29 on.",
        span,
    )


def releases(request: Request) -> Iterator[Hypothesis]:
    """Releases of lmcache whose keys are made or written in another way."""
    here = _kind(request.deployment.release)
    kinds: dict[tuple[object, ...], list[str]] = {}
    for text in KNOWN_RELEASES:
        kinds.setdefault(_kind(Release.parse(text)), []).append(text)
    for kind, texts in kinds.items():
        if kind != here:
            yield Hypothesis(
                "release",
                _release_cause(tuple(texts)),
                deployment=deployed(release=Release.parse(texts[0])),
                common=True,
                rereads=True,
                members=tuple(texts),
                joined=_release_cause,
            )


def _release_cause(texts: tuple[str, ...]) -> Cause:
    span = release_spans(texts)
    return Cause(
        "release",
        f"It is a key of lmcache {span}.",
        "Run releases on both sides that make the same keys; a store that others have written stays invisible after such an "
        "update.",
        span,
    )


def _kind(release: Release) -> tuple[object, ...]:
    chain, grammar = CHUNK_CHAINS[release], KEY_GRAMMARS[release]
    names = None if grammar.dtype_names is None else tuple(grammar.dtype_names.items())
    lookup, early = repr(LOOKUPS[release]), IMPORTS_NONE_HASH_EARLY[release]
    return chain.third, chain.folds, grammar.prefix, grammar.hash_style, grammar.digests, names, lookup, early


def pythons(request: Request) -> Iterator[Hypothesis]:
    """Versions of Python that hash texts or None in another way."""
    for python in PYTHONS:
        cause = Cause(
            "python",
            f"Python is {python} or {'earlier' if python == PYTHONS[0] else 'later'} there and {request.deployment.python} here.",
            "Run all processes that make builtin keys on CPython 3.12 or later: its hash of texts changed with 3.11, that of "
            "None with 3.12.",
            python,
        )
        yield Hypothesis("python", cause, deployment=deployed(python=python))
