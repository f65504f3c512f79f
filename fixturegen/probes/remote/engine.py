"""What a remote connector is given by an engine: its config, metadata, an event loop in a thread, and memory from a real pool.

All of it is lmcache's own, made as its storage manager makes it, without CUDA. The pool is watched: each object that comes out
of it is kept in sight until somebody gives it back.
"""

import asyncio
import inspect
import logging
import sys
import threading
import time
import types

try:
    import lmcache.c_ops  # noqa: F401
except ModuleNotFoundError:  # the release has none in its wheel
    pass
except ImportError:  # compiled for CUDA; releases before 0.3.7 import it without a fallback
    sys.modules["lmcache.c_ops"] = types.ModuleType("lmcache.c_ops")

import torch
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.storage_backend.connector import base_connector
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend
from lmcache.v1.storage_backend.remote_backend import RemoteBackend
from memory import Metadata, allocator_class, known, ordinary_memory

HEARTBEAT = 0.005


def about():
    """What this release has, as far as its own classes tell."""
    base = base_connector.RemoteConnector
    return {
        "python": sys.version.split()[0],
        "abstract": sorted(base.__abstractmethods__),
        "methods": sorted(name for name in vars(base) if not name.startswith("_")),
        "metadata_at_start": "metadata" in inspect.signature(base.__init__).parameters,
        "threads": threading.active_count(),
    }


class Loop:
    """An event loop in a thread, with a task that notices when it was held up."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="lmcache-loop", daemon=True)
        self.longest = 0.0
        self.last = time.monotonic()
        self.problem = None
        self.thread.start()
        self.beat = asyncio.run_coroutine_threadsafe(self._beat(), self.loop)

    def _run(self):
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        except BaseException as error:
            self.problem = error
            raise

    async def _beat(self):
        while True:
            self.last = time.monotonic()
            await asyncio.sleep(HEARTBEAT)
            self.longest = max(self.longest, time.monotonic() - self.last)

    def held(self):
        """Seconds that the loop was held up at most since the last question, the present moment included."""
        longest, self.longest = max(self.longest, time.monotonic() - self.last), 0.0
        return longest

    def alive(self):
        return self.thread.is_alive()


class Watch:
    """Every object that was allocated and not given back; holding them keeps the collector from doing so unseen."""

    def __init__(self, allocator):
        self.objects = []
        for name in ("allocate", "batched_allocate"):
            if hasattr(allocator, name):
                setattr(allocator, name, self._noting(getattr(allocator, name)))

    def _noting(self, original):
        def allocate(*args, **options):
            found = original(*args, **options)
            several = found if isinstance(found, list | tuple) else [found]
            self.objects += [each for each in several if hasattr(each, "meta") and getattr(each, "parent_allocator", None)]
            return found

        return allocate

    def live(self):
        self.objects = [each for each in self.objects if each.meta.ref_count > 0]
        return self.objects

    def has(self, wanted):
        return any(each is wanted for each in self.objects)


def make_config(settings):
    """A config of the release; a setting that it does not know is refused by name."""
    config = LMCacheEngineConfig.from_defaults()
    for name, value in settings.items():
        if not hasattr(config, name):
            raise LookupError(f"the config of this release has no {name}")
        setattr(config, name, value)
    return config


def make_metadata(layout, chunk):
    """An engine whose full chunk is [kv, layers, chunk tokens, heads * size], as ``layout`` says."""
    kv, layers, heads, size = (layout[name] for name in ("kv", "layers", "heads", "size"))
    values = {
        "model_name": "lmconform/connector",
        "world_size": 1,
        "local_world_size": 1,
        "worker_id": 0,
        "local_worker_id": 0,
        "fmt": "vllm",
        "kv_dtype": getattr(torch, layout["dtype"]),
        "kv_shape": (layers, kv, chunk, heads, size),
        "use_mla": kv == 1,
        "role": "worker",
        "chunk_size": chunk,
    }
    return known(Metadata, values)


def make_local_backend(config, metadata, pool):
    logger = logging.getLogger(LocalCPUBackend.__module__)
    logger.addFilter(lambda record: "message sender" not in record.getMessage())  # no engine here has a controller
    with ordinary_memory():
        allocator = allocator_class()(pool)
        given = {"memory_allocator": allocator, "metadata": metadata, "dst_device": "cpu"}
        found = inspect.signature(LocalCPUBackend.__init__).parameters
        backend = LocalCPUBackend(config, **{name: value for name, value in given.items() if name in found})
    return backend, Watch(allocator)


def make_remote_backend(config, metadata, loop, local, name):
    """As lmcache's storage manager makes it; ``name`` is that of a plugin, or None for what stands in ``remote_url``."""
    given = {"dst_device": "cpu", "plugin_name": name}
    found = inspect.signature(RemoteBackend.__init__).parameters
    if name is not None and "plugin_name" not in found:
        raise LookupError("this release has no plugin:// form")
    return RemoteBackend(config, metadata, loop, local, **{key: value for key, value in given.items() if key in found})
