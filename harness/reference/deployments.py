"""The pure operation on deployments: keys from settings alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.reference.chains import HASH_OF_NONE, check_chunk_size
from harness.reference.values import hash_to_json, release_of, wire_errors
from wire.chunks import chunk_keys
from wire.deployments import Deployment, deployment_chunks, hashing, world_size_in_keys
from wire.keys import CacheKey

Answer = dict[str, Any]


class DeploymentOperations:
    """Chunk keys of a deployment: the hash function and the starting hash follow from what is installed and set."""

    def deployment_keys(
        self,
        *,
        release: str,
        vllm: str | None,
        kv_cache_utils: bool,
        seed: str | None,
        algorithm: str,
        tokens: Sequence[int],
        chunk_size: int,
        save_unfull_chunk: bool,
        skip: int,
        layers: int,
        mla: bool,
        save_only_first_rank: bool | None,
        model: str,
        world_size: int,
        worker_id: int,
        dtype: str | None,
        fmt: str | None,
        tags: Sequence[Sequence[str]],
        **_: Any,
    ) -> Answer:
        """NONE_HASH, and the chunks of a token list with their key strings and those of their layers."""
        known = release_of(release)
        check_chunk_size(chunk_size)
        with wire_errors():
            deployment = Deployment(known, vllm, algorithm, seed, kv_cache_utils)
            chunks = deployment_chunks(
                deployment,
                tokens,
                chunk_size=chunk_size,
                save_unfull_chunk=save_unfull_chunk,
                skip=skip,
                address_of_none=HASH_OF_NONE,
            )
            none_hash = hashing(deployment).none_hash
            assert none_hash is not None
            identity = CacheKey(
                model,
                world_size_in_keys(known, world_size, mla=mla, save_only_first_rank=save_only_first_rank),
                worker_id,
                0,
                dtype,
                fmt,
                tags=tuple((name, text) for name, text in tags),
            )
            keys = chunk_keys(known, identity, chunks)
            by_layer = [chunk_keys(known, replace(identity, layer=layer), chunks) for layer in range(layers)]
        described = [
            {"start": chunk.start, "end": chunk.end, "key": key, "layers": [keys_of_layer[index] for keys_of_layer in by_layer]}
            for index, (chunk, key) in enumerate(zip(chunks, keys, strict=True))
        ]
        return {"none_hash": hash_to_json(none_hash), "chunks": described}
