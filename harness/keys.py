"""The report about the keys of a deployment: what they are, what they follow from, and where they hold."""

from __future__ import annotations

from typing import Final

from packaging.version import Version

from harness.mismatch import Request
from harness.usage import UsageError
from reports.keys import Comparison, KeyRow, KeysReport
from wire.chunks import CHUNK_CHAINS, Chunk, chunk_keys
from wire.deployments import (
    BUILTIN,
    IMPORTS_NONE_HASH_EARLY,
    LOOKUPS,
    NEWEST_VLLM,
    Deployment,
    Hashing,
    hashing,
    none_hash_text,
)
from wire.keys import KEY_GRAMMARS, ChunkHash
from wire.portability import FINDINGS, findings
from wire.reach import reach
from wire.release import KNOWN_RELEASES, Release

UNKNOWN_HASHES: Final = ("seed-unset-random", "seed-random-builtin", "hash-of-none-address")
"""Findings that leave no hash to be given."""


def report_keys(request: Request, comparison: Comparison | None = None) -> KeysReport:
    """Everything about the keys of a deployment.

    Raises:
        UsageError: the request asks for something that the release has not.
        EncodeError: a setting of the deployment is none, or a part of the key cannot be written.
    """
    _check(request)
    deployment = request.deployment
    found = hashing(deployment)
    held = findings(deployment, request.about)
    ids = {finding.id for finding in held}
    unknown = next((id_ for id_ in UNKNOWN_HASHES if id_ in ids), None)
    unwritable = "digest-not-writable" in ids
    rows: tuple[KeyRow, ...] = () if unknown else _rows(request, written=not unwritable)
    why = unknown or ("digest-not-writable" if unwritable else None)
    return KeysReport(
        deployment=_deployment(request),
        settings=_settings(request),
        assumptions=_assumptions(deployment),
        function=found.function,
        function_note=_function_note(deployment, found),
        none_hash=found.none_hash,
        none_hash_note=_none_hash_note(deployment, found),
        tokens=len(request.tokens),
        rows=rows,
        no_keys=None if why is None else f"{FINDINGS[why].title} {FINDINGS[why].action}",
        findings=held,
        reach=reach(deployment, request.about),
        comparison=comparison,
    )


def _check(request: Request) -> None:
    release = request.deployment.release
    names = KEY_GRAMMARS[release].dtype_names
    if names is not None and request.identity.dtype not in names:
        raise UsageError(
            f"--dtype {request.identity.dtype!r} has no name in keys of lmcache {release}; give one of {', '.join(names)}"
        )
    if request.skip % request.chunk_size:
        raise UsageError(
            f"--skip {request.skip} is no multiple of the chunk size {request.chunk_size}; lmcache refuses such a mask"
        )


def _rows(request: Request, *, written: bool) -> tuple[KeyRow, ...]:
    chunks: list[Chunk] = request.chunks()
    release = request.deployment.release
    keys: list[str] | list[None] = chunk_keys(release, request.key(release), chunks) if written else [None] * len(chunks)
    return tuple(KeyRow(chunk.start, chunk.end, chunk.chunk_hash, key) for chunk, key in zip(chunks, keys, strict=True))


def _deployment(request: Request) -> dict[str, str | int | bool | None]:
    it, key = request.deployment, request.key(request.deployment.release)
    return {
        "lmcache": str(it.release),
        "vllm": it.vllm,
        "kv_cache_utils": it.kv_cache_utils,
        "python": it.python,
        "seed": it.seed,
        "algorithm": it.algorithm,
        "chunk_size": request.chunk_size,
        "save_unfull_chunk": request.keeps_partial,
        "skip": request.skip,
        "model": key.model,
        "world_size": key.world_size,
        "worker_id": key.worker_id,
        "dtype": key.dtype,
        "fmt": key.fmt,
        "layer": key.layer,
    }


def _settings(request: Request) -> tuple[tuple[str, str], ...]:
    deployment = request.deployment
    keeps = "kept" if request.keeps_partial else "left out"
    assumed = sorted({"model", "world size", "worker id", "dtype", "fmt"} - request.given)
    key = request.key(deployment.release)
    shown = {"model": key.model, "world size": key.world_size, "worker id": key.worker_id, "dtype": key.dtype, "fmt": key.fmt}
    taken = ", ".join(f"{name} {shown[name]}" for name in assumed if shown[name] is not None)
    rows = [
        ("lmcache", _release_words(deployment.release)),
        ("vLLM", _vllm_words(deployment.vllm)),
        ("Python", deployment.python),
        ("PYTHONHASHSEED", "not set" if deployment.seed is None else f"'{deployment.seed}'"),
        ("algorithm", deployment.algorithm),
        ("chunks", f"of {request.chunk_size} tokens, a last one that is not full is {keeps}"),
    ]
    if request.skip:
        rows.append(("skipped", f"{request.skip} tokens"))
    if taken:
        rows.append(("not given", f"taken as {taken}"))
    return tuple(rows)


def _release_words(release: Release) -> str:
    known = [text for text in KNOWN_RELEASES if Release.parse(text) <= release]
    return str(release) if str(release) in known else f"{release}, of which nothing is known here; taken for {known[-1]}"


def _vllm_words(vllm: str | None) -> str:
    if vllm is None:
        return "none"
    return vllm if Version(vllm) <= Version(NEWEST_VLLM) else f"{vllm}, of which nothing is known here; taken for {NEWEST_VLLM}"


def _assumptions(deployment: Deployment) -> tuple[str, ...]:
    """Versions that are taken for others."""
    rows = (
        ("lmcache", str(deployment.release), _release_words(deployment.release)),
        ("vLLM", deployment.vllm or "none", _vllm_words(deployment.vllm)),
    )
    return tuple(f"{name} {words}" for name, said, words in rows if words != said)


def _function_note(deployment: Deployment, found: Hashing) -> str:
    if LOOKUPS[deployment.release] is None:
        return "the only one of this release; there is no setting"
    if found.function == deployment.algorithm:
        return "as set"
    if found.function != BUILTIN:
        return f"which '{deployment.algorithm}' is another name of"
    where = "there is no vLLM"
    if deployment.vllm is not None:
        where = f"lmcache {deployment.release} finds none of this name in vLLM {deployment.vllm}"
    return f"and not '{deployment.algorithm}': {where}, and takes CPython's own hash"


def _none_hash_note(deployment: Deployment, found: Hashing) -> str:
    if LOOKUPS[deployment.release] is None:
        return "the chain starts from the empty text"
    if deployment.vllm is None:
        return "vLLM cannot be imported, and lmcache takes 0"
    if not deployment.kv_cache_utils:
        return "vLLM's kv_cache_utils cannot be imported, and lmcache takes 0"
    if IMPORTS_NONE_HASH_EARLY[deployment.release]:
        return "lmcache imports it before vLLM sets it, and takes 0"
    text = none_hash_text(deployment, found.function)
    if text is None:
        return "PYTHONHASHSEED is not set: random bytes, others in every process"
    why = "PYTHONHASHSEED" if deployment.seed is not None else "PYTHONHASHSEED is not set, and vLLM fixes the text"
    if found.none_hash is None:
        return f"Python's hash of the text '{text}', salted with a random number, another one in every process"
    function = "Python's salted hash" if found.function == BUILTIN else found.function
    return f"{function} of the text '{text}' ({why}){_folded(deployment, found.none_hash)}"


def _folded(deployment: Deployment, none_hash: ChunkHash) -> str:
    if not (isinstance(none_hash, bytes) and CHUNK_CHAINS[deployment.release].folds):
        return ""
    first = int.from_bytes(none_hash[:8], "big")
    return f"; the chain starts from its first 8 bytes as an integer, {first}"
