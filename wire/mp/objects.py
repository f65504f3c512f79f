"""Objects of the server's first tier and their names: one object for each whole chunk, each rank and each object group.

Source: ``lmcache.v1.multiprocess.token_hasher``, ``lmcache.v1.distributed.api`` (``ObjectKey``, ``ipc_key_to_object_keys``) and
``lmcache.v1.distributed.l2_adapters.native_connector_l2_adapter`` (the text).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wire.hashes import token_hashes
from wire.release import RangeTable, Release

TOKEN_MODE: Final = RangeTable("keys hold tokens", ("0.3.9.post1", False), ("0.3.14", True))
"""The key record names tokens, which the server hashes; before 0.3.14 it held the hash of one chunk."""

OBJECT_GROUPS: Final = RangeTable("object keys have a group", ("0.3.9.post1", False), ("0.4.7", True))
SALTS: Final = RangeTable("object keys have a salt", ("0.3.9.post1", False), ("0.4.4", True))


@dataclass(frozen=True)
class ObjectKey:
    """The identity of one object."""

    chunk_hash: bytes
    """32 bytes of blake3, or what the client sent."""
    model_name: str
    kv_rank: int
    """See :func:`kv_rank`."""
    object_group_id: int = 0
    cache_salt: str = ""


def kv_rank(world_size: int, rank: int) -> int:
    """The shard of a rank: world size, rank, local world size and local rank in one byte each, the first the highest.

    The server knows no nodes, so that the local numbers repeat the others.
    """
    return (world_size << 24) | (rank << 16) | (world_size << 8) | rank


def ranks_of(key: Mapping[str, Any]) -> list[int]:
    """The ranks that a key record means: its worker, or without one all of its world."""
    worker = key["worker_id"]
    return list(range(key["world_size"])) if worker is None else [worker]


def chunk_hashes(key: Mapping[str, Any], chunk_size: int, *, from_start: bool = False) -> list[bytes]:
    """The hashes of the whole chunks that begin in ``[start, end)`` of a key record; the chain begins at the first token.

    A partial chunk has none. Lookups do not heed ``start`` (``from_start``). A record of the hash mode has its one hash.
    """
    if key.get("chunk_hash") is not None:
        return [key["chunk_hash"]]
    hashes = token_hashes(key["token_ids"][: max(key["end"], 0)], chunk_size)
    first = 0 if from_start else -(-key["start"] // chunk_size)
    return hashes[max(first, 0) :]


def object_keys(key: Mapping[str, Any], chunk_size: int, *, group: int = 0, from_start: bool = False) -> list[ObjectKey]:
    """The objects that a key record means: chunk by chunk, and within a chunk rank by rank."""
    salt = key.get("cache_salt", "")
    return [
        ObjectKey(digest, key["model_name"], kv_rank(key["world_size"], rank), group, salt)
        for digest in chunk_hashes(key, chunk_size, from_start=from_start)
        for rank in ranks_of(key)
    ]


def object_key_text(release: Release, key: ObjectKey) -> str:
    """The name of an object: ``model@rank[@group]@hash[@salt]``, all numbers hexadecimal, the rank with 8 digits."""
    parts = [key.model_name, f"{key.kv_rank:08x}"]
    if OBJECT_GROUPS[release]:
        parts.append(f"{key.object_group_id:x}")
    parts.append(key.chunk_hash.hex())
    if SALTS[release] and key.cache_salt:
        parts.append(key.cache_salt)
    return "@".join(parts)
