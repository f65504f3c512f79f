"""All that one capture of the multiprocess protocol shows about its release; of ``wire`` only names that upstream changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from fixturegen.corpus import Corpus
from reports.drift.observe.evidence import Evidence
from wire.mp.operations import RENAMED, types_of
from wire.mp.types import Array, Map, Named, Optional, Tuple, Type, parse_type

TABLE_ID: Final = "mp.operations"
RECORDS_ID: Final = "mp.records"


@dataclass(frozen=True)
class Listed:
    """One operation as the captured table has it."""

    name: str
    wire: int | str
    payloads: tuple[Type, ...]
    response: Type | None
    handler: str | None

    @property
    def signature(self) -> str:
        """Payloads and result on one line."""
        result = "" if self.response is None else f" -> {self.response}"
        return f"({', '.join(map(str, self.payloads))}){result}"


@dataclass(frozen=True)
class Member:
    """One field of a record; ``default`` is None for a required one."""

    name: str
    type: str
    required: bool
    default: Any


@dataclass(frozen=True, eq=False)
class MpObserved:
    """A capture of the multiprocess protocol."""

    evidence: Evidence

    @property
    def release(self) -> str:
        """The release that was captured."""
        return self.evidence.release

    @cached_property
    def operations(self) -> Mapping[str, Listed]:
        """Every operation by its name."""
        return {
            entry["name"]: Listed(
                entry["name"],
                entry["wire"],
                tuple(type_ for text in entry["payloads"] for type_ in types_of(text)),
                None if entry["response"] is None else parse_type(entry["response"]),
                entry.get("handler"),
            )
            for entry in self._table["operations"]
        }

    @cached_property
    def by_number(self) -> Mapping[int | str, Listed]:
        """Every operation by what stands in its frame."""
        return {operation.wire: operation for operation in self.operations.values()}

    @property
    def aliases(self) -> Mapping[str, str]:
        """Old names of members of the enumeration: to the new ones."""
        return {**RENAMED, **self._table.get("aliases", {})}

    @property
    def retired(self) -> Sequence[int]:
        """Numbers that stand for nothing any more."""
        found: Sequence[int] = self._table.get("retired", [])
        return found

    @cached_property
    def records(self) -> Mapping[str, Mapping[str, Member]]:
        """Records by name, their fields by name."""
        return {
            name: {
                entry["field"]: Member(entry["field"], entry["type"], bool(entry.get("required")), entry.get("default"))
                for entry in entries
            }
            for name, entries in self._described("records").items()
        }

    @cached_property
    def enumerations(self) -> Mapping[str, Sequence[str]]:
        """Enumerations by name."""
        return self._described("enumerations")

    @cached_property
    def maps(self) -> Mapping[str, Mapping[str, str]]:
        """Maps whose members may all be missing: members with their types."""
        return {name: {entry["field"]: entry["type"] for entry in entries} for name, entries in self._described("maps").items()}

    @property
    def _table(self) -> Mapping[str, Any]:
        return next((ok for _, ok in self.evidence.answered("mp_operations")), {"operations": []})

    def _described(self, what: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = next((ok for _, ok in self.evidence.answered("mp_records")), {}).get(what, {})
        return found


def observe_mp(corpus: Corpus) -> MpObserved:
    """What a capture of the multiprocess protocol shows."""
    return MpObserved(Evidence(corpus))


@dataclass(frozen=True)
class Twins:
    """The same operation in two releases, whatever its name."""

    old: Listed
    new: Listed

    @property
    def name(self) -> str:
        """Its name, or both."""
        return self.new.name if self.old.name == self.new.name else f"{self.old.name}, now {self.new.name}"


def twins(old: MpObserved, new: MpObserved) -> list[Twins]:
    """Operations that both releases have, in the order of the newer one."""
    found = []
    former = {new.aliases.get(name, name): operation for name, operation in old.operations.items()}
    former.update(old.operations)
    for name, operation in new.operations.items():
        before = former.get(name)
        if before is not None:
            found.append(Twins(before, operation))
    return found


def names_in(type_: Type) -> Iterator[str]:
    """Records, maps and enumerations that a type names itself."""
    match type_:
        case Optional(inner) | Array(inner):
            yield from names_in(inner)
        case Tuple(elements):
            for element in elements:
                yield from names_in(element)
        case Map(key, member):
            yield from names_in(key)
            yield from names_in(member)
        case Named(name):
            yield name


def record_twins(old: MpObserved, new: MpObserved) -> Mapping[str, str]:
    """Records, maps and enumerations: names in the older release to those in the same places of the newer one."""
    found: dict[str, str] = {}
    for pair in twins(old, new):
        if len(pair.old.payloads) == len(pair.new.payloads):
            for before, after in zip(pair.old.payloads, pair.new.payloads, strict=True):
                _pair_names(before, after, found)
        if pair.old.response is not None and pair.new.response is not None:
            _pair_names(pair.old.response, pair.new.response, found)
    known = {**new.records, **new.maps, **new.enumerations}
    for name in (*old.records, *old.maps, *old.enumerations):
        if name in known:
            found.setdefault(name, name)
    return found


def _pair_names(before: Type, after: Type, found: dict[str, str]) -> None:
    one, other = list(names_in(before)), list(names_in(after))
    if str(_without_names(before)) == str(_without_names(after)) and len(one) == len(other):
        for name, successor in zip(one, other, strict=True):
            found.setdefault(name, successor)


def _without_names(type_: Type) -> Type:
    match type_:
        case Optional(inner):
            return Optional(_without_names(inner))
        case Array(inner):
            return Array(_without_names(inner))
        case Tuple(elements):
            return Tuple(tuple(_without_names(element) for element in elements))
        case Map(key, member):
            return Map(_without_names(key), _without_names(member))
        case Named():
            return Named("record")
    return type_


def with_names(type_: Type, renamed: Mapping[str, str]) -> Type:
    """A type with the names that its records have in the newer release."""
    match type_:
        case Optional(inner):
            return Optional(with_names(inner, renamed))
        case Array(inner):
            return Array(with_names(inner, renamed))
        case Tuple(elements):
            return Tuple(tuple(with_names(element, renamed) for element in elements))
        case Map(key, member):
            return Map(with_names(key, renamed), with_names(member, renamed))
        case Named(name):
            return Named(renamed.get(name, name))
    return type_
