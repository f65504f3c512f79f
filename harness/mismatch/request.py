"""What a client author says about a deployment: its settings, its tokens, and what its keys carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wire.chunks import CHUNK_CHAINS, Chunk
from wire.deployments import Deployment, deployment_chunks, world_size_in_keys
from wire.keys import KEY_GRAMMARS, CacheKey
from wire.portability import Identity
from wire.release import Release


@dataclass(frozen=True)
class Request:
    """A deployment, and the tokens that it is asked about."""

    deployment: Deployment
    tokens: Sequence[int]
    identity: CacheKey
    """All of the key but the hash, with the true world size; every part is set, whether the release writes it or not."""
    given: frozenset[str] = frozenset()
    """Parts that were said, of model, world size, worker id, dtype and fmt; the others are defaults, and not compared."""
    chunk_size: int = 256
    save_unfull_chunk: bool | None = None
    skip: int = 0
    mla: bool = False
    save_only_first_rank: bool | None = None
    """The setting; None: the default of the release."""

    @property
    def keeps_partial(self) -> bool:
        """A last chunk that is not full has a key."""
        default = CHUNK_CHAINS[self.deployment.release].saves_unfull_chunk
        return default if self.save_unfull_chunk is None else self.save_unfull_chunk

    @property
    def about(self) -> Identity:
        """What findings depend on."""
        return Identity(self.identity, self.mla, self.save_only_first_rank, self.save_unfull_chunk)

    def chunks(self) -> list[Chunk]:
        """The chunks of the tokens, and the hashes that name them.

        Raises:
            EncodeError: they differ from process to process.
        """
        return deployment_chunks(
            self.deployment,
            self.tokens,
            chunk_size=self.chunk_size,
            save_unfull_chunk=self.save_unfull_chunk,
            skip=self.skip,
        )

    def key(self, release: Release) -> CacheKey:
        """The identity with the parts that keys of a release have."""
        grammar = KEY_GRAMMARS[release]
        return CacheKey(
            model=self.identity.model,
            world_size=world_size_in_keys(
                release, self.identity.world_size, mla=self.mla, save_only_first_rank=self.save_only_first_rank
            ),
            worker_id=self.identity.worker_id,
            chunk_hash=0,
            dtype=self.identity.dtype if grammar.dtype_names is not None else None,
            fmt=self.identity.fmt if grammar.prefix else None,
            layer=self.identity.layer,
            tags=self.identity.tags,
        )
