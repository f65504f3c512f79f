"""Chunk keys as deployments make them: with the hash function and the NONE_HASH of the vLLM that can be imported."""

import builtins
import os
import sys

import chunks
from contract import Inapplicable, from_hash

SALTED = "PYTHONHASHSEED is not set, so that Python salts its hash of texts: the starting hash differs from process to process"
RANDOM = "PYTHONHASHSEED is not set, so that vLLM starts from random bytes: no two processes agree on a key"
PICKLED = "the hash is taken over a pickle, whose bytes Python does not promise to keep and which no other language writes"
PICKLING = ("sha256", "xxhash")


def deployment_keys(args):
    if not chunks.HAS_ALGORITHMS:
        raise Inapplicable("this release hashes in one way, without vLLM")
    if os.environ.get("PYTHONHASHSEED") != args["seed"]:
        raise RuntimeError(f"the vector is about seed {args['seed']}, the process has {os.environ.get('PYTHONHASHSEED')}")
    made = chunks.database(args)
    start, none_hash = made._get_init_hash(), vllm_none_hash()
    if start not in (none_hash, folded(none_hash)):
        raise RuntimeError(f"the chain starts from {start!r}, the NONE_HASH of vLLM is {none_hash!r}")
    salted = made.hash_func is builtins.hash
    answer = {
        "function": "builtin" if salted else f"{made.hash_func.__module__}.{made.hash_func.__qualname__}",
        "returns": type(made.hash_func((0, (1,), ()))).__name__,
        "none_hash": from_hash(none_hash),
        "start": from_hash(start),
        "chunks": [described(chunk, args["layers"]) for chunk in chunks.process(made, args)],
    }
    if not salted and made.hash_func.__name__ in PICKLING:
        answer["finding"] = PICKLED
    if starts_at_random(made, none_hash):
        answer["volatile"] = SALTED if salted else RANDOM
        answer["none_hash"] = answer["start"] = {"masked": True}
    elif salted and sys.version_info < (3, 12) and chunks.hashes_none(made):
        answer["volatile"] = chunks.HASH_OF_NONE
    if "volatile" in answer:
        for chunk in answer["chunks"]:
            chunk["key"] = {"masked": True}
            chunk["layers"] = [{"masked": True} for _ in chunk["layers"]]
    return answer


def described(chunk, layers):
    start, end, key = chunk
    return {"start": start, "end": end, "key": key.to_string(), "layers": [one.to_string() for one in key.split_layers(layers)]}


def vllm_none_hash():
    """What ``init_none_hash`` left; 0, as lmcache has it, where it cannot be imported or was never called."""
    module = sys.modules.get("vllm.v1.core.kv_cache_utils")
    return getattr(module, "NONE_HASH", 0)


def folded(value):
    return int.from_bytes(value[:8], "big") if isinstance(value, bytes) else value


def starts_at_random(made, none_hash):
    """Whether the starting hash differs from process to process; without a seed Python's hash of a text does."""
    if none_hash == 0 or os.environ.get("PYTHONHASHSEED") is not None:
        return False
    if made.hash_func is builtins.hash:
        return True
    module = sys.modules["vllm.v1.core.kv_cache_utils"]
    module.init_none_hash(made.hash_func)
    return none_hash != module.NONE_HASH


OPERATIONS = {
    "deployment_keys": ("lmcache.v1.token_database.ChunkedTokenDatabase.process_tokens", deployment_keys),
}
