"""What the server of each release does differently, as tables.

Source: ``lmcache.v1.multiprocess.{server,mq,session}``, ``lmcache.v1.multiprocess.modules``, ``lmcache.v1.distributed`` of each
release. Tests replay what the real servers answered.
"""

from __future__ import annotations

from typing import Final, Literal

from wire.release import RangeTable

Mode = Literal["engine_driven", "lmcache_driven", "auto"]
"""Which transfer operations a server has: those of engines that copy, those where the server copies, or both."""

MODES: Final[tuple[Mode, ...]] = ("engine_driven", "lmcache_driven", "auto")

ENGINE_DRIVEN: Final = RangeTable("engine-driven transfer", ("0.3.9.post1", False), ("0.4.6", True))
BOTH_WAYS: Final = RangeTable("servers with both ways of transfer at once", ("0.3.9.post1", False), ("0.4.7", True))
SHARED_POOL: Final = RangeTable("engine-driven transfer over shared memory", ("0.3.9.post1", False), ("0.4.7", True))

UNKNOWN_OPERATION_KILLS: Final = RangeTable(
    "an unknown operation ends the message thread", ("0.3.9.post1", True), ("0.5.6", False)
)
BOOLEAN_OPERATIONS: Final = RangeTable("a boolean counts as operation 0 or 1", ("0.3.9.post1", False), ("0.5.6", True))
STREAM_CONTROL: Final = RangeTable("an empty operation frame controls a stream", ("0.3.9.post1", False), ("0.5.6", True))
MANDATORY: Final = RangeTable("a reply waits for a peer that does not read", ("0.3.9.post1", False), ("0.5.6", True))

MISSING_JOB: Final = RangeTable[int | None]("hits of an unknown lookup", ("0.3.9.post1", None), ("0.4.4", 0))
STATUS_IS_SYNC: Final = RangeTable(
    "QUERY_PREFETCH_STATUS is answered by the message thread", ("0.3.9.post1", True), ("0.4.3", False)
)

LOOKUP_FLAGS: Final = RangeTable("LOOKUP answers a boolean for each key", ("0.3.9.post1", True), ("0.3.14", False))
LOOKUP_OF_ALL: Final = RangeTable(
    "LOOKUP refuses a key of one worker", ("0.3.9.post1", False), ("0.3.13", True), ("0.3.14", False)
)
LOOKUP_JOBS: Final = RangeTable[Literal["none", "number", "request"]](
    "what LOOKUP leaves behind", ("0.3.9.post1", "none"), ("0.4.1", "number"), ("0.4.4", "request")
)
"""``none``: it answers the hits itself; ``number``: it answers the number of a job; ``request``: the job has the request's id."""
LOOKUP_NEEDS_LAYOUT: Final = RangeTable("LOOKUP asks for a registered model", ("0.3.9.post1", False), ("0.3.15", True))
LOOKUP_STARTS_SESSION: Final = RangeTable("LOOKUP leaves tokens in the session", ("0.3.9.post1", False), ("0.4.4", True))
LOOKUP_HEEDS_END: Final = RangeTable("LOOKUP hashes the tokens before end only", ("0.3.9.post1", False), ("0.5.6", True))
COUNTED_READERS: Final = RangeTable("the key says how many readers there are", ("0.3.9.post1", False), ("0.5.5", True))
TRANSFER_STARTS_LOOKUP: Final = RangeTable("a transfer gives a session its key", ("0.3.9.post1", False), ("0.5.4", True))

FREE: Final = RangeTable[Literal["range", "hits", "result"]](
    "what FREE_LOOKUP_LOCKS releases", ("0.3.9.post1", "range"), ("0.5.4", "hits"), ("0.5.6", "result")
)
"""``range``: the chunks of the key; ``hits``: of these the hits, where they are known; ``result``: the hits, or nothing."""
FREE_OPENS_SESSION: Final = RangeTable("FREE_LOOKUP_LOCKS begins with the session", ("0.3.9.post1", False), ("0.5.5", True))
WINDOWS_NEED_LAYOUT: Final = RangeTable(
    "releasing and touching ask for a registered model", ("0.3.9.post1", False), ("0.5.1", True)
)
TOUCHED_AT_END: Final = RangeTable("END_SESSION touches the objects of the request", ("0.3.9.post1", False), ("0.4.4", True))
TOKENS_MUST_REACH_END: Final = RangeTable("a transfer beyond the tokens is refused", ("0.3.9.post1", False), ("0.5.5", True))

STAGED: Final = RangeTable("written objects are apart until they are committed", ("0.3.9.post1", False), ("0.5.6", True))
CLEAR_FORCES: Final = RangeTable("CLEAR without a flag removes locked objects", ("0.3.9.post1", True), ("0.5.6", False))
PREPARE_NEEDS_CONTEXT: Final = RangeTable("PREPARE_STORE asks for a context", ("0.3.9.post1", False), ("0.4.7", True))
PHYSICAL_SLOTS: Final = RangeTable("the context may say how many slots a chunk has", ("0.3.9.post1", False), ("0.5.5", True))
PEER_GAPS: Final = RangeTable("a peer's lookup locks what stands behind a gap", ("0.3.9.post1", False), ("0.5.3", True))
PEER_GROUPS: Final = RangeTable("a peer's lookup needs the layout of every group", ("0.3.9.post1", False), ("0.5.6", True))
EXPERIMENTAL: Final = RangeTable[tuple[str, ...]]("GET_EXPERIMENTAL", ("0.3.9.post1", ()), ("0.5.6", ("kv_event_stream",)))
CPU_TENSORS: Final = RangeTable("tensors in shared memory of the client", ("0.3.9.post1", False), ("0.5.5", True))

MOST_READ_LOCKS: Final = 128
WRITE_SECONDS: Final = 600.0
READ_SECONDS: Final = 300.0
"""How long a lock lasts that nobody releases."""
WATERMARK: Final = 0.8
EVICTED_SHARE: Final = 0.2
"""When the used share of the pool reaches the first, the second of its objects goes, the longest unused first."""
EVICTION_SECONDS: Final = 1.0
"""How often that is looked at."""
ALIGNMENT: Final = 4096

DTYPES: Final = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int16": 2,
    "uint16": 2,
    "half": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "uint32": 4,
    "float": 4,
    "float32": 4,
    "short": 2,
    "int": 4,
    "long": 8,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
    "int64": 8,
    "uint64": 8,
    "double": 8,
    "float64": 8,
}
"""Bytes of one element, by the attribute of ``torch``."""
SPELLED: Final = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64"}
"""What torch calls a dtype of another name."""
