"""Payloads as a client sends them, made from their types: plain ones, and odd ones that a client may send as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.msgpack import Ext

from reports.collisions.effects import WRAPPER_FORMS
from wire.mp.records import ENUMERATIONS, MAPS, RECORDS, Field
from wire.mp.types import Array, Map, Named, Optional, Scalar, Tuple, Type
from wire.mp.values import WRAPPER_EXTENSION, Value
from wire.release import Release

TOKENS: Final = tuple(range(1, 33))
"""Two chunks of 16."""
FIELDS: Final[Mapping[str, Value]] = {
    "model_name": "org/model",
    "world_size": 1,
    "worker_id": 0,
    "chunk_hash": bytes(range(32)),
    "token_ids": list(TOKENS),
    "start": 0,
    "end": len(TOKENS),
    "request_id": "cmpl-7f3a",
    "cache_salt": "",
    "request_configs": None,
    "num_kv_readers": 1,
}
"""What fields of the key record hold; fields of other records hold what their types say."""


WORKERLESS: Final = "a key without a worker"


@dataclass(frozen=True)
class Sample:
    """The payloads of one request, or one result."""

    values: Sequence[Value]
    odd: str = ""
    """In what it is odd; empty where engines send it day by day."""


def payload_samples(release: Release, types: Sequence[Type], *, lookup: bool = False) -> list[Sample]:
    """Plain payloads first, then others that differ from them in one place; lookups are sent without a worker day by day."""
    plain = [value_of(release, type_) for type_ in types]
    found = [Sample(plain)]
    for index, type_ in enumerate(types):
        for value, odd in variants(release, type_):
            found.append(Sample([*plain[:index], value, *plain[index + 1 :]], "" if lookup and odd == WORKERLESS else odd))
    return found


def result_samples(release: Release, type_: Type | None) -> list[Value]:
    """Results of a type; nil alone where there is none."""
    if type_ is None:
        return [None]
    return [value_of(release, type_), *(value for value, _ in variants(release, type_))]


def value_of(release: Release, type_: Type) -> Value:
    """A plain value of a type."""
    match type_:
        case Optional(inner):
            return value_of(release, inner)
        case Array(element):
            return [value_of(release, element)]
        case Tuple(elements):
            return [value_of(release, element) for element in elements]
        case Map(key, member):
            return {value_of(release, key): value_of(release, member)}
        case Named(name):
            return _named(release, name)
        case Scalar("ext"):
            return Ext(WRAPPER_EXTENSION, wrapper(release))
        case Scalar(name):
            return _SCALARS[name]


_SCALARS: Final[Mapping[str, Value]] = {
    "int": 7, "bool": True, "str": "cmpl-7f3a", "bytes": bytes(64), "float": 5.0, "map": {}, "any": None,
}  # fmt: skip


def wrapper(release: Release) -> bytes:
    """What stands for the blob of a KV tensor: the words for its form."""
    return WRAPPER_FORMS[release].encode()


def _named(release: Release, name: str) -> Value:
    if name in ENUMERATIONS:
        return ENUMERATIONS[name][release][0]
    if name in MAPS or name not in RECORDS:
        return {}
    return {field.name: _field(release, field) for field in RECORDS[name][release]}


def _field(release: Release, field: Field) -> Any:
    if field.name == "chunk_hash" and isinstance(field.type, Optional):
        return None  # a record that may have tokens has them
    return FIELDS[field.name] if field.name in FIELDS else value_of(release, field.type)


def variants(release: Release, type_: Type) -> Iterator[tuple[Value, str]]:
    """Other values of a type, and in what they are odd; nothing for those that are sent day by day."""
    match type_:
        case Optional():
            yield None, ""
        case Array(element):
            yield [], f"an empty array of {element}"
            yield from (([value], odd) for value, odd in variants(release, element))
        case Scalar("str"):
            yield "17", "a request id of digits alone"
        case Scalar("bytes"):
            yield b"", ""
        case Scalar("bool"):
            yield False, ""
        case Named(name) if _has_optional_worker(release, name):
            yield {**_named(release, name), "worker_id": None}, WORKERLESS


def _has_optional_worker(release: Release, name: str) -> bool:
    fields = RECORDS[name][release] if name in RECORDS else ()
    return any(field.name == "worker_id" and isinstance(field.type, Optional) for field in fields)
