"""Patterns and conditions that mean some executions of a case and no other one of the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.patterns import matches
from reports.record import CaseRecord
from wire.release import Release, ReleaseRange


@dataclass(frozen=True)
class Cover:
    """What an entry needs to mean its executions."""

    cases: tuple[str, ...]
    releases: tuple[ReleaseRange, ...] = ()
    targets: tuple[str, ...] = ()

    def means(self, record: CaseRecord) -> bool:
        """Whether it means an execution."""
        release = Release.parse(record.release)
        return (
            (not self.targets or record.target in self.targets)
            and (not self.releases or any(release in among for among in self.releases))
            and any(matches(pattern, record.id) for pattern in self.cases)
        )


@dataclass(frozen=True)
class Extent:
    """The releases that there are, oldest first, and those that the run had."""

    captured: Sequence[Release]
    run: frozenset[Release]

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self.run.issuperset(self.captured)


def covers(name: str, chosen: Sequence[CaseRecord], executed: Sequence[CaseRecord], extent: Extent) -> Iterator[Cover]:
    """As few as possible, in order: by the case alone, by target, by variant, and where nothing else is exact by id.

    ``chosen`` are executions of the case ``name`` out of ``executed``, which are all that the run had of it.
    """
    whole = _by_name(name, chosen, executed, extent)
    if whole is not None:
        yield whole
        return
    targets: dict[str, list[CaseRecord]] = {}
    for record in chosen:
        targets.setdefault(record.target, []).append(record)
    for records in targets.values():
        single = _by_name(name, records, executed, extent)
        if single is not None:
            yield single
        else:
            yield from _by_variant(name, records, executed, extent)


def _by_name(name: str, chosen: Sequence[CaseRecord], executed: Sequence[CaseRecord], extent: Extent) -> Cover | None:
    targets = tuple(dict.fromkeys(record.target for record in chosen))
    everywhere = set(targets) == {record.target for record in executed}
    near = [record for record in executed if record.target in targets]
    found = Cover((name,), _ranges(chosen, near, extent), () if everywhere else targets)
    return found if _exact(found, chosen, executed) else None


def _by_variant(name: str, chosen: Sequence[CaseRecord], executed: Sequence[CaseRecord], extent: Extent) -> Iterator[Cover]:
    variants: dict[str, list[CaseRecord]] = {}
    for record in chosen:
        variants.setdefault(_tail(record), []).append(record)
    alike: dict[tuple[ReleaseRange, ...], dict[str, list[CaseRecord]]] = {}
    for tail, records in variants.items():
        near = [record for record in executed if _tail(record) == tail]
        alike.setdefault(_ranges(records, near, extent), {})[tail] = records
    for ranges, tails in alike.items():
        records = [record for several in tails.values() for record in several]
        found = Cover(tuple(f"{name}[*-{tail}]" for tail in tails), ranges)
        yield found if _exact(found, records, executed) else Cover(tuple(record.id for record in records))


def _tail(record: CaseRecord) -> str:
    return record.target if record.variant is None else f"{record.target}-{record.variant}"


def _exact(found: Cover, chosen: Sequence[CaseRecord], executed: Sequence[CaseRecord]) -> bool:
    return {record.id for record in executed if found.means(record)} == {record.id for record in chosen}


def _ranges(chosen: Sequence[CaseRecord], near: Sequence[CaseRecord], extent: Extent) -> tuple[ReleaseRange, ...]:
    """Ranges that hold the releases of ``chosen`` and no other of ``near``; none where no condition is needed."""
    wanted = {Release.parse(text) for text in {record.release for record in chosen}}
    there = {Release.parse(text) for text in {record.release for record in near}}
    if extent.whole and wanted == there:
        return ()
    ranges: list[list[Release]] = []
    open_end = False
    for release in extent.captured:
        if release in wanted:
            if open_end:
                ranges[-1].append(release)
            else:
                ranges.append([release])
            open_end = True
        elif release in there or release not in extent.run:
            # A release without the case does not end a range, one of which nothing is known does.
            open_end = False
    found = [ReleaseRange(releases[0], releases[-1]) for releases in ranges]
    if open_end and extent.whole:
        found[-1] = ReleaseRange(found[-1].first)
    return tuple(found)
