"""Questions about expected keys with a deployment: lmcache 0.5.6, vLLM 0.11.0, sha256_cbor, seed 0, chunks of 16 tokens."""

from dataclasses import replace

from derived import TOKENS

from harness.mismatch import Request, compare, read_expected
from wire.deployments import Deployment
from wire.keys import CacheKey
from wire.release import Release

IDENTITY = {"model": "m", "world_size": 1, "worker_id": 0, "chunk_hash": 0, "dtype": "bfloat16", "fmt": "vllm"}
PARTS = {"model": "model", "world_size": "world size", "worker_id": "worker id", "dtype": "dtype", "fmt": "fmt"}


def request_of(lmcache="0.5.6", vllm="0.11.0", algorithm="sha256_cbor", seed="0", python="3.12", tokens=TOKENS, **changes):
    """A request; parts of the identity are said to be given if they are."""
    known = {"chunk_size": 16, "given": frozenset(PARTS[name] for name in changes if name in PARTS)}
    identity = CacheKey(
        **{**IDENTITY, **{name: value for name, value in changes.items() if name in {*IDENTITY, "layer", "tags"}}}
    )
    rest = {name: value for name, value in changes.items() if name not in {*IDENTITY, "layer", "tags"}}
    made = Request(Deployment(Release.parse(lmcache), vllm, algorithm, seed, python=python), tokens, identity)
    return replace(made, **{**known, **rest})


def comparison_of(expected, **deployment):
    request = request_of(**deployment)
    texts = [expected] if isinstance(expected, str) else expected
    return compare(request, [read_expected(text, request.deployment.release, model=request.identity.model) for text in texts])


def named(comparison):
    """Each explanation as the ids of its causes, those with a value as ``id=value``."""
    return [
        {cause.id if cause.value is None else f"{cause.id}={cause.value}" for cause in explanation.causes}
        for explanation in comparison.explanations
    ]
