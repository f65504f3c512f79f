"""The pure operations on keys and tokens."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from harness.client import ClientError
from harness.reference.chains import Chains, check_chunk_size
from harness.reference.codec import Codec
from harness.reference.values import hash_from_json, key_text, key_to_json, release_of, wire_errors
from wire.chunks import Returns
from wire.keys import CacheKey

Answer = dict[str, Any]


class KeyOperations:
    """Key strings, chunk keys and token hashes."""

    codec: ClassVar[Codec] = Codec()
    chains: ClassVar[Chains] = Chains()

    def format_key(self, *, release: str, key: Mapping[str, Any], **_: Any) -> Answer:
        """The key string of a release."""
        known = release_of(release)
        with wire_errors():
            return {"text": key_text(self.codec, known, key)}

    def parse_key(self, *, release: str, text: str, **_: Any) -> Answer:
        """The parts of a key string."""
        known = release_of(release)
        with wire_errors():
            return {"key": key_to_json(self.codec.read_key(known, text))}

    def chunk_keys(
        self,
        *,
        release: str,
        tokens: Sequence[int],
        algorithm: str,
        none_hash: Mapping[str, str],
        chunk_size: int,
        save_unfull_chunk: bool,
        skip: int,
        model: str,
        world_size: int,
        worker_id: int,
        dtype: str | None,
        fmt: str | None,
        tags: Sequence[Sequence[str]],
        returns: Returns | None = None,
        **_: Any,
    ) -> Answer:
        """The chunks of a token list, each with its key string."""
        known = release_of(release)
        check_chunk_size(chunk_size)
        identity = CacheKey(model, world_size, worker_id, 0, dtype, fmt, tags=tuple((name, text) for name, text in tags))
        with wire_errors():
            chunks = self.chains.chunks(
                known,
                tokens,
                chunk_size=chunk_size,
                algorithm=algorithm,
                none_hash=hash_from_json(none_hash),
                returns=returns,
                save_unfull_chunk=save_unfull_chunk,
                skip=skip,
            )
            keys = [self.codec.write_key(known, replace(identity, chunk_hash=chunk.chunk_hash)) for chunk in chunks]
        return {"chunks": [{"start": c.start, "end": c.end, "key": key} for c, key in zip(chunks, keys, strict=True)]}

    def token_hashes(self, *, release: str, tokens: Sequence[int], chunk_size: int, **_: Any) -> Answer:
        """The hashes of the full chunks of a token list, as the multiprocess server makes them."""
        release_of(release)
        check_chunk_size(chunk_size)
        try:
            return {"hashes": [digest.hex() for digest in self.chains.token_hashes(tokens, chunk_size)]}
        except struct.error as error:
            raise ClientError("refused", f"a token does not fit into 32 bits: {error}") from error
