"""Records: fields that came, went or changed; maps and enumerations likewise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side, Table, worst_of
from reports.drift.mp.observed import RECORDS_ID, Member, MpObserved, names_in, record_twins
from reports.drift.words import value
from reports.words import count, listing


@dataclass(frozen=True)
class Difference:
    """One difference of one field."""

    field: str
    before: str
    after: str
    levels: Levels
    must: str


def compare(old: MpObserved, new: MpObserved) -> Findings:
    """One change for each record that differs."""
    found = Findings(accounted={RECORDS_ID})
    sent, given = _directions(new)
    for name, successor in record_twins(old, new).items():
        differences: list[Difference] = []
        if name in old.records and successor in new.records:
            differences = list(
                _fields(old.records[name], new.records[successor], sent=successor in sent, given=successor in given)
            )
        elif name in old.maps and successor in new.maps:
            differences = list(_members(old.maps[name], new.maps[successor]))
        elif name in old.enumerations and successor in new.enumerations:
            differences = list(_values(old.enumerations[name], new.enumerations[successor]))
        if differences:
            found.changes.append(_change(name, successor, differences, old, new))
        if name != successor:
            found.notes.append(f"{name} is called {successor} now, which the wire does not carry.")
    return found


def differing(old: MpObserved, new: MpObserved) -> set[str]:
    """Names in the newer release of records that have other fields."""
    return {
        successor
        for name, successor in record_twins(old, new).items()
        if old.records.get(name) != new.records.get(successor)
        or old.maps.get(name) != new.maps.get(successor)
        or old.enumerations.get(name) != new.enumerations.get(successor)
    }


def _directions(observed: MpObserved) -> tuple[set[str], set[str]]:
    """Records that clients send, and records that servers give."""
    sent: set[str] = set()
    given: set[str] = set()
    for operation in observed.operations.values():
        for type_ in operation.payloads:
            sent |= set(names_in(type_))
        if operation.response is not None:
            given |= set(names_in(operation.response))
    return sent, given


def _levels(*, sent: bool, given: bool, writers: Level, readers: Level) -> Levels:
    """Levels of a difference that strikes who writes the record, and who reads it: clients write what they send."""
    found = [Levels()]
    if sent:
        found.append(Levels(writers, writers, readers))
    if given:
        found.append(Levels(readers, readers, writers))
    return worst_of(found)


def _fields(before: Mapping[str, Member], after: Mapping[str, Member], *, sent: bool, given: bool) -> Iterator[Difference]:
    for name, member in after.items():
        if name not in before:
            required = member.required
            levels = _levels(
                sent=sent, given=given, writers=Level.BREAKING if required else Level.ADDITIVE, readers=Level.ADDITIVE
            )
            must = (
                f"Write {name}; without it the record is refused."
                if required
                else f"Write {name} where its default is not meant."
            )
            yield Difference(name, "-", _member(member), levels, must)
    for name, member in before.items():
        if name not in after:
            levels = _levels(
                sent=sent, given=given, writers=Level.ADDITIVE, readers=Level.BREAKING if member.required else Level.BEHAVIOURAL
            )
            yield Difference(name, _member(member), "-", levels, f"Do not count on {name}: it is not written any more.")
        elif member != after[name]:
            yield _changed(member, after[name], sent=sent, given=given)


def _changed(before: Member, after: Member, *, sent: bool, given: bool) -> Difference:
    must = f"Write {after.name} as {_member(after)}."
    if before.type != after.type:
        wider = after.type == f"{before.type}?"
        level = Level.ADDITIVE if wider else Level.BREAKING
        levels = _levels(sent=sent, given=given, writers=level, readers=Level.BREAKING)
    elif before.required != after.required:
        levels = _levels(
            sent=sent,
            given=given,
            writers=Level.BREAKING if after.required else Level.ADDITIVE,
            readers=Level.ADDITIVE if after.required else Level.BREAKING,
        )
    else:
        levels = _levels(sent=sent, given=given, writers=Level.BEHAVIOURAL, readers=Level.BEHAVIOURAL)
    return Difference(after.name, _member(before), _member(after), levels, must)


def _member(member: Member) -> str:
    return f"{member.type}, required" if member.required else f"{member.type}, default {value(member.default)}"


def _members(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name), after.get(name)
        if one != other:
            level = Level.ADDITIVE if one is None else Level.BEHAVIOURAL
            yield Difference(name, one or "-", other or "-", Levels.all(level), f"Take note of {name}.")


def _values(before: object, after: object) -> Iterator[Difference]:
    one, other = list(before), list(after)  # type: ignore[call-overload]
    for name in one:
        if name not in other:
            yield Difference(name, "a value", "-", Levels.all(Level.BREAKING), f"Do not write {name}: it is refused.")
    for name in other:
        if name not in one:
            yield Difference(name, "-", "a value", Levels.all(Level.ADDITIVE), f"Be ready to read {name}.")


def _change(name: str, successor: str, differences: list[Difference], old: MpObserved, new: MpObserved) -> Change:
    fields = listing((f"{difference.field} ({_kind(difference)})" for difference in differences), 6)
    return Change(
        Aspect.MP_RECORDS,
        f"{successor}: {fields}",
        worst_of(difference.levels for difference in differences),
        " ".join(difference.must for difference in differences),
        (Example(RECORDS_ID, Side(_listed(old, name)), Side(_listed(new, successor))),),
        table=Table(
            ("field", old.release, new.release),
            tuple((difference.field, difference.before, difference.after) for difference in differences),
        ),
        evidence=len(differences),
    )


def _listed(observed: MpObserved, name: str) -> str:
    for found in (observed.records, observed.maps):
        if name in found:
            return f"{name} of {count(len(found[name]), 'field')}"
    return f"{name}: {', '.join(observed.enumerations[name])}"


def _kind(difference: Difference) -> str:
    if difference.before == "-":
        return "new"
    return "gone" if difference.after == "-" else f"{difference.before} -> {difference.after}"
