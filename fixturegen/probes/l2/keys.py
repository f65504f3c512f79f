"""Keys of objects: the text of the native form to lmcache's ``ObjectKey`` and back."""

import dataclasses

from lmcache.v1.distributed.api import ObjectKey

FIELDS = {field.name for field in dataclasses.fields(ObjectKey)}
GROUPED = "object_group_id" in FIELDS
SALTED = "cache_salt" in FIELDS


def parsed(text):
    """``model@rank[@group]@hash[@salt]`` as a key; the group is there from 0.4.7 on, the salt may be from 0.4.4 on."""
    model, rank, *rest = text.split("@")
    members = {"model_name": model, "kv_rank": int(rank, 16)}
    if GROUPED:
        members["object_group_id"] = int(rest.pop(0), 16)
    members["chunk_hash"] = bytes.fromhex(rest.pop(0))
    if rest and SALTED:
        members["cache_salt"] = rest.pop(0)
    if rest:
        raise ValueError(f"{text!r} has more parts than a key of this release")
    return ObjectKey(**members)


def written(key):
    """The text of a key."""
    parts = [key.model_name, f"{key.kv_rank:08x}"]
    if GROUPED:
        parts.append(f"{key.object_group_id:x}")
    parts.append(key.chunk_hash.hex())
    if SALTED and key.cache_salt:
        parts.append(key.cache_salt)
    return "@".join(parts)
