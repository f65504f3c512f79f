"""Chunk keys through the real ``ChunkedTokenDatabase``, with a hash function and a NONE_HASH that the caller names.

In a deployment both come from the vLLM that lmcache finds beside it. Here NONE_HASH is set where lmcache keeps what it found there,
and the hash function is taken from a real vLLM that has it, if the harness has named folders of some.
"""

import json
import os
import sys

import chunks
from contract import Inapplicable, to_hash
from lmcache.v1 import token_database

FOLDERS = json.loads(os.environ.get("LMCONFORM_VLLM", "{}"))
"""Version of vLLM to the folders that make its hash functions importable."""
MODULES = ("vllm.utils.hashing", "vllm.utils")
PROBE = (0, (1,), ())
FOUND = {}


def chunk_keys(args):
    start = to_hash(args["none_hash"])
    if chunks.HAS_ALGORITHMS:
        made = chunks.database({**args, "algorithm": "builtin"})
        if args["algorithm"] != "builtin":
            if args["algorithm"] == chunks.TEXT_ALGORITHM:
                raise Inapplicable("this release chooses among algorithms")
            wanted = args.get("returns") or ("bytes" if isinstance(start, bytes) else "int")
            made.hash_func = function_of_vllm(args["algorithm"], wanted)
        normalize = getattr(token_database, "_normalize_hash_to_int", lambda value: value)
        token_database.NONE_HASH = normalize(start)
    else:
        made = chunks.database(args)
    found = [{"start": first, "end": end, "key": key.to_string()} for first, end, key in chunks.process(made, args)]
    return {"chunks": found}


def function_of_vllm(name, returns):
    """The function of that name and kind, of the first vLLM that has it."""
    if (name, returns) not in FOUND:
        FOUND[name, returns] = next((found for folders in FOLDERS.values() if (found := looked_up(name, returns, folders))), None)
    function = FOUND[name, returns]
    if function is None:
        known = ", ".join(FOLDERS) or "none"
        raise Inapplicable(f"{name} that returns {returns} is a function of vLLM, and no vLLM here has it (there are: {known})")
    return function


def looked_up(name, returns, folders):
    """Import a vLLM, take its function, and forget the rest of it."""
    sys.path.extend(folders)
    try:
        for module_name in MODULES:
            try:
                module = __import__(module_name, fromlist=[name])
            except ImportError:
                continue
            function = getattr(module, name, None)
            if function is not None and type(function(PROBE)).__name__ == returns:
                return function
        return None
    finally:
        for folder in folders:
            sys.path.remove(folder)
        for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == "vllm"]:
            del sys.modules[loaded]
