"""Questions about chunk keys as deployments make them, beside versions of vLLM and with values of PYTHONHASHSEED."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fixturegen.environment import SEED
from fixturegen.inputs.chunks import LONG, TOKENS
from fixturegen.inputs.identities import identity
from wire.chunks import CHUNK_CHAINS
from wire.keys import KEY_GRAMMARS
from wire.release import Release

Asked = Iterator[tuple[str, str, dict[str, Any]]]

OTHER_SEED: Final = "4242"
ALGORITHMS: Final = ("builtin", "sha256_cbor", "sha256_cbor_64bit", "sha256", "xxhash", "xxhash_cbor")
"""Every setting is asked beside every vLLM: what one does not offer is replaced in silence, and that is a fact as well."""

WITHOUT_VLLM: Final = ("builtin", "sha256_cbor", "no_such_function")
"""Without vLLM every setting is replaced."""

SURROUNDINGS: Final[tuple[tuple[str | None, bool, str | None], ...]] = (
    (None, False, SEED),
    (None, False, None),
    ("0.10.1", True, SEED),
    ("0.10.1", True, OTHER_SEED),
    ("0.11.0", True, SEED),
    ("0.28.0", True, SEED),
    ("0.28.0", True, OTHER_SEED),
    ("0.28.0", True, None),
    ("0.28.0", False, SEED),
    ("0.33.0", True, SEED),
    ("0.33.0", True, None),
)
"""The vLLM that can be imported, whether its ``kv_cache_utils`` can as well, and PYTHONHASHSEED."""

IN_DETAIL: Final = (("0.10.1", "sha256_cbor_64bit"), ("0.28.0", "sha256_cbor"))
"""A chain of integers and one of digests that are asked with every size, mask and identity."""


def questions(release: Release) -> Asked:
    """Every algorithm in every surroundings on three chunks, then two chains in detail."""
    if CHUNK_CHAINS[release].third == "text chain":
        return
    for vllm, complete, seed in SURROUNDINGS:
        for algorithm in WITHOUT_VLLM if vllm is None else ALGORITHMS:
            beside = {"vllm": vllm, "kv_cache_utils": complete, "seed": seed, "algorithm": algorithm}
            yield f"{_name(vllm, complete, seed, algorithm)}.three", "deployment_keys", _ask(release, TOKENS["three"], **beside)
    for vllm, algorithm in IN_DETAIL:
        beside = {"vllm": vllm, "kv_cache_utils": True, "seed": SEED, "algorithm": algorithm}
        for name, tokens, changes in _details(release):
            yield f"{_name(vllm, True, SEED, algorithm)}.{name}", "deployment_keys", _ask(release, tokens, **beside, **changes)


def _details(release: Release) -> Iterator[tuple[str, list[int], dict[str, Any]]]:
    rest, three = TOKENS["three-and-rest"], TOKENS["three"]
    yield "unfull", rest, {"save_unfull_chunk": True}
    yield "full", rest, {}
    yield "none", [], {}
    yield "edges", TOKENS["edges"], {}
    yield "skip-32", rest, {"skip": 32}
    yield "size-1", three[:3], {"chunk_size": 1}
    yield "size-256", LONG, {"chunk_size": 256}
    yield "rank-3-of-8", three, {"world_size": 8, "worker_id": 3}
    yield "mla-rank-3-of-8", three, {"world_size": 8, "worker_id": 3, "mla": True}
    yield "mla-every-rank-saves", three, {"world_size": 8, "worker_id": 3, "mla": True, "save_only_first_rank": False}
    yield "first-rank-without-mla", three, {"world_size": 8, "worker_id": 0, "save_only_first_rank": True}
    yield "layers", three[:16], {"layers": 3}
    if KEY_GRAMMARS[release].tags:
        yield "tags", three[:16], {"tags": [["user", "alice"], ["tier", "gold"]], "layers": 2}
    if KEY_GRAMMARS[release].dtype_names is not None:
        yield "dtype-float8", three[:16], {"dtype": "float8_e4m3fn"}


def _name(vllm: str | None, complete: bool, seed: str | None, algorithm: str) -> str:
    beside = "no-vllm" if vllm is None else f"vllm-{vllm}" if complete else f"vllm-{vllm}-hashing-only"
    return f"lm.deployments.{beside}.seed-{seed or 'unset'}.{algorithm.replace('_', '-')}"


def _ask(release: Release, tokens: list[int], **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "tokens": tokens,
        "chunk_size": 16,
        "save_unfull_chunk": False,
        "skip": 0,
        "layers": 0,
        "mla": False,
        "save_only_first_rank": None,
    }
    return {**made, **identity(release), **changes}
