"""Operations of the multiprocess server: their numbers, payloads and results, release by release.

Until 0.5.5 an operation's number is its place in an enumeration that numbers itself: a new member renumbers all behind it.
0.5.6 keeps the numbers of 0.5.5, names new operations by text, and takes the text of the old ones as well.

Source: ``lmcache.v1.multiprocess.protocol`` (until 0.3.15), ``lmcache.v1.multiprocess.protocols`` (0.4.1 to 0.5.5), and
``lmcache.v1.multiprocess.transport.{base,zmq_impl.wire}`` (0.5.6). Tests compare every row with the corpus.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final

from wire.errors import WireError
from wire.mp.types import Type, parse_type
from wire.mp.values import shown
from wire.release import RangeTable, Release

FIRST_RELEASE: Final = Release.parse("0.3.9.post1")
"""The oldest release with the protocol."""

OperationNumber = int | str
"""What stands in the frame of the operation: a number, or from 0.5.6 for new operations a text."""

_CACHE: Final = ("REGISTER_KV_CACHE", "UNREGISTER_KV_CACHE")
_Q_CACHE: Final = ("REGISTER_Q_CACHE", "UNREGISTER_Q_CACHE", "STORE_Q")
_MOVE: Final = ("STORE", "RETRIEVE", "LOOKUP")
_FREE: Final = ("FREE_LOOKUP_LOCKS", "END_SESSION")
_TWO_STEPS: Final = ("PREPARE_STORE", "COMMIT_STORE", "PREPARE_RETRIEVE", "COMMIT_RETRIEVE")
_NON_GPU: Final = ("REGISTER_KV_CACHE_NON_GPU_CONTEXT", "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT")
_ENGINE_DRIVEN: Final = ("REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT", "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT")
_CONTROL: Final = ("CLEAR", "GET_CHUNK_SIZE")
_WATCHED: Final = ("PING", "REPORT_BLOCK_ALLOCATION", "NOOP")
_BLEND: Final = (
    "CB_REGISTER_KV_CACHE",
    "CB_UNREGISTER_KV_CACHE",
    "CB_STORE_PRE_COMPUTED",
    "CB_LOOKUP_PRE_COMPUTED",
    "CB_RETRIEVE_PRE_COMPUTED",
    "CB_STORE_FINAL",
)
_BLEND_2: Final = ("CB_LOOKUP_PRE_COMPUTED_V2", "CB_RETRIEVE_PRE_COMPUTED_V2")
_BLEND_3: Final = ("CB_REGISTER_ROPE_V3", "CB_UNREGISTER_ROPE_V3", "CB_RETRIEVE_PRE_COMPUTED_V3", "CB_UNIFIED_LOOKUP")
_BLEND_MERGED: Final = ("CB_REGISTER_ROPE", "CB_UNREGISTER_ROPE", "CB_RETRIEVE_PRE_COMPUTED", "CB_UNIFIED_LOOKUP")
_PEERS: Final = ("P2P_LOOKUP_AND_LOCK", "P2P_QUERY_LOOKUP_RESULTS", "P2P_UNLOCK_OBJECTS")
_QUERY: Final = ("QUERY_PREFETCH_STATUS",)
_HITS: Final = ("QUERY_PREFETCH_LOOKUP_HITS",)
_WAIT: Final = ("WAIT_PREFETCH_STATUS",)

_ORDER_0_4_7: Final = (*_CACHE, *_MOVE, *_QUERY, *_HITS, *_FREE, *_NON_GPU, *_TWO_STEPS, *_CONTROL, *_WATCHED, *_BLEND, *_BLEND_2)
_ORDER_0_5_3: Final = (
    *(*_CACHE, *_Q_CACHE, *_MOVE, *_QUERY, *_WAIT, *_HITS, *_FREE, *_ENGINE_DRIVEN, *_TWO_STEPS, *_CONTROL, *_WATCHED),
    *(*_BLEND, *_BLEND_2, *_BLEND_3, *_PEERS, "GET_EXPERIMENTAL"),
)
_ORDER_0_5_5: Final = (
    *(*_CACHE, *_Q_CACHE, *_MOVE, *_QUERY, *_WAIT, *_HITS, *_FREE, *_ENGINE_DRIVEN, *_TWO_STEPS, *_CONTROL, *_WATCHED),
    *(*_BLEND_MERGED, *_PEERS, "GET_EXPERIMENTAL", "CB_PROTOCOL_HANDSHAKE"),
)

ORDERS: Final = RangeTable[tuple[str, ...]](
    "order of operations",
    ("0.3.9.post1", (*_CACHE, *_MOVE, "NOOP")),
    ("0.3.10", (*_CACHE, *_MOVE, *_CONTROL, "NOOP")),
    ("0.3.14", (*_CACHE, *_MOVE, "END_SESSION", *_CONTROL, "NOOP", *_BLEND)),
    ("0.4.1", (*_CACHE, *_MOVE, *_QUERY, *_FREE, *_CONTROL, "NOOP", *_BLEND, *_BLEND_2)),
    ("0.4.2", (*_CACHE, *_MOVE, *_QUERY, *_FREE, *_CONTROL, "PING", "NOOP", *_BLEND, *_BLEND_2)),
    ("0.4.3", (*_CACHE, *_MOVE, *_QUERY, *_HITS, *_FREE, *_CONTROL, *_WATCHED, *_BLEND, *_BLEND_2)),
    ("0.4.6", tuple(name for name in _ORDER_0_4_7 if name != "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT")),
    ("0.4.7", (*_ORDER_0_4_7, *_BLEND_3)),
    (
        "0.5.0",
        (
            *(*_CACHE, *_MOVE, *_QUERY, *_WAIT, *_HITS, *_FREE, *_ENGINE_DRIVEN, *_TWO_STEPS, *_CONTROL, *_WATCHED),
            *(*_BLEND, *_BLEND_2, *_BLEND_3, *_PEERS),
        ),
    ),
    ("0.5.3", _ORDER_0_5_3),
    ("0.5.5", _ORDER_0_5_5),
)
"""Names in the order of the enumeration; the first has number 1. From 0.5.6 on the numbers are frozen as they were in 0.5.5."""

TEXT_OPERATIONS: Final = RangeTable[tuple[str, ...]](
    "operations named by text", ("0.3.9.post1", ()), ("0.5.6", ("CB_REORDER_PLAN", "SUBSCRIBE_KV_EVENTS", "SERVER_MODULE_CALL"))
)
"""Operations without a number; the wire carries the name in lower case."""

RETIRED: Final = RangeTable[tuple[str, ...]](
    "retired operations", ("0.3.9.post1", ()), ("0.5.6", ("QUERY_PREFETCH_LOOKUP_HITS",))
)
"""Operations whose number is kept and means nothing any more."""

TEXT_ACCEPTED: Final = RangeTable("names accepted for numbers", ("0.3.9.post1", False), ("0.5.6", True))

STREAMING: Final = ("SUBSCRIBE_KV_EVENTS",)
"""Operations with many replies."""

RENAMED: Final = {
    "REGISTER_KV_CACHE_NON_GPU_CONTEXT": "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT",
    "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT": "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT",
    "CB_REGISTER_ROPE_V3": "CB_REGISTER_ROPE",
    "CB_UNREGISTER_ROPE_V3": "CB_UNREGISTER_ROPE",
    "CB_RETRIEVE_PRE_COMPUTED_V3": "CB_RETRIEVE_PRE_COMPUTED",
}
"""Names that upstream changed while the operation stayed the same one: old name to new."""

_STORED: Final = "(bytes, bool)"
_GROUPS: Final = "int, [ext], str, int, EngineType, LayoutHints, [EngineGroupInfo]"
_OLD_KEY: Final = "IPCCacheEngineKey"
_KEY: Final = "IPCCacheServerKey"
_Signature = tuple[str, str | None]
"""Payload types, separated by commas at the top, and the type of the result; None for a reply without result."""


def _signatures(name: str, *rows: tuple[str, str, str | None]) -> RangeTable[_Signature]:
    return RangeTable(f"signature of {name}", *((first, (payloads, result)) for first, payloads, result in rows))


_SIGNATURES: Final[dict[str, RangeTable[_Signature]]] = {
    name: _signatures(name, *rows)
    for name, rows in {
        "REGISTER_KV_CACHE": (
            ("0.3.9.post1", "int, [ext]", None),
            ("0.3.15", "int, [ext], str, int", None),
            ("0.4.3", "int, [ext], str, int, LayoutHints", None),
            ("0.4.5", "int, [ext], str, int, EngineType, LayoutHints", None),
            ("0.4.7", _GROUPS, None),
        ),
        "UNREGISTER_KV_CACHE": (("0.3.9.post1", "int", None),),
        "REGISTER_Q_CACHE": (("0.5.3", _GROUPS, None),),
        "UNREGISTER_Q_CACHE": (("0.5.3", "int", None),),
        "STORE_Q": (("0.5.3", f"{_KEY}, int, [[int]], bytes", _STORED),),
        "STORE": (
            ("0.3.9.post1", f"[{_OLD_KEY}], int, [int]", "bool"),
            ("0.3.10", f"[{_OLD_KEY}], int, [int], bytes", _STORED),
            ("0.3.15", f"{_OLD_KEY}, int, [int], bytes", _STORED),
            ("0.4.7", f"{_OLD_KEY}, int, [[int]], bytes", _STORED),
            ("0.5.0", f"{_KEY}, int, [[int]], bytes", _STORED),
        ),
        "RETRIEVE": (
            ("0.3.9.post1", f"[{_OLD_KEY}], int, [int]", "[bool]"),
            ("0.3.10", f"[{_OLD_KEY}], int, [int], bytes", "(bytes, [bool])"),
            ("0.3.15", f"{_OLD_KEY}, int, [int], bytes", _STORED),
            ("0.4.1", f"{_OLD_KEY}, int, [int], bytes, int", _STORED),
            ("0.4.7", f"{_OLD_KEY}, int, [[int]], bytes, int", _STORED),
            ("0.5.0", f"{_KEY}, int, [[int]], bytes, int", _STORED),
        ),
        "LOOKUP": (
            ("0.3.9.post1", f"[{_OLD_KEY}], bool?", "[bool]"),
            ("0.3.14", f"[{_OLD_KEY}]", "int"),
            ("0.3.15", _OLD_KEY, "int"),
            ("0.4.1", f"{_OLD_KEY}, int", "int"),
            ("0.4.4", f"{_OLD_KEY}, int", None),
            ("0.5.0", f"{_KEY}, int", None),
        ),
        "QUERY_PREFETCH_STATUS": (("0.4.1", "int", "int?"), ("0.4.4", "str", "int?")),
        "WAIT_PREFETCH_STATUS": (("0.5.0", "str, float", "int?"),),
        "QUERY_PREFETCH_LOOKUP_HITS": (("0.4.3", "int", "int?"), ("0.4.4", "str", "int?")),
        "FREE_LOOKUP_LOCKS": (("0.4.1", f"{_OLD_KEY}, int", None), ("0.5.0", f"{_KEY}, int", None)),
        "END_SESSION": (("0.3.14", "str", None),),
        "REGISTER_KV_CACHE_NON_GPU_CONTEXT": (
            ("0.4.6", "RegisterNonGpuContextPayload", None),
            ("0.4.7", "RegisterNonGpuContextPayload", "RegisterNonGpuContextResponse"),
        ),
        "UNREGISTER_KV_CACHE_NON_GPU_CONTEXT": (("0.4.7", "int", None),),
        "REGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": (
            ("0.5.0", "RegisterEngineDrivenContextPayload", "RegisterEngineDrivenContextResponse"),
        ),
        "UNREGISTER_KV_CACHE_ENGINE_DRIVEN_CONTEXT": (("0.5.0", "int", None),),
        "PREPARE_STORE": (
            ("0.4.6", f"{_OLD_KEY}, int", "PrepareStoreResponse"),
            ("0.5.0", f"{_KEY}, int", "PrepareStoreResponse"),
        ),
        "COMMIT_STORE": (("0.4.6", f"{_OLD_KEY}, int, bytes", "bool"), ("0.5.0", f"{_KEY}, int, bytes", "bool")),
        "PREPARE_RETRIEVE": (
            ("0.4.6", f"{_OLD_KEY}, int", "PrepareRetrieveResponse"),
            ("0.5.0", f"{_KEY}, int", "PrepareRetrieveResponse"),
        ),
        "COMMIT_RETRIEVE": (("0.4.6", f"{_OLD_KEY}, int", "bool"), ("0.5.0", f"{_KEY}, int", "bool")),
        "CLEAR": (("0.3.10", "", None), ("0.5.6", "bool", None)),
        "GET_CHUNK_SIZE": (("0.3.10", "", "int"),),
        "PING": (("0.4.2", "", "bool"), ("0.5.0", "int?", "bool")),
        "REPORT_BLOCK_ALLOCATION": (
            ("0.4.3", "[BlockAllocationRecord]", None),
            ("0.4.4", "int, str, [BlockAllocationRecord]", None),
        ),
        "NOOP": (("0.3.9.post1", "", "str"),),
        "CB_REGISTER_KV_CACHE": (("0.3.14", "int, [ext]", None), ("0.3.15", "int, [ext], str, int", None)),
        "CB_UNREGISTER_KV_CACHE": (("0.3.14", "int", None),),
        "CB_STORE_PRE_COMPUTED": (
            ("0.3.14", f"{_OLD_KEY}, int, int, bytes", _STORED),
            ("0.5.0", f"{_KEY}, int, int, bytes", _STORED),
        ),
        "CB_LOOKUP_PRE_COMPUTED": (("0.3.14", _OLD_KEY, "[(int, int)]"), ("0.5.0", _KEY, "[(int, int)]")),
        "CB_RETRIEVE_PRE_COMPUTED": (
            ("0.3.14", f"{_OLD_KEY}, [(int, int)], int, int, bytes", _STORED),
            ("0.5.0", f"{_KEY}, [(int, int)], int, int, bytes", _STORED),
            ("0.5.5", f"{_KEY}, [CBMatchResult], [[int]], int, bytes", _STORED),
        ),
        "CB_STORE_FINAL": (("0.3.14", f"{_OLD_KEY}, int, int, bytes", _STORED), ("0.5.0", f"{_KEY}, int, int, bytes", _STORED)),
        "CB_LOOKUP_PRE_COMPUTED_V2": (("0.4.1", _OLD_KEY, "[CBMatchResult]"), ("0.5.0", _KEY, "[CBMatchResult]")),
        "CB_RETRIEVE_PRE_COMPUTED_V2": (
            ("0.4.1", f"{_OLD_KEY}, [CBMatchResult], int, int, bytes", _STORED),
            ("0.5.0", f"{_KEY}, [CBMatchResult], int, int, bytes", _STORED),
        ),
        "CB_REGISTER_ROPE_V3": (
            ("0.4.7", "int, ext, int, bool", None),
            ("0.5.2", "int, [ext], int, bool, [int]", None),
            ("0.5.3", "int, [ext], int, bool, [int], [[int]]", None),
        ),
        "CB_UNREGISTER_ROPE_V3": (("0.4.7", "int", None),),
        "CB_RETRIEVE_PRE_COMPUTED_V3": (
            ("0.4.7", f"{_OLD_KEY}, [CBMatchResult], [int], int, bytes", _STORED),
            ("0.5.0", f"{_KEY}, [CBMatchResult], [int], int, bytes", _STORED),
            ("0.5.2", f"{_KEY}, [CBMatchResult], [[int]], int, bytes", _STORED),
        ),
        "CB_REGISTER_ROPE": (
            ("0.5.5", "int, [ext], int, bool, [int], [[int]]", None),
            ("0.5.6", "int, [ext], int, bool, [int], [[int]], [int], str", None),
        ),
        "CB_UNREGISTER_ROPE": (("0.5.5", "int", None),),
        "CB_UNIFIED_LOOKUP": (
            ("0.4.7", f"{_OLD_KEY}, int", "CBUnifiedLookupResult?"),
            ("0.5.0", f"{_KEY}, int", "CBUnifiedLookupResult?"),
        ),
        "CB_REORDER_PLAN": (("0.5.6", f"{_KEY}, int, int", "[int]"),),
        "CB_PROTOCOL_HANDSHAKE": (("0.5.5", "int", "(int, bool)"),),
        "P2P_LOOKUP_AND_LOCK": (
            ("0.5.0", "[ObjectKey], MemoryLayoutDesc", "int"),
            ("0.5.3", "[ObjectKey], {int: MemoryLayoutDesc}", "int"),
        ),
        "P2P_QUERY_LOOKUP_RESULTS": (("0.5.0", "int", "[TransferChannelAddress]?"),),
        "P2P_UNLOCK_OBJECTS": (("0.5.0", "[ObjectKey]", None),),
        "GET_EXPERIMENTAL": (("0.5.3", "", "[str]"),),
        "SUBSCRIBE_KV_EVENTS": (("0.5.6", "int, str, int, int", "KVEventBatch"),),
        "SERVER_MODULE_CALL": (("0.5.6", "ServerModuleCallRequest", "ServerModuleCallResponse"),),
    }.items()
}


@dataclass(frozen=True)
class Operation:
    """One operation of one release."""

    name: str
    """Upstream's name in capitals."""
    number: OperationNumber
    """What its frame holds, as lmcache's own client writes it."""
    payloads: tuple[Type, ...]
    result: Type | None
    """None where the reply has no third frame."""

    @property
    def meaning(self) -> str:
        """The newest name of the same operation."""
        return RENAMED.get(self.name, self.name)


class UnknownOperationError(WireError):
    """A release has no operation of this name or number."""


@dataclass(frozen=True)
class OperationTable:
    """All operations of one release, in the order of their numbers."""

    release: Release
    operations: tuple[Operation, ...]
    accepts_names: bool
    """Whether the name in lower case is accepted in place of the number."""

    def named(self, name: str) -> Operation:
        """The operation with a name in capitals.

        Raises:
            UnknownOperationError: the release does not have it.
        """
        for operation in self.operations:
            if operation.name == name:
                return operation
        raise UnknownOperationError(f"lmcache {self.release} has no operation {name}")

    def name_of(self, meaning: str) -> str:
        """The release's own name of an operation, given by its newest name; that one where the release does not have it."""
        return next((operation.name for operation in self.operations if operation.meaning == meaning), meaning)

    def numbered(self, number: object) -> Operation:
        """The operation that a server of this release executes for what stands in the frame.

        Raises:
            UnknownOperationError: none, as for a boolean or another value that no operation has.
        """
        found = self._by_number.get((type(number), number)) if isinstance(number, int | str) else None
        if found is not None:
            return found
        raise UnknownOperationError(f"lmcache {self.release} has no operation {shown(number)}")

    @functools.cached_property
    def _by_number(self) -> dict[tuple[type, int | str], Operation]:
        """Operations by what their frames may hold, and its type, since True is no number."""
        found: dict[tuple[type, int | str], Operation] = {}
        for operation in self.operations:
            found.setdefault((type(operation.number), operation.number), operation)
            if self.accepts_names:
                found.setdefault((str, operation.name.lower()), operation)
        return found

    def __contains__(self, name: object) -> bool:
        return any(operation.name == name for operation in self.operations)


def types_of(text: str) -> tuple[Type, ...]:
    """The types in a text that separates them by commas."""
    parts: list[str] = []
    depth = 0
    for character in text:
        depth += (character in "[({") - (character in "])}")
        if (character == "," and depth == 0) or not parts:
            parts.append("")
        if character != "," or depth:
            parts[-1] += character
    return tuple(parse_type(part.strip()) for part in parts if part.strip())


@functools.lru_cache(maxsize=64)
def operation_table(release: Release) -> OperationTable:
    """The operations of a release; one newer than every row gets the newest rows.

    Raises:
        UnknownReleaseError: the release is older than the protocol.
    """
    found = []
    numbered: list[tuple[str, OperationNumber]] = [(name, index) for index, name in enumerate(ORDERS[release], 1)]
    numbered += [(name, name.lower()) for name in TEXT_OPERATIONS[release]]
    for name, number in numbered:
        if name not in RETIRED[release]:
            payloads, result = _SIGNATURES[name][release]
            found.append(Operation(name, number, types_of(payloads), parse_type(result) if result is not None else None))
    return OperationTable(release, tuple(found), TEXT_ACCEPTED[release])
