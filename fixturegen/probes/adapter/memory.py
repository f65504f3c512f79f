"""lmcache's own memory: its ``LocalCPUBackend`` over its ``MixedMemoryAllocator``, as an engine has them.

Pinned memory needs CUDA in releases before 0.3.7; there the pool is made of ordinary memory. The pool is smaller than lmcache's
default of 5 GB, and larger than two of the largest values.
"""

import contextlib
import ctypes
import dataclasses
import importlib
import types

import torch
from lmcache.v1 import memory_management
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.memory_management import BytesBufferMemoryObj, MemoryFormat, MemoryObjMetadata, TensorMemoryObj
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend

try:
    from lmcache.v1.metadata import LMCacheMetadata as Metadata
except ImportError:
    from lmcache.config import LMCacheEngineMetadata as Metadata

POOL = 160 << 20
"""Bytes."""
ALLOCATOR = "MixedMemoryAllocator"
ALLOCATOR_MODULES = ("lmcache.v1.memory_management", "lmcache.v1.memory_allocators.mixed_memory_allocator")
CHUNK = 256


def make_backend():
    """The backend that a connector allocates from."""
    config = LMCacheEngineConfig.from_defaults()
    with ordinary_memory():
        pool = allocator_class()(POOL)
        try:
            backend = LocalCPUBackend(config, metadata(), memory_allocator=pool)
        except TypeError:  # before 0.3.3: no metadata
            backend = LocalCPUBackend(config, memory_allocator=pool)
    return backend


def metadata():
    """An engine with two layers; connectors of recent releases compute the size of a whole chunk from it."""
    values = {
        "model_name": "lmconform",
        "world_size": 1,
        "local_world_size": 1,
        "worker_id": 0,
        "local_worker_id": 0,
        "fmt": "vllm",
        "kv_dtype": torch.float16,
        "kv_shape": (2, 2, CHUNK, 2, 8),
        "chunk_size": CHUNK,
    }
    return known(Metadata, values)


def allocator_class():
    for name in ALLOCATOR_MODULES:
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
            if hasattr(module, ALLOCATOR):
                return getattr(module, ALLOCATOR)
    raise ImportError(f"none of {', '.join(ALLOCATOR_MODULES)} has {ALLOCATOR}")


@contextlib.contextmanager
def ordinary_memory():
    """While the pool is made: pinning memory does nothing, and a device stream is an empty object."""
    with contextlib.ExitStack() as undo:

        def replace(owner, name, value):
            if hasattr(owner, name):
                undo.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

        if torch.cuda.is_available():
            yield
            return
        empty = torch.empty

        def unpinned(*args, **options):
            return empty(*args, **{**options, "pin_memory": False})

        replace(torch, "empty", unpinned)
        replace(torch.cuda, "cudart", lambda: types.SimpleNamespace(cudaHostRegister=lambda *_: 0))
        replace(torch.cuda, "Stream", lambda *_, **__: types.SimpleNamespace())
        ops = getattr(memory_management, "lmc_ops", None)
        if isinstance(ops, types.ModuleType) and not hasattr(ops, "alloc_pinned_ptr"):
            ops.alloc_pinned_ptr = plain_pointer
        yield


KEPT = []


def plain_pointer(size, _flags=0):
    """The address of memory that is kept for as long as this process runs."""
    KEPT.append((ctypes.c_uint8 * size)())
    return ctypes.addressof(KEPT[-1])


def filled(backend, fmt, dtype, shape, payload):
    """A memory object with these bytes: K/V from the pool, as an engine has it, other formats around memory of their own."""
    fmt, shape = MemoryFormat[fmt], torch.Size(shape)
    if fmt.name.startswith("BINARY"):
        return BytesBufferMemoryObj(payload, about(fmt, dtype, shape, payload))
    try:
        found = backend.memory_allocator.allocate(shape, dtype, fmt)
    except ValueError:  # not a format of the pool
        found = None
    if found is None:
        raw = torch.frombuffer(bytearray(payload) or bytearray(1), dtype=torch.uint8)[: len(payload)]
        return TensorMemoryObj(raw, about(fmt, dtype, shape, payload), None)
    memoryview(found.byte_array).cast("B")[:] = payload
    return found


def about(fmt, dtype, shape, payload):
    values = {"shape": shape, "dtype": dtype, "address": 0, "phy_size": len(payload), "ref_count": 1, "fmt": fmt}
    return known(MemoryObjMetadata, values)


def known(kind, values):
    """A dataclass of lmcache from those of the values that the release has a field for."""
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in names})
