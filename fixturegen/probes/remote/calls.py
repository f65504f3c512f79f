"""What the harness may ask of an opened connector, one request after the other; runs in the forked process.

Nothing is bounded here: the harness has a deadline for each answer, and ends this process when it passes. An exception of the
connector is part of the answer; one of this program ends as ``fault``.
"""

import asyncio
import concurrent.futures
import faulthandler
import inspect
import json
import os
import signal
import sys
import threading
import time

import lines
import opening
import torch
from values import Payloads, bytes_of, chunk_object, described, key_of, raised, words

SCRIBBLE = 0xEE
"""What the memory of a stored chunk is filled with before it goes back to the pool: another request will use it."""
LOOK = 0.2
ENDS_THE_LOOP = (SystemExit, KeyboardInterrupt)
"""What asyncio hands on to the thread of the loop; all else that a coroutine ends with goes to whoever awaits it."""
SETTLE = 3.0
"""Seconds within which what was cancelled must have given back its memory."""


class LoopEnded(Exception):
    """The event loop of the engine does not run any more."""


class Calls:
    def __init__(self, request, folder):
        self.payloads = Payloads(folder)
        self.opened = opening.Opened(request)
        self.connector = self.opened.plain
        self.loop = self.opened.loop
        self.taken = []
        self.kept = []

    def about(self):
        methods = {
            name: inspect.iscoroutinefunction(getattr(self.connector, name))
            for name in dir(type(self.connector))
            if not name.startswith("_") and callable(getattr(self.connector, name, None))
        }
        base = next(kind for kind in type(self.connector).__mro__ if kind.__name__ == "RemoteConnector")
        own = [name for name in methods if getattr(type(self.connector), name, None) is not getattr(base, name, None)]
        supports = {}
        for name in sorted(methods):
            if name.startswith("support_"):
                try:
                    found = getattr(self.connector, name)()
                    supports[name] = found if isinstance(found, bool) else words(found)
                except Exception as error:
                    supports[name] = raised(error)
        return {
            "class": f"{type(self.connector).__module__}:{type(self.connector).__qualname__}",
            "bases": [kind.__name__ for kind in type(self.connector).__mro__],
            "coroutines": methods,
            "own": sorted(own),
            "supports": supports,
            "attributes": {
                name: words(getattr(self.connector, name))
                for name in ("save_chunk_meta", "meta_shapes", "meta_dtypes", "meta_fmt")
                if hasattr(self.connector, name)
            },
        }

    def on_loop(self, coroutine):
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop.loop)
        while True:
            try:
                return future.result(LOOK)
            except concurrent.futures.TimeoutError:
                if future.done():
                    return future.result()
                if not self.loop.alive():
                    raise LoopEnded(ended_with(self.loop.problem)) from None
            except ENDS_THE_LOOP as error:
                raise LoopEnded(ended_with(error)) from None

    # Coroutines run on the loop, several at once if asked so.

    async def put(self, args):
        payload = self.payloads.taken(args["payload"])
        key, value = key_of(args["key"]), chunk_object(self.opened.local, args, payload)
        return await self._stored(self.connector.put(key, value), [value], [payload])

    async def batched_put(self, args):
        payloads = [self.payloads.taken(each["payload"]) for each in args["chunks"]]
        keys = [key_of(each["key"]) for each in args["chunks"]]
        values = [chunk_object(self.opened.local, chunk, data) for chunk, data in zip(args["chunks"], payloads, strict=True)]
        return await self._stored(self.connector.batched_put(keys, values), values, payloads)

    async def _stored(self, storing, values, payloads):
        """Wait for a put, then see what became of the objects that it was lent, and use their memory for something else."""
        before = [value.get_ref_count() for value in values]
        problem = None
        try:
            await storing
        except ENDS_THE_LOOP:
            raise
        except BaseException as error:
            problem = raised(error)
        after = [value.get_ref_count() for value in values]
        unchanged = [bytes_of(value) == payload for value, payload in zip(values, payloads, strict=True)]
        for value, was, now in zip(values, before, after, strict=True):
            view = memoryview(value.byte_array).cast("B") if not isinstance(value.byte_array, bytes) else None
            if view is not None and now >= was:
                view[:] = bytes([SCRIBBLE]) * len(view)
            if now >= was:
                value.ref_count_down()
        return {"before": before, "after": after, "unchanged": unchanged, "raised": problem}

    async def get(self, args):
        return await self._one(self.connector.get(key_of(args["key"])), keep=args.get("keep", False))

    async def _one(self, getting, *, keep=False):
        try:
            found = await getting
        except ENDS_THE_LOOP:
            raise
        except BaseException as error:
            return {"found": None, "raised": raised(error)}
        return {"found": self._told(found, keep=keep), "raised": None}

    def _told(self, found, *, keep=False):
        if found is None:
            return None
        if not hasattr(found, "byte_array"):
            return {"strange": words(found)}
        told = described(found, self.payloads, self.opened.watch)
        if keep:
            self.kept.append(found)
        else:
            found.ref_count_down()
        return told

    async def batched_get(self, args):
        return await self._several(self.connector.batched_get([key_of(each) for each in args["keys"]]))

    async def batched_get_non_blocking(self, args):
        return await self._several(self.connector.batched_get_non_blocking("lookup-1", [key_of(each) for each in args["keys"]]))

    async def _several(self, getting):
        try:
            found = await getting
        except ENDS_THE_LOOP:
            raise
        except BaseException as error:
            return {"found": None, "raised": raised(error)}
        if not isinstance(found, list | tuple):
            return {"found": None, "raised": None, "strange": words(found)}
        return {"found": [self._told(each) for each in found], "raised": None}

    async def exists(self, args):
        return await self._plain(self.connector.exists(key_of(args["key"])))

    async def batched_async_contains(self, args):
        return await self._plain(self.connector.batched_async_contains("lookup-1", [key_of(each) for each in args["keys"]]))

    async def list(self, _args):
        return await self._plain(self.connector.list())

    async def ping(self, _args):
        return await self._plain(self.connector.ping())

    async def close(self, _args):
        return await self._plain(self.connector.close())

    async def _plain(self, asking):
        try:
            found = await asking
        except ENDS_THE_LOOP:
            raise
        except BaseException as error:
            return {"value": None, "kind": None, "raised": raised(error)}
        return {**shown(found), "raised": None}

    def now(self, call, *args):
        try:
            found = call(*args)
        except BaseException as error:
            return {"value": None, "kind": None, "raised": raised(error)}
        return {**shown(found), "raised": None}

    def exists_sync(self, args):
        return self.now(self.connector.exists_sync, key_of(args["key"]))

    def batched_contains(self, args):
        return self.now(self.connector.batched_contains, [key_of(each) for each in args["keys"]])

    def remove(self, args):
        return self.now(self.connector.remove_sync, key_of(args["key"]))

    def many(self, args):
        """Several requests of the loop under way at once; the answers in their order."""

        async def run():
            return await asyncio.gather(*(getattr(self, call["op"])(call["args"]) for call in args["calls"]))

        return {"answers": self.on_loop(run())}

    def busy(self, args):
        """``exists_sync`` while the loop is held up by somebody else."""
        free, entered = threading.Event(), threading.Event()

        def hold():
            entered.set()
            free.wait(args["hold"])

        answers = []
        self.loop.loop.call_soon_threadsafe(hold)
        entered.wait()
        asker = threading.Thread(target=lambda: answers.append(self.exists_sync(args)), daemon=True)
        asker.start()
        asker.join(args["hold"] / 2)
        meanwhile = bool(answers)
        free.set()
        asker.join()
        return {**answers[0], "meanwhile": meanwhile}

    def cancel(self, args):
        """A get that its caller gives up after some turns of the loop, as ``RemoteBackend`` does after its timeout."""

        async def run():
            task = asyncio.ensure_future(self.connector.get(key_of(args["key"])))
            for _ in range(args["turns"]):
                await asyncio.sleep(0)
            if args["pause"]:
                await asyncio.sleep(args["pause"])
            cancelled = task.cancel()
            try:
                found = await task
            except asyncio.CancelledError:
                return {"cancelled": True, "raised": None}
            except ENDS_THE_LOOP:
                raise
            except BaseException as error:
                return {"cancelled": cancelled, "raised": raised(error)}
            if found is not None:
                found.ref_count_down()
            return {"cancelled": False, "raised": None}

        return self.on_loop(run())

    def audit(self, args):
        """Memory that came out of the pool and has no owner any more but the connector, once everything has settled."""
        mine = {id(each) for each in (*self.taken, *self.kept)}
        until = time.monotonic() + args.get("patience", SETTLE)
        while True:
            live = [each for each in self.opened.watch.live() if id(each) not in mine]
            if not live or time.monotonic() > until:
                return {"objects": len(live), "bytes": sum(each.get_size() for each in live)}
            time.sleep(0.02)

    def fill(self, _args):
        """Take all memory of the pool, as other requests do."""
        for size in (1 << 20, 1 << 16, 1 << 12):
            while True:
                found = self.opened.local.memory_allocator.allocate(torch.Size([2, 1, 1, size // 2]), torch.uint8)
                if found is None:
                    break
                self.taken.append(found)
        return {"objects": len(self.taken)}

    def free(self, _args):
        while self.taken:
            self.taken.pop().ref_count_down()
        return {}

    def give_back(self, _args):
        while self.kept:
            self.kept.pop().ref_count_down()
        return {}

    def read_kept(self, _args):
        return {"payloads": [self.payloads.left(bytes_of(each)) for each in self.kept]}

    def scribble_kept(self, args):
        view = memoryview(self.kept[args["number"]].byte_array).cast("B")
        view[:] = bytes([SCRIBBLE]) * len(view)
        return {}

    def get_without_memory(self, args):
        """A get while the pool is empty; after a while memory is given back."""
        future = asyncio.run_coroutine_threadsafe(self.get(args), self.loop.loop)
        done, _ = concurrent.futures.wait([future], args["patience"])
        self.free({})
        return {**future.result(), "waited": not done}

    def key_text(self, args):
        return {"texts": [key_of(each).to_string() for each in args["keys"]]}

    def state(self, _args):
        return {
            "tasks": self.opened.tasks(),
            "threads": sorted(thread.name for thread in threading.enumerate()),
            "loop": self.loop.alive() and not self.loop.loop.is_closed(),
        }

    # Through lmcache's own RemoteBackend, in this thread, as its storage manager calls it.

    def backend_put(self, args):
        payload = self.payloads.taken(args["payload"])
        value = chunk_object(self.opened.local, args, payload)
        before = value.get_ref_count()
        problem = None
        try:
            future = self.opened.backend.submit_put_task(key_of(args["key"]), value)
            if future is not None:
                future.result()
        except BaseException as error:
            problem = raised(error)
        after = value.get_ref_count()
        return self._lent([value], [before], [after], [payload], problem)

    def _lent(self, values, before, after, payloads, problem):
        unchanged = [bytes_of(value) == payload for value, payload in zip(values, payloads, strict=True)]
        for value, was, now in zip(values, before, after, strict=True):
            if now >= was:
                memoryview(value.byte_array).cast("B")[:] = bytes([SCRIBBLE]) * value.get_size()
                value.ref_count_down()
        return {"before": before, "after": after, "unchanged": unchanged, "raised": problem}

    def backend_put_many(self, args):
        payloads = [self.payloads.taken(each["payload"]) for each in args["chunks"]]
        keys = [key_of(each["key"]) for each in args["chunks"]]
        values = [chunk_object(self.opened.local, chunk, data) for chunk, data in zip(args["chunks"], payloads, strict=True)]
        before = [value.get_ref_count() for value in values]
        problem = None
        try:
            self.opened.backend.batched_submit_put_task(keys, values)
            until = time.monotonic() + args["patience"]
            while time.monotonic() < until and any(
                value.get_ref_count() > was for value, was in zip(values, before, strict=True)
            ):
                time.sleep(0.005)
        except BaseException as error:
            problem = raised(error)
        return self._lent(values, before, [value.get_ref_count() for value in values], payloads, problem)

    def backend_get(self, args):
        began = time.monotonic()
        try:
            found = self.opened.backend.get_blocking(key_of(args["key"]))
        except BaseException as error:
            return {"found": None, "raised": raised(error), "seconds": time.monotonic() - began}
        return {"found": self._told(found), "raised": None, "seconds": time.monotonic() - began}

    def backend_get_many(self, args):
        try:
            found = self.opened.backend.batched_get_blocking([key_of(each) for each in args["keys"]])
        except BaseException as error:
            return {"found": None, "raised": raised(error)}
        return {"found": [self._told(each) for each in found], "raised": None}

    def backend_contains(self, args):
        return self.now(self.opened.backend.contains, key_of(args["key"]))

    def backend_contains_many(self, args):
        return self.now(self.opened.backend.batched_contains, [key_of(each) for each in args["keys"]])

    def backend_prefetch(self, args):
        keys = [key_of(each) for each in args["keys"]]
        return self.on_loop(self._several(self.opened.backend.batched_get_non_blocking("lookup-1", keys)))

    def backend_async_contains(self, args):
        keys = [key_of(each) for each in args["keys"]]
        return self.on_loop(self._plain(self.opened.backend.batched_async_contains("lookup-1", keys)))

    def backend_close(self, _args):
        return self.now(self.opened.backend.close)

    def backend_waiting(self, args):
        return {"waiting": [self.opened.backend.exists_in_put_tasks(key_of(each)) for each in args["keys"]]}

    def answer(self, request):
        call = getattr(self, request["op"])
        self.loop.held()
        began = time.monotonic()
        done = call(request["args"])
        if inspect.iscoroutine(done):
            done = self.on_loop(done)
        return {"ok": done, "seconds": time.monotonic() - began, "held": self.loop.held()}


def ended_with(problem):
    if problem is None:
        return "the event loop of the engine was stopped"
    return f"the event loop of the engine ended with {type(problem).__name__}: {problem}"


def shown(value):
    """A value as JSON has it, and what it was."""
    if isinstance(value, list | tuple):
        return {"value": [each if isinstance(each, str | bool | int) else words(each) for each in value], "kind": "list"}
    plain = value if value is None or isinstance(value, bool | int | str) else words(value)
    return {"value": plain, "kind": type(value).__name__}


def run(request, folder):
    """Open a connector and answer for it until the harness says ``leave`` or goes away."""
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    lines.say({"began": os.getpid()})  # whoever waits for the connector can end this process
    sys.path[:0] = request["args"]["path"]
    try:
        calls = Calls(request["args"], folder)
        lines.say({"ok": calls.about()})
    except BaseException as error:
        lines.say({"refused": raised(error)})
        return
    while True:
        line = lines.take()
        if line is None:
            return
        request = json.loads(line)
        if request["op"] == "leave":
            lines.say({"ok": {}})
            sys.stderr.flush()
            return
        try:
            answer = calls.answer(request)
        except LoopEnded as error:
            answer = {"loop_ended": str(error)}
        except BaseException as error:
            answer = {"fault": raised(error)}
        lines.say(answer)
