"""Which objects a key record means, by the real session, token hasher and object keys."""

import importlib
import inspect

from lmcache.v1.multiprocess import custom_types
from values import Inapplicable, build, describe

KEY = getattr(custom_types, "IPCCacheServerKey", None) or custom_types.IPCCacheEngineKey


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


API = optional("lmcache.v1.distributed.api")
HASHER = optional("lmcache.v1.multiprocess.token_hasher")
SESSION = optional("lmcache.v1.multiprocess.session")
LOOKUP = optional("lmcache.v1.multiprocess.modules.lookup")
NAMES = optional("lmcache.v1.distributed.l2_adapters.native_connector_l2_adapter")


def mp_object_keys(args):
    """One object for each chunk and rank, and how each is named where the release has a function for it.

    ``lookup`` asks as LOOKUP does, with all tokens; otherwise as STORE and RETRIEVE do, with ``[start, end)``.
    """
    if API is None:
        raise Inapplicable("this release stores objects under the key records themselves")
    key = build(KEY, args["key"])
    hasher = HASHER.TokenHasher(chunk_size=args["chunk_size"])
    if not args["lookup"]:
        session = SESSION.Session(request_id=key.request_id, hasher=hasher)
        session.set_tokens(list(key.token_ids))
        hashes = session.get_hashes(key.start, key.end)
    elif LOOKUP is not None and "end=key.end" in inspect.getsource(LOOKUP.LookupModule.lookup):
        hashes = hasher.compute_chunk_hashes(list(key.token_ids), end=key.end)
    else:
        hashes = hasher.compute_chunk_hashes(list(key.token_ids))
    hashes = [HASHER.TokenHasher.hash_to_bytes(found) for found in hashes]
    keys = object_keys(key, hashes, args["group"])
    namer = getattr(NAMES, "_object_key_to_string", None)
    names = {} if namer is None else {"names": [namer(found) for found in keys]}
    return {"keys": [describe(found) for found in keys], **names}


def object_keys(key, hashes, group):
    if hasattr(API, "ipc_keys_to_object_keys"):
        single = [type(key)(**{**vars(key), "chunk_hash": found}) for found in hashes]
        return API.ipc_keys_to_object_keys(single)
    if "object_group_ids" in inspect.signature(API.ipc_key_to_object_keys).parameters:
        return API.ipc_key_to_object_keys(key, hashes, [group])[0]
    return API.ipc_key_to_object_keys(key, hashes)


OPERATIONS = {"mp_object_keys": ("lmcache.v1.distributed.api.ipc_key_to_object_keys", mp_object_keys)}
