"""Things in an order that changes with the releases: the fields of records, and the payloads of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, Literal

from fixturegen.corpus import captured_releases, load_corpus
from reports.drift.mp.observed import Member, MpObserved, observe_mp
from reports.pictures.frames import Fate
from reports.pictures.numbering import Numbering
from reports.pictures.releases import runs

Kind = Literal["field", "payload", "result"]

RENAMED_RECORDS: Final[Mapping[str, str]] = {
    "IPCCacheEngineKey": "IPCCacheServerKey",
    "RegisterNonGpuContextPayload": "RegisterEngineDrivenContextPayload",
    "RegisterNonGpuContextResponse": "RegisterEngineDrivenContextResponse",
}
"""Names that upstream changed while the record stayed the same one: old name to new."""


@dataclass(frozen=True)
class Item:
    """One field or payload."""

    name: str
    """Empty for a payload, which has only a place."""
    type: str
    default: str = ""
    """What stands for a missing field; empty for what must be there."""
    fate: Fate = Fate.SAME
    was: str = ""
    """The type or the place that it had in the generation before, where it had another one."""


@dataclass(frozen=True)
class Order:
    """One order of things, and those that are gone since the generation before."""

    releases: tuple[str, ...]
    items: tuple[Item, ...]
    removed: tuple[Item, ...] = ()
    result: Item | None = None
    """What is answered; None for a reply without result, or where nothing is answered at all."""


@dataclass(frozen=True)
class Story:
    """One record or operation through the releases."""

    name: str
    generations: tuple[Order, ...]
    before: tuple[tuple[str, str], ...] = ()
    """Names that it had before, and the last release with each."""


def captures() -> list[MpObserved]:
    """All captures of the multiprocess protocol, oldest first.

    Raises:
        CorpusError: a capture is damaged.
    """
    return [observe_mp(load_corpus(release, protocol="mp")) for release in sorted(captured_releases(protocol="mp"))]


def records(observed: Sequence[MpObserved]) -> list[Story]:
    """Every record, under its newest name; those with most generations first."""
    found: dict[str, list[tuple[str, object]]] = {}
    names: dict[str, dict[str, str]] = {}
    for one in observed:
        for name, members in one.records.items():
            newest = RENAMED_RECORDS.get(name, name)
            items = tuple(Item(member.name, member.type, _default(member)) for member in members.values())
            found.setdefault(newest, []).append((one.release, items))
            names.setdefault(newest, {})[name] = one.release
    stories = [Story(name, _fields(runs(rows)), _earlier(name, names[name])) for name, rows in found.items()]
    return sorted(stories, key=lambda story: (not story.name.startswith("IPCCache"), -len(story.generations), story.name))


def _earlier(newest: str, lasts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, release) for name, release in lasts.items() if name != newest)


def _default(member: Member) -> str:
    if member.required:
        return ""
    empty: list[tuple[object, str]] = [(None, "nil"), ("", '""'), ([], "[]"), ({}, "{}"), ({"hex": ""}, 'b""')]
    for value, word in empty:
        if member.default == value and type(member.default) is type(value):
            return word
    return str(member.default).lower() if isinstance(member.default, bool) else str(member.default)


def _fields(rows: Sequence[tuple[tuple[str, ...], object]]) -> tuple[Order, ...]:
    made: list[Order] = []
    for releases, items in rows:
        assert isinstance(items, tuple)
        made.append(Order(releases, items) if not made else _by_name(releases, made[-1].items, items))
    return tuple(made)


def _by_name(releases: tuple[str, ...], before: tuple[Item, ...], after: tuple[Item, ...]) -> Order:
    """Fields are the same by name; of those that stay, the ones that others overtook have moved."""
    old = {item.name: item for item in before}
    names = [item.name for item in after if item.name in old]
    kept = _longest_kept([item.name for item in before if item.name in names], names)
    items = tuple(_fated(item, old.get(item.name), moved=item.name in names and item.name not in kept) for item in after)
    gone = tuple(replace(item, fate=Fate.REMOVED) for item in before if item.name not in names)
    return Order(releases, items, gone)


def _longest_kept(before: Sequence[str], after: Sequence[str]) -> set[str]:
    blocks = SequenceMatcher(a=before, b=after, autojunk=False).get_matching_blocks()
    return {before[block.a + index] for block in blocks for index in range(block.size)}


def _fated(item: Item, old: Item | None, *, moved: bool) -> Item:
    if old is None:
        return replace(item, fate=Fate.ADDED)
    if (old.type, old.default) != (item.type, item.default):
        return replace(item, fate=Fate.RESIZED, was=_full(old))
    return replace(item, fate=Fate.MOVED) if moved else item


def _full(item: Item) -> str:
    return f"{item.type} = {item.default}" if item.default else item.type


def signatures(observed: Sequence[MpObserved], numbers: Numbering) -> list[Story]:
    """Payloads and results of every operation, in the order of the map of numbers; records go by their newest names."""
    by_release = {one.release: one for one in observed}
    stories = []
    for row in numbers.rows:
        rows: list[tuple[str, object]] = []
        for release, cell in row.cells.items():
            operation = by_release[release].operations.get(cell.name)
            if operation is not None and not cell.retired:
                result = None if operation.response is None else _newest(str(operation.response))
                rows.append((release, (tuple(_newest(str(type_)) for type_ in operation.payloads), result)))
        lasts = {cell.name: release for release, cell in row.cells.items()}
        stories.append(Story(row.name, _payloads(runs(rows)), _earlier(row.name.partition(",")[0], lasts)))
    return stories


def _payloads(rows: Sequence[tuple[tuple[str, ...], object]]) -> tuple[Order, ...]:
    made: list[Order] = []
    before: tuple[tuple[str, ...], str | None] | None = None
    for releases, value in rows:
        assert isinstance(value, tuple)
        payloads, result = value
        if before is None:
            items = tuple(Item("", type_) for type_ in payloads)
            made.append(Order(releases, items, result=None if result is None else Item("", result)))
        else:
            items, gone = _aligned(before[0], payloads)
            made.append(Order(releases, items, gone, _result(before[1], result)))
        before = (payloads, result)
    return tuple(made)


def _aligned(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """Payloads are the same by place and type."""
    items: list[Item] = []
    gone: list[Item] = []
    for tag, start, end, first, last in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            items += [Item("", type_) for type_ in after[first:last]]
            continue
        both = min(end - start, last - first)
        pairs = zip(before[start : start + both], after[first : first + both], strict=True)
        items += [Item("", type_, fate=Fate.RESIZED, was=was) for was, type_ in pairs]
        items += [Item("", type_, fate=Fate.ADDED) for type_ in after[first + both : last]]
        gone += [Item("", type_, fate=Fate.REMOVED) for type_ in before[start + both : end]]
    return tuple(items), tuple(gone)


def _newest(type_: str) -> str:
    for old, new in RENAMED_RECORDS.items():
        type_ = type_.replace(old, new)
    return type_


def _result(before: str | None, after: str | None) -> Item | None:
    if after is None:
        return None if before is None else Item("", before, fate=Fate.REMOVED)
    if before is None:
        return Item("", after, fate=Fate.ADDED)
    return Item("", after) if before == after else Item("", after, fate=Fate.RESIZED, was=before)
