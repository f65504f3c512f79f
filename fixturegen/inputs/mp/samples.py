"""Values for every type that occurs in the protocol, made from the captured operation table and records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wire.mp.types import Array, Map, Named, Optional, Scalar, Tuple, Type, parse_type

Value = Any
"""A value of the contract: what JSON holds, with objects for records, bytes, wrappers and ranges."""

MODEL: Final = "org/model-8b"
REQUEST: Final = "request-1"
HASH: Final = {"hex": "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"}
SCALARS: Final[Mapping[str, Value]] = {
    "int": 7,
    "bool": True,
    "str": REQUEST,
    "bytes": {"hex": "00ff"},
    "float": 0.5,
    "map": {},
    "any": None,
}
BY_NAME: Final[Mapping[str, Value]] = {
    "model_name": MODEL,
    "world_size": 2,
    "worker_id": 1,
    "token_ids": {"range": [0, 16]},
    "start": 0,
    "end": 16,
    "chunk_hash": HASH,
    "cache_salt": "",
    "request_configs": None,
    "num_kv_readers": 1,
    "dtype_str": "float16",
    "dtypes": ["float16"],
    "shapes": [[2, 4, 16, 8]],
    "shm_name": "lmcache_l1",
    "pool_size": 268435456,
    "context": {
        "slots": [{"offset": 4096, "length": 2048, "shape": [2, 4, 16, 8], "dtype": "float16"}],
        "chunk_indices": [0],
    },
    "kind": "stored",
    "medium": "CPU",
    "parent_block_hash": None,
    "num_physical_slots": None,
}
"""Fields whose sample says more than their type does."""


EXTENSIONS: Final = ("CB_", "P2P_", "REGISTER_Q_", "UNREGISTER_Q_", "STORE_Q", "SUBSCRIBE_KV_EVENTS", "SERVER_MODULE_CALL")
"""Beginnings of the names of operations that only extensions use: they are asked for their usual frames, and no more."""


@dataclass(frozen=True)
class Operation:
    """One row of the captured table."""

    name: str
    wire: int | str
    payloads: Sequence[Type]
    response: Type | None


@dataclass(frozen=True)
class Schema:
    """The captured operation table and records of a release, and a blob of each kind of wrapper."""

    operations: Sequence[Operation]
    records: Mapping[str, Sequence[Mapping[str, Any]]]
    maps: Mapping[str, Sequence[Mapping[str, Any]]]
    enumerations: Mapping[str, Sequence[str]]
    blobs: Sequence[Value]

    @classmethod
    def of(cls, outcomes: Mapping[str, Mapping[str, Any]]) -> Schema:
        """From the outcomes of the first step."""
        rows, named = outcomes["mp.operations"]["ok"]["operations"], outcomes["mp.records"]["ok"]
        operations = [
            Operation(
                row["name"],
                row["wire"],
                [parse_type(text) for text in row["payloads"]],
                None if row["response"] is None else parse_type(row["response"]),
            )
            for row in rows
        ]
        blobs = [
            {"ext": 1, "data": outcome["ok"]["bytes"]}
            for name, outcome in outcomes.items()
            if name.startswith("mp.registration.encode.") and name.endswith(".plain") and "ok" in outcome
        ]
        return cls(operations, named["records"], named["maps"], named["enumerations"], blobs)

    @property
    def everyday(self) -> Sequence[Operation]:
        """The operations of stores, lookups, retrieves and control, without those of extensions (blend, peers, queries)."""
        return [one for one in self.operations if not one.name.startswith(EXTENSIONS) and one.name not in EXTENSIONS]

    def operation(self, name: str) -> Operation | None:
        """A row by its name, or None."""
        return next((operation for operation in self.operations if operation.name == name), None)

    @property
    def key_record(self) -> str:
        """The name of the key record."""
        return next(name for name in self.records if name.startswith("IPCCache"))

    def key(self, **changes: Value) -> Value:
        """A key record with other values; fields that the release lacks are left out."""
        fields = [field["field"] for field in self.records[self.key_record]]
        made = self.sample(Named(self.key_record))
        return {**made, **{name: value for name, value in changes.items() if name in fields}}

    def has_key_field(self, name: str) -> bool:
        """Whether the key record has a field."""
        return any(field["field"] == name for field in self.records[self.key_record])

    def sample(self, kind: Type, name: str | None = None) -> Value:
        """A usual value of a type; ``name`` is the field that holds it."""
        if name is not None and name in BY_NAME:
            return BY_NAME[name]
        match kind:
            case Optional(inner):
                return self.sample(inner)
            case Array(element):
                return [self.sample(element)]
            case Tuple(elements):
                return [self.sample(element) for element in elements]
            case Map(_, value):
                return {"0": self.sample(value)}
            case Scalar("ext"):
                return min(self.blobs, key=lambda blob: len(blob["data"]["hex"]))
            case Scalar(word):
                return SCALARS[word]
            case Named(word):
                return self._named(word)

    def sample_of(self, field: Mapping[str, Any]) -> Value:
        """A usual value of a field of a record or map."""
        if "values" in field:
            return field["values"][0]
        return self.sample(parse_type(field["type"]), field["field"])

    def payloads(self, operation: Operation) -> list[Value]:
        """Usual payloads of an operation."""
        return [self.sample(kind) for kind in operation.payloads]

    def _named(self, name: str) -> Value:
        if name in self.enumerations:
            return self.enumerations[name][0]
        if name in self.maps:
            return {}
        fields = self.records[name]
        made = {field["field"]: self.sample_of(field) for field in fields}
        if name == self.key_record and "token_ids" in made and "chunk_hash" in made:
            made["chunk_hash"] = None
        return made
