"""Chunk keys through the real ``ChunkedTokenDatabase``, with a hash function and a NONE_HASH that the caller names.

In a deployment both come from the vLLM that lmcache finds beside it. Here NONE_HASH is set where lmcache keeps what it found
there, and the hash function is that of a real vLLM, taken from its file: importing all of vLLM takes longer than most calls may.
"""

import ast
import json
import sys
import time
from pathlib import Path

from contract import Inapplicable, to_hash
from dialogue import TOOK
from surroundings import Nothing

# The class that cuts chunks needs no tokenizer; a module beside it does, and importing one takes a second.
sys.modules.setdefault("transformers", Nothing("transformers"))

import chunks  # noqa: E402
from lmcache.v1 import token_database  # noqa: E402

FOLDERS = json.loads(sys.argv[2])
"""Version of vLLM to the folders that make its hash functions importable."""
FILES = ("vllm/utils/hashing.py", "vllm/utils/__init__.py")
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
    began = time.perf_counter_ns()
    found = [{"start": first, "end": end, "key": key.to_string()} for first, end, key in chunks.process(made, args)]
    return {"chunks": found, TOOK: time.perf_counter_ns() - began}


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
    """The function, if the vLLM in these folders has it and it gives what is asked for."""
    vllm, *needs = folders
    sys.path += [folder for folder in needs if folder not in sys.path]
    path = next((Path(vllm) / file for file in FILES if (Path(vllm) / file).is_file()), None)
    function = None if path is None else defined(name, path)
    return function if function is not None and type(function(PROBE)).__name__ == returns else None


def defined(name, path):
    """A function of a source file, with the modules and functions of that file that it uses and nothing else of it."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        return None
    wanted, kept = [name], []
    while wanted:
        node = functions.pop(wanted.pop(), None)
        if node is not None:
            node.returns, node.args.args[0].annotation = None, None
            kept.append(node)
            wanted += [used.id for used in ast.walk(node) if isinstance(used, ast.Name)]
    space = {module: __import__(module) for module in ("cbor2", "hashlib", "pickle", "xxhash")}
    space["_xxhash"] = space["xxhash"]
    exec(compile(ast.Module(kept, []), str(path), "exec"), space)
    return space[name]
