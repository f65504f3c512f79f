"""Chunk keys through the real ``ChunkedTokenDatabase``."""

import dataclasses
import sys

import torch
from contract import Inapplicable, from_hash, to_dtype, to_hash
from lmcache.v1 import token_database
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.token_database import ChunkedTokenDatabase

try:
    from lmcache.v1.metadata import LMCacheMetadata as Metadata
except ImportError:
    from lmcache.config import LMCacheEngineMetadata as Metadata

HAS_ALGORITHMS = hasattr(token_database, "NONE_HASH") or "NONE_HASH" in token_database.__annotations__
TEXT_ALGORITHM = "sha256_hex"
HASH_OF_NONE = (
    "keys of this release hash None, and hash(None) is an address before CPython 3.12: it differs from process to process, "
    "whatever PYTHONHASHSEED says"
)


def database(args):
    options = {"chunk_size": args["chunk_size"], "save_unfull_chunk": args["save_unfull_chunk"]}
    if args.get("save_only_first_rank") is not None:
        options["extra_config"] = {"save_only_first_rank": args["save_only_first_rank"]}
    if HAS_ALGORITHMS:
        options["pre_caching_hash_algorithm"] = args["algorithm"]
        if args["algorithm"] == TEXT_ALGORITHM:
            raise Inapplicable("this release chooses among algorithms")
    elif args["algorithm"] != TEXT_ALGORITHM:
        raise Inapplicable("this release has one algorithm")
    made = ChunkedTokenDatabase(LMCacheEngineConfig.from_defaults(**options), metadata(args))
    if hasattr(made, "hash_func") and made.hash_func is not hash and args["algorithm"] == "builtin":
        raise RuntimeError(f"builtin hash was asked for, {made.hash_func} came")
    return made


def metadata(args):
    names = {field.name for field in dataclasses.fields(Metadata)}
    values = {
        "model_name": args["model"],
        "world_size": args["world_size"],
        "local_world_size": args["world_size"],
        "worker_id": args["worker_id"],
        "local_worker_id": args["worker_id"],
        "fmt": args["fmt"],
        "kv_dtype": to_dtype(args["dtype"] or "float16"),
        "use_mla": args.get("mla", False),
        "kv_shape": (2, 2, args["chunk_size"], 2, 8),
    }
    if args.get("mla") and "use_mla" not in names:
        raise Inapplicable("this release does not know of multi-head latent attention")
    return Metadata(**{name: value for name, value in values.items() if name in names})


def process(made, args):
    mask = None
    if args["skip"]:
        mask = torch.ones(len(args["tokens"]), dtype=torch.bool)
        mask[: args["skip"]] = False
    options = {}
    if args["tags"]:
        options["request_configs"] = {f"lmcache.tag.{name}": value for name, value in args["tags"]}
    return list(made.process_tokens(tokens=args["tokens"], mask=mask, **options))


def chunk_keys(args):
    made = database(args)
    start = made._get_init_hash()
    if from_hash(start) != args["none_hash"]:
        raise RuntimeError(f"the chain starts from {start!r}, the job says {args['none_hash']}")
    found = [{"start": start, "end": end, "key": key.to_string()} for start, end, key in process(made, args)]
    answer = {"chunks": found}
    if sys.version_info < (3, 12) and hashes_none(made):
        for chunk in found:
            chunk["key"] = {"masked": True}
        answer["volatile"] = HASH_OF_NONE
    return answer


def hashes_none(made):
    if not hasattr(made, "hash_func"):
        return False
    seen = []
    original = made.hash_func
    made.hash_func = lambda value: seen.append(value) or 0
    made._hash_tokens([1], 0)
    made.hash_func = original
    return None in seen[0]


def chain_inputs(args):
    """What the chain hands to its hash function, step by step, with a hash function that answers what the job says."""
    made = database(args)
    if not hasattr(made, "hash_func"):
        raise Inapplicable("the hash function of this release cannot be chosen")
    answers = iter([to_hash(value) for value in args["answers"]])
    seen = []

    def recorder(value):
        seen.append(value)
        return next(answers)

    made.hash_func = recorder
    found = process(made, args)
    steps = [{"prefix": from_hash(value[0]), "tokens": list(value[1]), "third": third(value)} for value in seen]
    return {"steps": steps, "hashes": [from_hash(key.chunk_hash) for _, _, key in found]}


def third(value):
    if len(value) < 3:
        return "absent"
    return {None: "none", (): "empty tuple"}[value[2]]


def defaults(_args):
    config = LMCacheEngineConfig.from_defaults()
    return {
        "chunk_size": config.chunk_size,
        "save_unfull_chunk": config.save_unfull_chunk,
        "algorithm": getattr(config, "pre_caching_hash_algorithm", TEXT_ALGORITHM),
    }


OPERATIONS = {
    "chunk_keys": ("lmcache.v1.token_database.ChunkedTokenDatabase.process_tokens", chunk_keys),
    "chain_inputs": ("lmcache.v1.token_database.ChunkedTokenDatabase.process_tokens", chain_inputs),
    "defaults": ("lmcache.v1.config.LMCacheEngineConfig.from_defaults", defaults),
}
