"""The key record of the contract as lmcache's own class."""

import dataclasses

from lmcache.v1.multiprocess import custom_types

KIND = getattr(custom_types, "IPCCacheServerKey", None) or custom_types.IPCCacheEngineKey
FIELDS = {field.name for field in dataclasses.fields(KIND)}


def key_record(key):
    """lmcache's key record; fields that the release lacks are left out, as any caller of that release must."""
    values = {"num_kv_readers": 1, **key, "token_ids": tuple(tokens_of(key["tokens"]))}
    return KIND(**{name: value for name, value in values.items() if name in FIELDS})


def lookup_record(key):
    """The record of a lookup, which names no worker."""
    return key_record(key).no_worker_id_version()


def tokens_of(tokens):
    """The token ids of a key; a range stands for the integers in it."""
    return range(*tokens["range"]) if isinstance(tokens, dict) else tokens
