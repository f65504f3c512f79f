"""K/V of an instance through lmcache's own worker-side transfer context, engine-driven: copies, slots and pickles are its own.

The contract speaks of whole chunks as bytes, lmcache of paged K/V of an engine. So each call gets paged memory of its own, whose
blocks are used in order: one head, which makes the two orders of heads and tokens one, in the shape that engines have on a CPU.
"""

import inspect

import torch
from outcomes import Refused
from peers import Absent, has, send_request

try:
    from lmcache.v1.multiprocess import transfer_context
except ImportError:
    transfer_context = None

CONTEXTS = ("EngineDrivenTransferContext", "DataTransferContext")
"""Names of the class, the newer first."""
CONTEXT = next((getattr(transfer_context, name) for name in CONTEXTS if hasattr(transfer_context, name)), None)
PLACE = getattr(transfer_context, "worker_transfer", transfer_context)
UNREGISTER = ("UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT", "UNREGISTER_KV_CACHE")
"""What ends an instance; lmcache's own worker sends the first of these that its release has."""
INNER = ("_engine_driven_context", "_non_gpu_context")
"""Where the context keeps what moves the bytes: through shared memory or in pickles."""
HINTS = {"kv_layout": "HND"}
SPARE = 3
"""Blocks more than needed, so that no dimension of the paged memory looks like the one of K and V."""


class Instance:
    """One registered worker.

    Raises:
        Absent: the release has no such context.
        TimeoutError: the server did not answer.
    """

    def __init__(self, peer, number, description):
        if CONTEXT is None:
            raise Absent("this release has no engine-driven transfer; its worker hands CUDA memory to the server")
        self.peer, self.number = peer, number
        self.model, self.world_size = description["model_name"], description["world_size"]
        self.block_size, self.layers = description["block_size"], description["num_layers"]
        self.hidden, self.planes = description["hidden_dim_size"], 1 if description["use_mla"] else 2
        self.dtype = getattr(torch, description["dtype"])
        self.chunk_tokens = peer.chunk_tokens
        self.blocks_in_chunk = self.chunk_tokens // self.block_size
        self.context = self._called(CONTEXT)
        self._called(self.context.register, kv_caches=self.paged(0))

    def description(self):
        """What the registration came to: the pool, and whether it is shared memory."""
        inner = next(getattr(self.context, name) for name in INNER if hasattr(self.context, name))
        return {"pool_size": getattr(inner, "_pool_size", 0), "shared_memory": hasattr(inner, "_shm_buffer")}

    def store(self, key, chunks):
        """Whether the chunks are stored."""
        memory = self.paged(len(chunks))
        for index, chunk in enumerate(chunks):
            if len(chunk) != self.chunk_bytes:
                raise Refused(f"a chunk of this instance has {self.chunk_bytes} bytes, chunk {index} has {len(chunk)}")
            whole = torch.frombuffer(bytearray(chunk), dtype=torch.uint8).view(self.planes, self.layers, self.chunk_tokens, -1)
            for number, span in enumerate(self.spans(memory, index)):
                span.copy_(whole[:, number])
        return bool(self._moved(self.context.submit_store, key, memory, len(chunks)))

    def retrieve(self, key, count):
        """The chunks of a key, so many, or None."""
        memory = self.paged(count)
        if not self._moved(self.context.submit_retrieve, key, memory, count):
            return None
        return [torch.stack(self.spans(memory, index), dim=1).numpy().tobytes() for index in range(count)]

    def unregister(self):
        """End the registration, as lmcache's worker does when it shuts down."""
        if hasattr(self.context, "unregister"):
            future = self.context.unregister()
            if future is not None:
                future.result(timeout=self.peer.timeout)
        else:
            unregister_by_request(self.peer, self.number)
        self.context.close()

    @property
    def chunk_bytes(self):
        return self.planes * self.layers * self.chunk_tokens * self.hidden * self.dtype.itemsize

    def paged(self, chunks):
        """Paged memory of an engine that has room for so many chunks: layer name to tensor."""
        blocks = chunks * self.blocks_in_chunk + SPARE
        shape = (blocks, self.block_size, self.hidden) if self.planes == 1 else (2, blocks, 1, self.block_size, self.hidden)
        return {f"layer.{number}": torch.zeros(shape, dtype=self.dtype) for number in range(self.layers)}

    def spans(self, memory, index):
        """The bytes of a chunk in paged memory, of each layer: planes, tokens and the row of a token."""
        row, first = self.hidden * self.dtype.itemsize, index * self.chunk_tokens
        layers = [layer.view(torch.uint8).view(self.planes, -1, row) for layer in memory.values()]
        return [layer[:, first : first + self.chunk_tokens] for layer in layers]

    def _moved(self, function, key, memory, count):
        ids = list(range(count * self.blocks_in_chunk))
        # Lists of lists since there are groups of layers; those releases have a function that takes the one group out.
        block_ids = [ids] if hasattr(PLACE, "_single_group_block_ids") else ids
        return self._called(function, key=key, kv_caches=memory, block_ids=block_ids, request_id=key.request_id).result()

    def _called(self, function, **values):
        """Call with those of the values that the release has a parameter for."""
        known = {
            "instance_id": self.number,
            "req_client": self.peer.client,
            "mq_client": self.peer.client,
            "mq_timeout": self.peer.timeout,
            "send_request": send_request,
            "model_name": self.model,
            "world_size": self.world_size,
            "blocks_in_chunk": self.blocks_in_chunk,
            "layout_hints": HINTS,
            "event": None,
            **values,
        }
        names = inspect.signature(function).parameters
        return function(**{name: known[name.lstrip("_")] for name in names if name.lstrip("_") in known})


def unregister_by_request(peer, number):
    peer.ask(next(name for name in UNREGISTER if has(name)), number)
