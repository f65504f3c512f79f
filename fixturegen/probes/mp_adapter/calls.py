"""Connected operations. Each runs in a thread of its own, and waits as long as ``connect`` allowed.

The client has no state of a connection that a caller could see: it goes on using its socket whatever happened.
"""

from concurrent.futures import ThreadPoolExecutor

import lookups
import scratch
from outcomes import Refused
from peers import Absent, Peer, has, takes
from ranges import cut
from records import FIELDS, key_record, lookup_record
from transfers import Instance, unregister_by_request

CALLERS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="caller")
CLOSING = 2
"""Seconds that closing each connection may take at the end: lmcache's own close can wait for ever."""

opened = {}
instances = {}
"""Connection and instance id to what is registered there."""


def count():
    return len(opened)


def peer_of(args):
    try:
        return opened[args["connection"]]
    except KeyError:
        raise Refused(f"there is no connection {args['connection']!r}", "connection") from None


def instance_of(args):
    peer_of(args)
    try:
        return instances[args["connection"], args["instance_id"]]
    except KeyError:
        raise Refused(f"instance {args['instance_id']} is not registered on {args['connection']!r}") from None


def connect(args):
    """ZeroMQ connects in the background: there need not be a server."""
    if args["protocol"] != "mp":
        raise Absent(f"protocol {args['protocol']!r}; only mp")
    name = args["connection"]
    if name in opened:
        raise Refused(f"{name!r} is connected already")
    opened[name] = Peer(args["host"], args["port"], args["timeout_ms"] / 1000)
    return {}


def close(args):
    peer = peer_of(args)
    del opened[args["connection"]]
    for place in [place for place in instances if place[0] == args["connection"]]:
        instances.pop(place).context.close()
    peer.close()
    return {}


def close_all():
    running = [CALLERS.submit(close, {"connection": name}) for name in list(opened)]
    for future in running:
        future.exception(timeout=CLOSING)


def noop(args):
    return {"text": peer_of(args).ask("NOOP")}


def ping(args):
    return {"alive": peer_of(args).ask("PING", *[args["instance_id"]][: takes("PING")])}


def chunk_size(args):
    return {"chunk_size": peer_of(args).ask("GET_CHUNK_SIZE")}


def register(args):
    place = args["connection"], args["instance_id"]
    instance = Instance(peer_of(args), args["instance_id"], args["context"])
    if place in instances:
        instances[place].context.close()
    instances[place] = instance
    return instance.description()


def unregister(args):
    """Through the worker's context, or for an instance that another connection registered, the request alone."""
    peer, instance = peer_of(args), instances.get((args["connection"], args["instance_id"]))
    if instance is None:
        unregister_by_request(peer, args["instance_id"])
    else:
        instance.unregister()
        del instances[args["connection"], args["instance_id"]]
    return {}


def store(args):
    instance = instance_of(args)
    chunks = [scratch.taken(chunk) for chunk in args["chunks"]]
    key, count = cut(args["key"], instance.chunk_tokens)
    if len(chunks) != count:
        raise Refused(f"the range has {count} whole chunks, {len(chunks)} were given")
    return {"stored": instance.store(key_record(key), chunks) if chunks else True}


def retrieve(args):
    instance = instance_of(args)
    key, count = cut(args["key"], instance.chunk_tokens)
    chunks = instance.retrieve(key_record(key), count) if count else []
    return None if chunks is None else {"chunks": [scratch.left(chunk) for chunk in chunks]}


def lookup(args):
    peer = peer_of(args)
    key, count = cut(args["key"], peer.chunk_tokens)
    return {"hits": lookups.hits(peer, lookup_record(key), args["tp_size"]) if count else 0}


def free_locks(args):
    peer = peer_of(args)
    key, count = cut(args["key"], peer.chunk_tokens)
    if count:
        peer.ask("FREE_LOOKUP_LOCKS", lookup_record(key), args["tp_size"])
    return {}


def end_session(args):
    peer_of(args).ask("END_SESSION", args["request_id"])
    return {}


def clear(args):
    peer_of(args).ask("CLEAR", *[args.get("force", False)][: takes("CLEAR")])
    return {}


NEEDS = {
    "connect": (),
    "close": (),
    "mp_noop": ("NOOP",),
    "mp_ping": ("PING",),
    "mp_chunk_size": ("GET_CHUNK_SIZE",),
    "mp_register": ("PREPARE_STORE",),
    "mp_unregister": ("PREPARE_STORE",),
    "mp_store": ("PREPARE_STORE",),
    "mp_retrieve": ("PREPARE_RETRIEVE",),
    "mp_lookup": ("LOOKUP",),
    "mp_free_locks": ("FREE_LOOKUP_LOCKS",),
    "mp_end_session": ("END_SESSION",),
    "mp_clear": ("CLEAR",),
}
"""Operation of the contract to the requests without which a release cannot do it."""

OF_KEYS = {"mp_lookup", "mp_free_locks"}


def in_thread(name, operation):
    def run(args):
        missing = lacks(name)
        if missing is not None:
            raise Absent(missing)
        return operation(args)

    return lambda args: CALLERS.submit(run, args)


def lacks(name):
    """Why this release cannot do an operation of the contract, or None."""
    absent = [request for request in NEEDS[name] if not has(request)]
    if absent:
        return f"this release has no {absent[0]}"
    if name in OF_KEYS and "token_ids" not in FIELDS:
        return "keys of this release hold the hash of one chunk, and the client has nothing that makes it of tokens"
    return None


OPERATIONS = {
    name: in_thread(name, operation)
    for name, operation in {
        "connect": connect,
        "close": close,
        "mp_noop": noop,
        "mp_ping": ping,
        "mp_chunk_size": chunk_size,
        "mp_register": register,
        "mp_unregister": unregister,
        "mp_store": store,
        "mp_retrieve": retrieve,
        "mp_lookup": lookup,
        "mp_free_locks": free_locks,
        "mp_end_session": end_session,
        "mp_clear": clear,
    }.items()
}


def operations():
    """Those that this release has."""
    return [name for name in OPERATIONS if lacks(name) is None]
