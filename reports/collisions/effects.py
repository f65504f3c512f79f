"""What each operation does where it is executed, and who sends it.

Source: what the handlers of ``lmcache.v1.multiprocess`` (``server`` until 0.4.5, ``modules`` from 0.4.6 on) do with the store.
Operations go by their newest names (:data:`wire.mp.operations.RENAMED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reports.collisions.harm import Harm
from wire.release import RangeTable


@dataclass(frozen=True)
class Effect:
    """What an operation does to a server that is asked for it by mistake."""

    harm: Harm | None
    """None: it changes nothing, and only its answer can do harm."""
    words: str


_REGISTERS: Final = Effect(
    Harm.CORRUPTS, "replaces the registration of an instance, whose memory is read and written from then on"
)
_DROPS: Final = Effect(Harm.CORRUPTS, "drops the registration of an instance, which can neither store nor retrieve any more")
_STORES: Final = Effect(Harm.CORRUPTS, "stores, under keys that others ask for, blocks that were not meant")
_WRITES: Final = Effect(Harm.CORRUPTS, "writes into blocks of an engine that did not ask for it")
_LOCKS: Final = Effect(Harm.LEAKS, "takes read locks that nobody gives back")
_UNLOCKS: Final = Effect(
    Harm.CORRUPTS, "gives back read locks that somebody else holds, whose objects can be evicted while they are read"
)
_TELLS: Final = Effect(None, "changes nothing")

EFFECTS: Final[Mapping[str, Effect]] = {
    "CLEAR": Effect(Harm.DESTROYS, "clears the cache: every object of every client is gone"),
    **dict.fromkeys(
        (
            "REGISTER_KV_CACHE",
            "REGISTER_Q_CACHE",
            "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT",
            "CB_REGISTER_KV_CACHE",
            "CB_REGISTER_ROPE",
        ),
        _REGISTERS,
    ),
    **dict.fromkeys(
        (
            "UNREGISTER_KV_CACHE",
            "UNREGISTER_Q_CACHE",
            "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT",
            "CB_UNREGISTER_KV_CACHE",
            "CB_UNREGISTER_ROPE",
        ),
        _DROPS,
    ),
    **dict.fromkeys(("STORE", "STORE_Q", "CB_STORE_PRE_COMPUTED", "CB_STORE_FINAL"), _STORES),
    **dict.fromkeys(("RETRIEVE", "CB_RETRIEVE_PRE_COMPUTED", "CB_RETRIEVE_PRE_COMPUTED_V2"), _WRITES),
    **dict.fromkeys(
        ("LOOKUP", "CB_LOOKUP_PRE_COMPUTED", "CB_LOOKUP_PRE_COMPUTED_V2", "CB_UNIFIED_LOOKUP", "P2P_LOOKUP_AND_LOCK"), _LOCKS
    ),
    "PREPARE_STORE": Effect(Harm.LEAKS, "takes write locks of objects that nobody will write"),
    "COMMIT_STORE": Effect(Harm.CORRUPTS, "shows objects to everybody whose bytes nobody wrote"),
    "PREPARE_RETRIEVE": Effect(Harm.LEAKS, "begins to read objects that nobody reads to the end"),
    **dict.fromkeys(("COMMIT_RETRIEVE", "FREE_LOOKUP_LOCKS", "P2P_UNLOCK_OBJECTS"), _UNLOCKS),
    "END_SESSION": Effect(None, "forgets what is known of a request that still runs"),
    "QUERY_PREFETCH_STATUS": Effect(None, "takes away the answer to a lookup, which is given once"),
    "WAIT_PREFETCH_STATUS": Effect(None, "takes away the answer to a lookup, which is given once"),
    "QUERY_PREFETCH_LOOKUP_HITS": _TELLS,
    "P2P_QUERY_LOOKUP_RESULTS": Effect(None, "takes away the answer to a lookup of a peer"),
    "REPORT_BLOCK_ALLOCATION": Effect(None, "counts blocks that were not allocated"),
    "SERVER_MODULE_CALL": Effect(Harm.CORRUPTS, "calls a module of the server, which may do anything"),
    **dict.fromkeys(
        ("GET_CHUNK_SIZE", "PING", "NOOP", "GET_EXPERIMENTAL", "CB_PROTOCOL_HANDSHAKE", "CB_REORDER_PLAN", "SUBSCRIBE_KV_EVENTS"),
        _TELLS,
    ),
}
UNKNOWN: Final = Effect(Harm.CORRUPTS, "does something that is not known here")
"""Operations that came after this version of the tool."""

ENDS: Final[Mapping[str, str]] = {
    "RETRIEVE": "LOOKUP",
    "PREPARE_RETRIEVE": "LOOKUP",
    "FREE_LOOKUP_LOCKS": "LOOKUP",
    "COMMIT_RETRIEVE": "PREPARE_RETRIEVE",
    "COMMIT_STORE": "PREPARE_STORE",
    "P2P_UNLOCK_OBJECTS": "P2P_LOOKUP_AND_LOCK",
}
"""Operations that give back what another one took: where only the other is executed, its locks stay."""


class Family(StrEnum):
    """Who sends an operation, and which servers execute it."""

    ENGINE = "engine"
    """Every engine, every server."""
    ENGINE_DRIVEN = "engine-driven"
    """Engines that copy themselves, through shared memory or pickles."""
    BLEND = "blend"
    PEERS = "peers"
    EXPERIMENTAL = "experimental"


PLAIN: Final = (Family.ENGINE, Family.ENGINE_DRIVEN)
"""What a server executes as it is started by default."""
_ENGINE_DRIVEN: Final = ("PREPARE_STORE", "COMMIT_STORE", "PREPARE_RETRIEVE", "COMMIT_RETRIEVE")
_EXPERIMENTAL: Final = ("REGISTER_Q_CACHE", "UNREGISTER_Q_CACHE", "STORE_Q", "SERVER_MODULE_CALL", "SUBSCRIBE_KV_EVENTS")
"""Sent only to servers that say that they have it."""


def family(meaning: str) -> Family:
    """The family of an operation, by its newest name."""
    if meaning.startswith("CB_"):
        return Family.BLEND
    if meaning.startswith("P2P_"):
        return Family.PEERS
    if meaning in _EXPERIMENTAL:
        return Family.EXPERIMENTAL
    if meaning in _ENGINE_DRIVEN or meaning.endswith("_ENGINE_DRIVEN_CONTEXT"):
        return Family.ENGINE_DRIVEN
    return Family.ENGINE


UNASKED: Final[Mapping[str, str]] = {
    "GET_CHUNK_SIZE": "every engine sends it when it starts",
    "GET_EXPERIMENTAL": "every engine sends it when it starts",
    "REGISTER_KV_CACHE": "engines send it when they start",
    "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": "engines send it when they start",
    "PING": "engines send it again and again, to see whether the server lives",
}
"""What is sent although nobody asks for anything yet. Source: ``lmcache.integration.vllm.vllm_multi_process_adapter``."""

UNKNOWN_KILLS: Final = RangeTable("an unknown operation ends the server's thread", ("0.3.9.post1", True), ("0.5.6", False))
"""Source: the message loop decodes the operation outside of everything that catches."""

REPLY_KILLS: Final = RangeTable("an unreadable reply ends the client's thread", ("0.3.9.post1", True), ("0.5.5", False))
"""Source: the client's message loop, which catches only from 0.5.5 on."""

WRAPPER_FORMS: Final = RangeTable(
    "form of extension 1",
    ("0.3.9.post1", "a pickle of lmcache.v1.multiprocess.custom_types.CudaIPCWrapper"),
    ("0.5.1", "a pickle of lmcache.v1.platform.cuda.ipc_wrapper.CudaIPCWrapper"),
    ("0.5.6", "a map of type cuda"),
)
"""What a KV tensor on a CUDA device crosses as. A release loads no other form: the module of the class moved with 0.5.1.

Tests compare it with the captured blobs. Tensors in shared memory of processors stay one class from 0.4.7 to 0.5.5.
"""

READERS_WANTED: Final = RangeTable("lookups want num_kv_readers", ("0.3.9.post1", False), ("0.5.5", True))
READERS_WANTED_BY: Final = ("LOOKUP", "FREE_LOOKUP_LOCKS", "CB_UNIFIED_LOOKUP")
"""Operations that count readers of a registered model and refuse less than one. Source: ``require_num_kv_readers``."""
