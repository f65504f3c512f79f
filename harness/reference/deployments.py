"""The pure operation on deployments: keys from settings alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from harness.client import ClientError
from harness.reference.chains import Chains, check_chunk_size
from harness.reference.codec import Codec
from harness.reference.values import hash_to_json, release_of, wire_errors
from wire.deployments import Deployment
from wire.keys import CacheKey

Answer = dict[str, Any]


class DeploymentOperations:
    """Chunk keys of a deployment: the hash function and the starting hash follow from what is installed and set."""

    codec: ClassVar[Codec] = Codec()
    chains: ClassVar[Chains] = Chains()

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
            found = self.chains.hashing(Deployment(known, vllm, algorithm, seed, kv_cache_utils))
            if found.none_hash is None:
                raise ClientError("refused", "the starting hash is random, another one in every process; set PYTHONHASHSEED")
            chunks = self.chains.chunks(
                known,
                tokens,
                chunk_size=chunk_size,
                algorithm=found.function,
                none_hash=found.none_hash,
                returns=found.returns,
                save_unfull_chunk=save_unfull_chunk,
                skip=skip,
            )
            identity = CacheKey(
                model,
                self.chains.world_size(known, world_size, mla=mla, save_only_first_rank=save_only_first_rank),
                worker_id,
                0,
                dtype,
                fmt,
                tags=tuple((name, text) for name, text in tags),
            )
            made = [replace(identity, chunk_hash=chunk.chunk_hash) for chunk in chunks]
            keys = [self.codec.write_key(known, key) for key in made]
            by_layer = [[self.codec.write_key(known, replace(key, layer=layer)) for layer in range(layers)] for key in made]
        described = [
            {"start": chunk.start, "end": chunk.end, "key": key, "layers": layers_of_chunk}
            for chunk, key, layers_of_chunk in zip(chunks, keys, by_layer, strict=True)
        ]
        return {"none_hash": hash_to_json(found.none_hash), "chunks": described}
