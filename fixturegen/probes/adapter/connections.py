"""Connected operations through the real ``LMCServerConnector``: one event loop for all connections, as an engine has it.

``get`` hands out what lmcache hands out. Its caller cannot say what is expected, so the ``expect`` of the contract is not looked
at. A failed connector stays as it is, since lmcache's own would.
"""

import asyncio
import threading
import time
from concurrent.futures import Future

import keys
import scratch
from contract import Inapplicable, from_dtype, to_dtype
from dialogue import TOOK
from lmcache.v1.storage_backend.connector.lm_connector import LMCServerConnector
from memory import filled, make_backend
from outcomes import Refused

LOOP = asyncio.new_event_loop()
threading.Thread(target=LOOP.run_forever, name="lmcache-loop", daemon=True).start()
BACKEND = make_backend()

opened = {}
closed = set()


def count():
    """Names that were opened and not closed; lmcache itself does not notice a connection that broke."""
    return len(opened) - len(closed)


def named(args):
    try:
        return opened[args["connection"]]
    except KeyError:
        raise Refused(f"there is no connection {args['connection']!r}", "connection") from None


def connect(args):
    """The constructor connects, in the thread that calls it."""
    if args["protocol"] != "lm":
        raise Inapplicable(f"protocol {args['protocol']!r}; only lm")
    name = args["connection"]
    if name in opened and name not in closed:
        raise Refused(f"{name!r} is connected already")
    opened[name] = LMCServerConnector(args["host"], args["port"], LOOP, BACKEND)
    closed.discard(name)
    done = Future()
    done.set_result({})
    return done


def put(args):
    if args["location"] is not None:
        raise Inapplicable("LMCServerConnector.put sends no location")
    connector, key = named(args), keys.build(args["key"])
    payload = scratch.taken(args["payload"])
    value = filled(BACKEND, args["format"], to_dtype(args["dtype"]), args["shape"], payload)

    async def run():
        began = time.perf_counter_ns()
        try:
            await connector.put(key, value)
            took = time.perf_counter_ns() - began
        finally:
            value.ref_count_down()  # the caller's, as lmcache's wrapper of connectors does it
        return {TOOK: took}

    return asyncio.run_coroutine_threadsafe(run(), LOOP)


def get(args):
    connector, key = named(args), keys.build(args["key"])

    async def run():
        began = time.perf_counter_ns()
        found = await connector.get(key)
        took = time.perf_counter_ns() - began
        if found is None:
            return None
        answer = {
            TOOK: took,
            "payload": scratch.left(bytes(found.byte_array)),
            "format": found.get_memory_format().name,
            "dtype": from_dtype(found.get_dtype()),
            "shape": list(found.get_shape()),
        }
        found.ref_count_down()
        return answer

    return asyncio.run_coroutine_threadsafe(run(), LOOP)


def exist(args):
    connector, key = named(args), keys.build(args["key"])

    async def run():
        began = time.perf_counter_ns()
        exists = await connector.exists(key)
        return {"exists": exists, TOOK: time.perf_counter_ns() - began}

    return asyncio.run_coroutine_threadsafe(run(), LOOP)


def close(args):
    connector = named(args)

    async def run():
        await connector.close()
        closed.add(args["connection"])
        return {}

    return asyncio.run_coroutine_threadsafe(run(), LOOP)


def close_all():
    for name in list(opened):
        if name not in closed:
            close({"connection": name}).result()


OPERATIONS = {"connect": connect, "put": put, "get": get, "exist": exist, "close": close}
