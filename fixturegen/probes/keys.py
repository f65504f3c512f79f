"""Keys through the real ``CacheEngineKey`` and ``LayerCacheEngineKey``."""

import dataclasses

from contract import Inapplicable, from_dtype, from_hash, to_dtype, to_hash
from lmcache import utils
from lmcache.utils import CacheEngineKey, LayerCacheEngineKey

TAG = "lmcache.tag."


def build(key):
    """The real key object for a key of the contract."""
    cls = CacheEngineKey if key["layer"] is None else LayerCacheEngineKey
    names = {field.name for field in dataclasses.fields(cls)}
    values = {
        "model_name": key["model"],
        "world_size": key["world_size"],
        "worker_id": key["worker_id"],
        "chunk_hash": to_hash(key["chunk_hash"]),
    }
    optional = {
        "fmt": key["fmt"],
        "dtype": to_dtype(key["dtype"]),
        "layer_id": key["layer"],
        "request_configs": {TAG + name: value for name, value in key["tags"]} or None,
    }
    for name, value in optional.items():
        if name in names:
            if value is not None or name == "request_configs":
                values[name] = value
        elif value is not None:
            raise Inapplicable(f"keys of this release have no {name}")
    return cls(**values)


def describe(key):
    """The contract's form of a real key object."""
    return {
        "model": key.model_name,
        "world_size": key.world_size,
        "worker_id": key.worker_id,
        "chunk_hash": from_hash(key.chunk_hash),
        "dtype": from_dtype(getattr(key, "dtype", None)),
        "fmt": getattr(key, "fmt", None),
        "layer": getattr(key, "layer_id", None),
        "tags": [list(tag) for tag in getattr(key, "tags", None) or ()],
    }


def format_key(args):
    return {"text": build(args["key"]).to_string()}


def parse_key(args):
    cls = LayerCacheEngineKey if args["class"] == "layer" else CacheEngineKey
    return {"key": describe(cls.from_string(args["text"]))}


def parse_key_as_server(args):
    parser = getattr(utils, "parse_cache_key", CacheEngineKey.from_string)
    return {"key": describe(parser(args["text"].encode().decode().strip()))}


OPERATIONS = {
    "format_key": ("lmcache.utils.CacheEngineKey.to_string", format_key),
    "parse_key": ("lmcache.utils.CacheEngineKey.from_string", parse_key),
    "parse_key_as_server": ("lmcache.utils.parse_cache_key", parse_key_as_server),
}
