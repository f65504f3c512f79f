"""How a release speaks: its operation table and all that decides whether it reads a payload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from fixturegen.vector import content_hash
from reports.collisions.effects import READERS_WANTED, REPLY_KILLS, UNKNOWN_KILLS, WRAPPER_FORMS
from wire.mp.frames import COERCED
from wire.mp.operations import TEXT_ACCEPTED, Operation, OperationTable, types_of
from wire.mp.records import ENUMERATIONS, MAPS, RECORDS
from wire.mp.types import Array, Map, Named, Optional, Scalar, Tuple, Type, parse_type
from wire.release import RangeTable, Release

_RULES: Final[Sequence[RangeTable[Any]]] = (COERCED, UNKNOWN_KILLS, REPLY_KILLS, WRAPPER_FORMS, READERS_WANTED)


@dataclass(frozen=True)
class Dialect:
    """One release as a client and as a server."""

    table: OperationTable

    @classmethod
    def of(cls, table: OperationTable) -> Dialect:
        """The dialect of a table; a record that nobody knows yet may be any map."""
        operations = (
            replace(
                operation,
                payloads=tuple(map(_known, operation.payloads)),
                result=None if operation.result is None else _known(operation.result),
            )
            for operation in table.operations
        )
        return cls(replace(table, operations=tuple(operations)))

    @property
    def release(self) -> Release:
        """The release."""
        return self.table.release

    @cached_property
    def seal(self) -> str:
        """Equal for releases of which no request of anybody has another outcome."""
        operations = [
            [operation.name, operation.number, [str(type_) for type_ in operation.payloads], str(operation.result)]
            for operation in self.table.operations
        ]
        names = sorted({name for operation in self.table.operations for name in _names(self.release, operation)})
        records = [[name, _described(self.release, name)] for name in names]
        rules = [rule[self.release] for rule in _RULES]
        return content_hash([operations, records, rules, self.table.accepts_names])


def table_of(release: Release, answer: Mapping[str, Any]) -> OperationTable:
    """The operation table in the captured answer of ``mp_operations``.

    Raises:
        ValueError: a type is none of :mod:`wire.mp.types`.
    """
    found = [
        Operation(
            entry["name"],
            entry["wire"],
            tuple(type_ for text in entry["payloads"] for type_ in types_of(text)),
            None if entry["response"] is None else parse_type(entry["response"]),
        )
        for entry in answer["operations"]
    ]
    return OperationTable(release, tuple(found), TEXT_ACCEPTED[release])


def _known(type_: Type) -> Type:
    """A type with maps in place of records that nobody knows."""
    match type_:
        case Optional(inner):
            return Optional(_known(inner))
        case Array(inner):
            return Array(_known(inner))
        case Tuple(elements):
            return Tuple(tuple(map(_known, elements)))
        case Map(key, member):
            return Map(_known(key), _known(member))
        case Named(name) if name not in (*RECORDS, *ENUMERATIONS, *MAPS):
            return Scalar("map")
    return type_


def generations(dialects: Sequence[Dialect]) -> list[list[Dialect]]:
    """Releases that speak alike together, oldest first."""
    found: dict[str, list[Dialect]] = {}
    for dialect in sorted(dialects, key=lambda dialect: dialect.release):
        found.setdefault(dialect.seal, []).append(dialect)
    return list(found.values())


def _names(release: Release, operation: Operation) -> Iterator[str]:
    """Records and enumerations that occur in an operation, and in those records."""
    left = [*operation.payloads, *([] if operation.result is None else [operation.result])]
    while left:
        match left.pop():
            case Optional(inner) | Array(inner):
                left.append(inner)
            case Tuple(elements):
                left += elements
            case Map(key, member):
                left += [key, member]
            case Named(name):
                yield name
                left += [field.type for field in RECORDS[name][release]] if name in RECORDS else []


def _described(release: Release, name: str) -> object:
    if name in ENUMERATIONS:
        return list(ENUMERATIONS[name][release])
    if name not in RECORDS:
        return None
    return [[field.name, str(field.type), field.required] for field in RECORDS[name][release]]
