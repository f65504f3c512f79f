"""Pure operations, through the modules that captured the corpus."""

from pathlib import Path

import frames
import keys
import lmcache
import remote_metadata
import scratch
from lmcache import utils
from lmcache.utils import CacheEngineKey, LayerCacheEngineKey
from releases import require_release

HASHER = "v1/multiprocess/token_hasher.py"
BYTES = ("bytes", "paged")


def parse_key(args):
    """The function that tells the two classes of keys apart, or, before 0.3.9.post1, the class that takes the text."""
    parse = getattr(utils, "parse_cache_key", either)
    return {"key": keys.describe(parse(args["text"]))}


def either(text):
    try:
        return LayerCacheEngineKey.from_string(text)
    except ValueError:
        return CacheEngineKey.from_string(text)


def chunk_keys(args):
    import chains  # imports token_database, which few requests need

    return chains.chunk_keys(args)


def token_hashes(args):
    import tokens

    return tokens.token_hashes(args)


def pack_layout(args):
    import packing

    return packing.pack_layout(args)


def unpack_layout(args):
    import packing

    return packing.unpack_layout(args)


def operations():
    """Those that this release has."""
    has_hasher = any((Path(folder) / HASHER).is_file() for folder in lmcache.__path__)
    return [op for op in OPERATIONS if op != "token_hashes" or has_hasher]


def checked(operation):
    """The operation for a release that could be one, with bytes as the probes take and give them."""

    def run(args):
        require_release(args["release"])
        given = {name: {"hex": scratch.taken(args[name]).hex()} for name in BYTES if name in args}
        found = operation({**args, **given})
        return {name: scratch.left(bytes.fromhex(value["hex"])) if name in BYTES else value for name, value in found.items()}

    return run


OPERATIONS = {
    name: checked(operation)
    for name, operation in {
        "encode_request": frames.encode_request,
        "decode_request": frames.decode_request,
        "encode_reply": frames.encode_reply,
        "decode_reply": frames.decode_reply,
        "encode_metadata": remote_metadata.encode_metadata,
        "decode_metadata": remote_metadata.decode_metadata,
        "format_key": keys.format_key,
        "parse_key": parse_key,
        "chunk_keys": chunk_keys,
        "token_hashes": token_hashes,
        "pack_layout": pack_layout,
        "unpack_layout": unpack_layout,
    }.items()
}
