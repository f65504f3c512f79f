"""How the reference client writes and reads messages of the multiprocess server; whoever wants another gives it another codec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.client import ClientError
from wire.mp.frames import Request, decode_reply, decode_request, encode_reply, encode_request
from wire.mp.objects import SALTS, ObjectKey, object_key_text, server_object_keys
from wire.mp.operations import OperationTable
from wire.mp.records import KEY_RECORD
from wire.mp.registration import encode_registration
from wire.mp.types import Named
from wire.mp.values import Value, from_json, typed
from wire.release import Release


def require_tokens(tokens: Sequence[int]) -> None:
    """Refuse what cannot be hashed.

    Raises:
        ClientError: a token is no unsigned number of 32 bits.
    """
    if tokens and not 0 <= min(tokens) <= max(tokens) < 1 << 32:
        raise ClientError("refused", "a token is no unsigned number of 32 bits")


@dataclass(frozen=True)
class Range:
    """The whole chunks that an mp key means."""

    start: int
    end: int
    """In tokens, at the end of the last whole chunk."""
    chunks: int


class MpCodec:
    """Frames, key records and object keys; every method raises what :mod:`wire` raises."""

    def encode_request(self, table: OperationTable, name: str, payloads: Sequence[Value]) -> list[bytes]:
        """The frames of a request, behind the uid."""
        return encode_request(table, name, payloads)

    def decode_request(self, table: OperationTable, frames: Sequence[bytes]) -> Request:
        """A request from its frames behind the uid."""
        return decode_request(table, frames)

    def encode_reply(self, table: OperationTable, name: str, result: Value) -> list[bytes]:
        """The frames of a reply, behind the uid."""
        return encode_reply(table, name, result)

    def decode_reply(self, table: OperationTable, name: str, frames: Sequence[bytes]) -> Value:
        """The result in the frames of a reply, behind the uid."""
        return decode_reply(table, name, frames)

    def object_keys(
        self, release: Release, key: Mapping[str, Any], chunk_size: int, *, group: int, lookup: bool
    ) -> list[ObjectKey]:
        """The objects that a key record means."""
        return server_object_keys(release, key, chunk_size, lookup=lookup, group=group)

    def encode_registration(self, release: Release, wrapper: str, fields: Mapping[str, Any], size: str | None) -> bytes:
        """The data of a KV tensor wrapper."""
        return encode_registration(release, wrapper, fields, size=size)

    def object_key_text(self, release: Release, key: ObjectKey) -> str:
        """The name of an object in second tiers."""
        return object_key_text(release, key)

    def whole_chunks(self, key: Mapping[str, Any], chunk_size: int) -> Range:
        """The range of an mp key, cut down to whole chunks.

        Raises:
            ClientError: it begins inside a chunk, or is not a range of the tokens.
        """
        start, end, count = key["start"], key["end"], len(self.tokens(key))
        if not 0 <= start <= end <= count:
            raise ClientError("refused", f"[{start}, {end}) is no range of {count} tokens")
        if start % chunk_size:
            raise ClientError("refused", f"start {start} is inside a chunk; chunks have {chunk_size} tokens")
        whole = max(end - end % chunk_size, start)
        return Range(start, whole, (whole - start) // chunk_size)

    def tokens(self, key: Mapping[str, Any]) -> list[int]:
        """The tokens of an mp key.

        Raises:
            ClientError: one is no unsigned number of 32 bits, so that it cannot be hashed.
        """
        found: list[int] = from_json(key["tokens"])
        require_tokens(found)
        return found

    def key_record(self, release: Release, key: Mapping[str, Any], cut: Range, worker_id: int | None) -> Value:
        """The key record of an mp key, for one worker or (None) for all.

        Raises:
            ClientError: the release cannot say whose cache it is.
            ValueRefused: lmcache's own key record refuses it.
        """
        if key["cache_salt"] and not SALTS[release]:
            raise ClientError(
                "refused", f"keys of lmcache {release} have no cache_salt, and {key['cache_salt']!r:.40} would be lost"
            )
        record = {
            "model_name": key["model_name"],
            "world_size": key["world_size"],
            "worker_id": worker_id,
            "token_ids": self.tokens(key),
            "start": cut.start,
            "end": cut.end,
            "request_id": key["request_id"],
            "cache_salt": key["cache_salt"],
            "request_configs": key.get("request_configs"),
            "num_kv_readers": self.readers(key),
        }
        return typed(release, Named(KEY_RECORD[release]), record, "key")

    def readers(self, key: Mapping[str, Any]) -> int:
        """Read locks that a lookup takes of each object."""
        return int(key.get("num_kv_readers", 1))
