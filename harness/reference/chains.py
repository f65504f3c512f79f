"""What both operations that chain hashes need; whoever wants other chains gives the client another :class:`Chains`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.client import ClientError
from wire.chunks import Chunk, Returns, chunk_hashes
from wire.deployments import Deployment, Hashing, hashing, world_size_in_keys
from wire.hashes import token_hashes
from wire.keys import ChunkHash
from wire.release import Release

HASH_OF_NONE: Final = hash(None)
"""An address before CPython 3.12: builtin keys of 0.3.4 to 0.3.15 then hold in this process only, as the real ones do."""


class Chains:
    """Hashes of chunks; every method raises what :mod:`wire` raises."""

    def chunks(
        self,
        release: Release,
        tokens: Sequence[int],
        *,
        chunk_size: int,
        algorithm: str,
        none_hash: ChunkHash,
        returns: Returns | None,
        save_unfull_chunk: bool,
        skip: int,
    ) -> list[Chunk]:
        """The chunks of a token list with their chained hashes."""
        return chunk_hashes(
            release,
            tokens,
            chunk_size=chunk_size,
            algorithm=algorithm,
            none_hash=none_hash,
            returns=returns,
            save_unfull_chunk=save_unfull_chunk,
            skip=skip,
            hash_of_none=HASH_OF_NONE,
        )

    def hashing(self, deployment: Deployment) -> Hashing:
        """What a deployment hashes with, and what it starts from."""
        return hashing(deployment)

    def world_size(self, release: Release, world_size: int, *, mla: bool, save_only_first_rank: bool | None) -> int:
        """The world size that keys carry."""
        return world_size_in_keys(release, world_size, mla=mla, save_only_first_rank=save_only_first_rank)

    def token_hashes(self, tokens: Sequence[int], chunk_size: int) -> list[bytes]:
        """Hashes of the full chunks as the multiprocess server makes them."""
        return token_hashes(tokens, chunk_size)


def check_chunk_size(chunk_size: int) -> None:
    """Refuse a chunk of no tokens."""
    if chunk_size < 1:
        raise ClientError("refused", f"a chunk of {chunk_size} tokens is none")
