"""Objects of the server's first tier and their names: one object for each whole chunk, each rank and each object group.

Source: ``lmcache.v1.multiprocess.token_hasher``, ``lmcache.v1.distributed.api`` (``ObjectKey``, ``ipc_key_to_object_keys``) and
``lmcache.v1.distributed.l2_adapters.native_connector_l2_adapter`` (the text).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from blake3 import blake3

from wire.errors import WireError
from wire.hashes import NONE_TOKEN_HASH, token_hashes
from wire.release import RangeTable, Release

TOKEN_MODE: Final = RangeTable("keys hold tokens", ("0.3.9.post1", False), ("0.3.14", True))
"""The key record names tokens, which the server hashes; before 0.3.14 it held the hash of one chunk."""

OBJECT_GROUPS: Final = RangeTable("object keys have a group", ("0.3.9.post1", False), ("0.4.7", True))
SALTS: Final = RangeTable("object keys have a salt", ("0.3.9.post1", False), ("0.4.4", True))


LOOKUP_HEEDS_END: Final = RangeTable("lookups pass over tokens behind the end", ("0.3.9.post1", False), ("0.5.6", True))
HASHES_NOTHING: Final = RangeTable("chunks beyond the tokens are hashed without any", ("0.3.9.post1", True), ("0.5.5", False))
"""A range that goes beyond the tokens; later releases refuse it."""


class KeyRefused(WireError):
    """A key record of which the server makes no objects."""


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


def server_object_keys(
    release: Release, key: Mapping[str, Any], chunk_size: int, *, lookup: bool, group: int = 0
) -> list[ObjectKey]:
    """The objects that a server of this release takes a key record for: in a LOOKUP, or in what stores and loads.

    Raises:
        KeyRefused: it makes none: a boundary is inside a chunk, the range goes beyond the tokens, a token is no uint32, or the
            model name has an ``@``.
    """
    tokens = key["token_ids"]
    if tokens and not 0 <= min(tokens) <= max(tokens) < 1 << 32:
        raise KeyRefused("a token is no unsigned number of 32 bits")
    if SALTS[release] and "@" in key["model_name"]:
        raise KeyRefused(f"the model name {key['model_name']!r:.60} has the separator of object names, '@'")
    if lookup:
        end = key["end"] if LOOKUP_HEEDS_END[release] else len(tokens)
        return object_keys({**key, "end": end}, chunk_size, group=group, from_start=True)
    start, end = key["start"], key["end"]
    if start % chunk_size or end % chunk_size:
        raise KeyRefused(f"[{start}, {end}) is not made of whole chunks of {chunk_size} tokens")
    if end > len(tokens) and not HASHES_NOTHING[release]:
        raise KeyRefused(f"[{start}, {end}) goes beyond {len(tokens)} tokens")
    hashes = token_hashes(tokens[: max(end, 0)], chunk_size)
    while len(hashes) * chunk_size < end:
        rest = tokens[len(hashes) * chunk_size : end]
        hashes.append(blake3((hashes[-1] if hashes else NONE_TOKEN_HASH) + struct.pack(f">{len(rest)}I", *rest)).digest())
    salt = key.get("cache_salt", "")
    return [
        ObjectKey(digest, key["model_name"], kv_rank(key["world_size"], rank), group, salt)
        for digest in hashes[start // chunk_size :]
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
