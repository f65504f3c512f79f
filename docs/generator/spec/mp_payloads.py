"""What the payloads of each operation are: words for the types that ``wire.mp.operations`` has.

Source: the comments and parameters of ``lmcache.v1.multiprocess.protocol`` (up to 0.3.15), ``protocols`` (0.4.1 to 0.5.5) and
``transport.base`` (0.5.6). As many names as payloads are demanded
of every release where the table is written.
"""

from __future__ import annotations

from typing import Final

from wire.mp.operations import FIRST_RELEASE, Operation
from wire.release import RangeTable, Release

_KV: Final = "instance, KV tensors, model, world size, engine, layout hints, groups"
_ROPE: Final = "instance, tables of cosines and sines, head size, Neox style, table of each group"
_ROTATED: Final = f"{_ROPE}, rotated part of each group"
_BUFFER: Final = "key, offset in the buffer, instance, event handle"
_MATCHES: Final = "key, matches, blocks of each group, instance, event handle"
_ALWAYS: Final = FIRST_RELEASE.text

_NAMES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "REGISTER_KV_CACHE": (
        (_ALWAYS, "instance, KV tensors"),
        ("0.3.15", "instance, KV tensors, model, world size"),
        ("0.4.3", "instance, KV tensors, model, world size, layout hints"),
        ("0.4.5", "instance, KV tensors, model, world size, engine, layout hints"),
        ("0.4.7", _KV),
    ),
    "REGISTER_Q_CACHE": ((_ALWAYS, _KV),),
    "STORE_Q": ((_ALWAYS, "key, instance, blocks of each group, event handle"),),
    "STORE": (
        (_ALWAYS, "keys, instance, blocks"),
        ("0.3.10", "keys, instance, blocks, event handle"),
        ("0.3.15", "key, instance, blocks, event handle"),
        ("0.4.7", "key, instance, blocks of each group, event handle"),
    ),
    "RETRIEVE": (
        (_ALWAYS, "keys, instance, blocks"),
        ("0.3.10", "keys, instance, blocks, event handle"),
        ("0.3.15", "key, instance, blocks, event handle"),
        ("0.4.1", "key, instance, blocks, event handle, tokens to skip at the start"),
        ("0.4.7", "key, instance, blocks of each group, event handle, tokens to skip at the start"),
    ),
    "LOOKUP": (
        (_ALWAYS, "keys, whether to lock"),
        ("0.3.14", "keys"),
        ("0.3.15", "key"),
        ("0.4.1", "key, tensor-parallel size"),
    ),
    "QUERY_PREFETCH_STATUS": ((_ALWAYS, "what LOOKUP answered"), ("0.4.4", "request id")),
    "WAIT_PREFETCH_STATUS": ((_ALWAYS, "request id, seconds to wait"),),
    "QUERY_PREFETCH_LOOKUP_HITS": ((_ALWAYS, "what LOOKUP answered"), ("0.4.4", "request id")),
    "FREE_LOOKUP_LOCKS": ((_ALWAYS, "key, tensor-parallel size"),),
    "END_SESSION": ((_ALWAYS, "request id"),),
    "REGISTER_KV_CACHE_NON_GPU_CONTEXT": ((_ALWAYS, "registration"),),
    "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": ((_ALWAYS, "registration"),),
    "PREPARE_STORE": ((_ALWAYS, "key, instance"),),
    "COMMIT_STORE": ((_ALWAYS, "key, instance, pickled chunks or nothing"),),
    "PREPARE_RETRIEVE": ((_ALWAYS, "key, instance"),),
    "COMMIT_RETRIEVE": ((_ALWAYS, "key, instance"),),
    "CLEAR": ((_ALWAYS, ""), ("0.5.6", "force")),
    "GET_CHUNK_SIZE": ((_ALWAYS, ""),),
    "PING": ((_ALWAYS, ""), ("0.5.0", "instance")),
    "REPORT_BLOCK_ALLOCATION": ((_ALWAYS, "allocations"), ("0.4.4", "instance, model, allocations")),
    "NOOP": ((_ALWAYS, ""),),
    "CB_REGISTER_KV_CACHE": ((_ALWAYS, "instance, KV tensors"), ("0.3.15", "instance, KV tensors, model, world size")),
    "CB_STORE_PRE_COMPUTED": ((_ALWAYS, _BUFFER),),
    "CB_LOOKUP_PRE_COMPUTED": ((_ALWAYS, "key"),),
    "CB_RETRIEVE_PRE_COMPUTED": (
        (_ALWAYS, "key, ranges of tokens, offset in the buffer, instance, event handle"),
        ("0.5.5", _MATCHES),
    ),
    "CB_STORE_FINAL": ((_ALWAYS, _BUFFER),),
    "CB_LOOKUP_PRE_COMPUTED_V2": ((_ALWAYS, "key"),),
    "CB_RETRIEVE_PRE_COMPUTED_V2": ((_ALWAYS, "key, matches, offset in the buffer, instance, event handle"),),
    "CB_REGISTER_ROPE_V3": (
        (_ALWAYS, "instance, table of cosines and sines, head size, Neox style"),
        ("0.5.2", _ROPE),
        ("0.5.3", _ROTATED),
    ),
    "CB_RETRIEVE_PRE_COMPUTED_V3": ((_ALWAYS, "key, matches, blocks, instance, event handle"), ("0.5.2", _MATCHES)),
    "CB_REGISTER_ROPE": ((_ALWAYS, _ROTATED), ("0.5.6", f"{_ROTATED}, head size of each group, quantisation")),
    "CB_UNIFIED_LOOKUP": ((_ALWAYS, "key, tensor-parallel size"),),
    "CB_REORDER_PLAN": ((_ALWAYS, "key, prefix to keep, budget in milliseconds"),),
    "CB_PROTOCOL_HANDSHAKE": ((_ALWAYS, "version of the client"),),
    "P2P_LOOKUP_AND_LOCK": ((_ALWAYS, "objects, their layout"), ("0.5.3", "objects, layout of each object group")),
    "P2P_QUERY_LOOKUP_RESULTS": ((_ALWAYS, "what P2P_LOOKUP_AND_LOCK answered"),),
    "P2P_UNLOCK_OBJECTS": ((_ALWAYS, "objects"),),
    "GET_EXPERIMENTAL": ((_ALWAYS, ""),),
    "SUBSCRIBE_KV_EVENTS": ((_ALWAYS, "instance, model, cursor, events at most"),),
    "SERVER_MODULE_CALL": ((_ALWAYS, "call"),),
    **dict.fromkeys(
        (
            *("UNREGISTER_KV_CACHE", "UNREGISTER_Q_CACHE", "CB_UNREGISTER_KV_CACHE", "CB_UNREGISTER_ROPE"),
            *("CB_UNREGISTER_ROPE_V3", "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT", "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT"),
        ),
        ((_ALWAYS, "instance"),),
    ),
}
"""Name of an operation to its payloads, by the first release that takes them so."""


def names_of(release: Release, operation: Operation) -> list[str]:
    """What each payload of an operation of a release is."""
    text = RangeTable(operation.name, *_NAMES[operation.name])[release]
    return text.split(", ") if text else []
