"""Records: msgpack maps by field name. Unknown members are ignored, fields with a default may be missing, arrays are refused.

Source: the dataclasses and structs of ``lmcache.v1.multiprocess.custom_types`` and what they refer to, per release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from wire.mp.types import Type, parse_type
from wire.release import RangeTable, Release

REQUIRED: Final = object()
"""The default of a field that must be there."""


@dataclass(frozen=True)
class Field:
    """One member of a record."""

    name: str
    type: Type
    default: Any = REQUIRED
    """What stands for a missing member: nil, a number, a text, ``b""``, ``[]`` or ``{}``; :data:`REQUIRED` for none."""

    @property
    def required(self) -> bool:
        """Whether the member must be there."""
        return self.default is REQUIRED


Record = tuple[Field, ...]


def _field(name: str, type_: str, default: Any = REQUIRED) -> Field:
    return Field(name, parse_type(type_), default)


def _record(fields: str) -> Record:
    """Required fields, written ``name: type`` and separated by semicolons."""
    return tuple(_field(*map(str.strip, field.split(":", 1))) for field in fields.split(";"))


_HASH_KEY: Final = _record("model_name: str; world_size: int; worker_id: int; chunk_hash: bytes")
_TOKEN_KEY: Final = _record(
    "model_name: str; world_size: int; worker_id: int?; token_ids: [int]; start: int; end: int; request_id: str"
)
_EITHER_KEY: Final = (*_TOKEN_KEY, _field("chunk_hash", "bytes?", None))
_SALTED_KEY: Final = (*_TOKEN_KEY, _field("cache_salt", "str", ""))
_COUNTED_KEY: Final = (*_SALTED_KEY, _field("request_configs", "map?", None), _field("num_kv_readers", "int", 0))

_CONTEXT: Final = _record(
    "instance_id: int; model_name: str; world_size: int; block_size: int; num_layers: int; "
    "hidden_dim_size: int; dtype_str: str; use_mla: bool"
)
_POOL: Final = (_field("shm_name", "str", ""), _field("pool_size", "int", 0))
_GROUP: Final = (
    _field("engine_group_id", "int"),
    _field("layer_indices", "[int]", []),
    _field("tokens_per_block", "int", 0),
    _field("sw_size_tokens", "int", -1),
)

_EVENTS: Final = _record("enabled: bool; incarnation: int; next_cursor: int; lost: bool; events: [KVEventRecord]")
_EVENT: Final = _record(
    "seq: int; kind: str; medium: str; model_name: str; block_hashes: [bytes]; parent_block_hash: bytes?; token_ids: [int]"
)

KEY_RECORD: Final = RangeTable("name of the key record", ("0.3.9.post1", "IPCCacheEngineKey"), ("0.5.0", "IPCCacheServerKey"))

RECORDS: Final[dict[str, RangeTable[Record]]] = {
    "IPCCacheEngineKey": RangeTable(
        "IPCCacheEngineKey",
        ("0.3.9.post1", _HASH_KEY),
        ("0.3.13", _record("model_name: str; world_size: int; worker_id: int?; chunk_hash: bytes")),
        ("0.3.14", _EITHER_KEY),
        ("0.4.2", _TOKEN_KEY),
        ("0.4.4", _SALTED_KEY),
    ),
    "IPCCacheServerKey": RangeTable("IPCCacheServerKey", ("0.5.0", _SALTED_KEY), ("0.5.5", _COUNTED_KEY)),
    "RegisterNonGpuContextPayload": RangeTable("RegisterNonGpuContextPayload", ("0.4.6", _CONTEXT)),
    "RegisterNonGpuContextResponse": RangeTable("RegisterNonGpuContextResponse", ("0.4.7", _POOL)),
    "RegisterEngineDrivenContextPayload": RangeTable(
        "RegisterEngineDrivenContextPayload",
        ("0.5.0", _CONTEXT),
        ("0.5.5", (*_CONTEXT, _field("num_physical_slots", "int?", None))),
    ),
    "RegisterEngineDrivenContextResponse": RangeTable("RegisterEngineDrivenContextResponse", ("0.5.0", _POOL)),
    "PrepareStoreResponse": RangeTable("PrepareStoreResponse", ("0.4.6", (_field("context", "map", {}),))),
    "PrepareRetrieveResponse": RangeTable(
        "PrepareRetrieveResponse",
        ("0.4.6", (_field("success", "bool"), _field("data", "bytes", b""), _field("context", "map", {}))),
    ),
    "BlockAllocationRecord": RangeTable(
        "BlockAllocationRecord", ("0.4.3", _record("req_id: str; new_block_ids: [int]; new_token_ids: [int]"))
    ),
    "CBMatchResult": RangeTable(
        "CBMatchResult", ("0.4.1", _record("old_st: int; old_ed: int; cur_st: int; cur_ed: int; hash: bytes"))
    ),
    "CBUnifiedLookupResult": RangeTable(
        "CBUnifiedLookupResult",
        (
            "0.4.7",
            _record("prefix_coverage_tokens: int; non_prefix_segments: [CBMatchResult]"),
        ),
        (
            "0.5.0",
            (
                *_record("prefix_coverage_tokens: int; non_prefix_segments: [CBMatchResult]"),
                _field("segmented_prefix_segments", "[CBMatchResult]", []),
            ),
        ),
    ),
    "EngineGroupInfo": RangeTable(
        "EngineGroupInfo",
        ("0.4.7", _GROUP),
        ("0.5.5", (*_GROUP, _field("extra_object_group_tag", "int", 0), _field("recurrent_state", "bool", False))),
    ),
    "ObjectKey": RangeTable(
        "ObjectKey",
        (
            "0.5.0",
            (
                *_record("chunk_hash: bytes; model_name: str; kv_rank: int"),
                _field("object_group_id", "int", 0),
                _field("cache_salt", "str", ""),
            ),
        ),
    ),
    "MemoryLayoutDesc": RangeTable("MemoryLayoutDesc", ("0.5.0", _record("shapes: [[int]]; dtypes: [str]"))),
    "TransferChannelAddress": RangeTable("TransferChannelAddress", ("0.5.0", _record("offset: int; size: int"))),
    "KVEventBatch": RangeTable("KVEventBatch", ("0.5.6", _EVENTS)),
    "KVEventRecord": RangeTable("KVEventRecord", ("0.5.6", _EVENT)),
    "ServerModuleCallRequest": RangeTable("ServerModuleCallRequest", ("0.5.6", _record("method: str; payload: bytes"))),
    "ServerModuleCallResponse": RangeTable(
        "ServerModuleCallResponse", ("0.5.6", _record("success: bool; payload: bytes; error: str"))
    ),
}
"""Fields of each record, in the order in which lmcache writes them."""

MAPS: Final = ("LayoutHints",)
"""Upstream names that stand for a map in which every member may be missing."""

ENUMERATIONS: Final[dict[str, RangeTable[tuple[str, ...]]]] = {
    "EngineType": RangeTable(
        "EngineType", ("0.4.5", ("vllm", "sglang", "trtllm", "mock")), ("0.5.5", ("vllm", "atom", "sglang", "trtllm", "mock"))
    )
}
"""Values of each enumeration; the wire carries the text."""


def fields_of(release: Release, name: str) -> Record:
    """The fields of a record in a release.

    Raises:
        KeyError: no record has this name.
        UnknownReleaseError: the release does not have it yet.
    """
    return RECORDS[name][release]


def key_record(release: Release, members: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the members that the key record of a release has, in its order.

    Raises:
        KeyError: a field of the record is not among them.
    """
    return {field.name: members[field.name] for field in fields_of(release, KEY_RECORD[release])}
