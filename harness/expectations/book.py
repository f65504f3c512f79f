"""A list of known failures for one run: which entry a case belongs to, and what becomes of how the case ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from typing import Final

from harness.expectations.entry import EXPECTABLE, Entry, names_of_this_machine, today_in_utc
from harness.expectations.file import ExpectationsFile
from harness.patterns import literal_start, matches
from reports.expectation import Listed, ListFile, Standing
from reports.plain import clip
from reports.record import CaseRecord
from reports.verdict import Verdict
from reports.words import listing
from wire.release import Release

_WILD: Final = frozenset("*?")
_NAMED: Final = 10
"""Entries or patterns that one message names."""


@dataclass(frozen=True)
class Execution:
    """An execution of a case, as far as a list can tell it from others."""

    id: str
    name: str
    """Topic and case."""
    release: Release
    target: str


@dataclass
class Book:
    """The entries that hold on this machine, ready to be looked up."""

    file: ExpectationsFile
    today: date = field(default_factory=today_in_utc)
    machine: frozenset[str] = field(default_factory=names_of_this_machine)
    _plain: dict[str, list[Entry]] = field(default_factory=dict)
    _wild: list[tuple[str, str, Entry]] = field(default_factory=list)
    _near: dict[str, list[tuple[str, Entry]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.here:
            for pattern in entry.cases:
                if _WILD.isdisjoint(pattern):
                    self._plain.setdefault(pattern, []).append(entry)
                else:
                    self._wild.append((pattern, literal_start(pattern), entry))

    @property
    def here(self) -> list[Entry]:
        """The entries whose condition on the platform this machine fulfils."""
        return [entry for entry in self.file.entries if entry.means_machine(self.machine)]

    @property
    def about(self) -> ListFile:
        """What the header of the results says of it."""
        return ListFile(str(self.file.path), self.file.sha256, len(self.file.entries))

    def uses(self, execution: Execution) -> Iterator[tuple[str, Entry]]:
        """Every pattern, with its entry, that means the execution."""
        for name in (execution.id, execution.name):
            for entry in self._plain.get(name, ()):
                if entry.means(execution.release, execution.target):
                    yield name, entry
        for pattern, entry in self._wild_near(execution.name):
            if matches(pattern, execution.id) and entry.means(execution.release, execution.target):
                yield pattern, entry

    def judged(self, record: CaseRecord) -> CaseRecord:
        """The record with what the list makes of it."""
        if record.verdict not in _JUDGED or record.expectation is not None:
            return record
        execution = Execution(record.id, record.name, _release(record.release), record.target)
        entries = {entry.number: entry for _, entry in self.uses(execution)}
        if not entries:
            return record
        return _held_against(record, [entries[number] for number in sorted(entries)], self.file.path.name, self.today)

    def faults(
        self,
        selection: Iterable[Execution],
        exists: Callable[[str, Entry], bool] | None,
        listed: str = "'lmconform list --ids' shows what there is",
    ) -> list[str]:
        """What is wrong with the list for a selection of cases: overlapping entries, and patterns without a case.

        ``exists`` says whether a pattern of an entry means any case at all, also one that is not selected; None where that
        is not to be looked for. ``listed`` says where the cases can be seen.
        """
        used: set[tuple[str, int]] = set()
        shared: dict[tuple[int, ...], list[str]] = {}
        for execution in selection:
            numbers = set()
            for pattern, entry in self.uses(execution):
                used.add((pattern, entry.number))
                numbers.add(entry.number)
            if len(numbers) > 1:
                shared.setdefault(tuple(sorted(numbers)), []).append(execution.id)
        path = self.file.path
        said = [
            f"{path}: entries {listing(numbers)} both list {ids[0]}{f' and {len(ids) - 1} more' if ids[1:] else ''}; "
            "a case belongs to one entry, so narrow a pattern or add a condition"
            for numbers, ids in shared.items()
        ]
        if exists is not None:
            said += [
                f"{path}: entry {entry.number}, cases: {pattern!r} matches no case{_under(entry)}; {listed}"
                for entry in self.file.entries
                for pattern in entry.cases
                if (pattern, entry.number) not in used and not exists(pattern, entry)
            ]
        return [*said[:_NAMED], f"{path}: and {len(said) - _NAMED} more"] if len(said) > _NAMED else said

    def _wild_near(self, name: str) -> list[tuple[str, Entry]]:
        if name not in self._near:
            start = f"{name}["
            self._near[name] = [
                (pattern, entry)
                for pattern, literal, entry in self._wild
                if start.startswith(literal) or literal.startswith(start)
            ]
        return self._near[name]


def _under(entry: Entry) -> str:
    conditions = []
    if entry.releases:
        conditions.append(f"releases {listing(entry.releases)}")
    if entry.targets:
        conditions.append(f"targets {listing(entry.targets)}")
    return f" under its conditions ({'; '.join(conditions)})" if conditions else ""


@lru_cache(maxsize=256)
def _release(text: str) -> Release:
    return Release.parse(text)


_JUDGED: Final = frozenset({Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SHORTFALL, *EXPECTABLE})
"""What a list has a say in; that mock, harness or environment failed stays as it is."""


def _held_against(record: CaseRecord, entries: Sequence[Entry], file: str, today: date) -> CaseRecord:
    entry, *others = entries
    standing = Standing.LISTED_TWICE if others else _standing(record, entry, today)
    verdict, diagnosis = _VERDICTS.get((standing, record.verdict), record.verdict), record.diagnosis
    if verdict is Verdict.KNOWN_FAILURE and diagnosis is not None:
        diagnosis = replace(diagnosis, conversation=None)  # a list may name thousands, and whoever repairs one runs it alone
    return replace(
        record,
        verdict=verdict,
        diagnosis=diagnosis,
        reason=_wording(standing, record, entries, file),
        expectation=Listed(
            entry=entry.number,
            outcome=entry.outcome,
            standing=standing,
            ended=record.verdict,
            reason=entry.reason,
            expires=entry.expires.isoformat(),
            issue=entry.issue,
            error=entry.error,
        ),
    )


def _standing(record: CaseRecord, entry: Entry, today: date) -> Standing:
    if entry.expired(today):
        return Standing.EXPIRED
    if record.verdict is Verdict.UNSUPPORTED:
        return Standing.UNSUPPORTED
    if record.verdict is Verdict.PASS:
        return Standing.AS_LISTED if entry.outcome == "flaky" else Standing.PASSED
    if record.not_run:  # how it would have failed is not known; which cases a failing client is spared differs from run to run
        return Standing.AS_LISTED if record.verdict in entry.verdicts else Standing.OTHER_ERROR
    summary = record.diagnosis.summary if record.diagnosis else ""
    return Standing.AS_LISTED if entry.allows(record.verdict, summary) else Standing.OTHER_ERROR


_VERDICTS: Final[Mapping[tuple[Standing, Verdict], Verdict]] = {
    **{(Standing.AS_LISTED, verdict): Verdict.KNOWN_FAILURE for verdict in (*EXPECTABLE, Verdict.SHORTFALL)},
    (Standing.PASSED, Verdict.PASS): Verdict.UNEXPECTED_PASS,
    (Standing.UNSUPPORTED, Verdict.UNSUPPORTED): Verdict.UNEXPECTED_PASS,
    (Standing.EXPIRED, Verdict.PASS): Verdict.UNEXPECTED_PASS,
    (Standing.EXPIRED, Verdict.UNSUPPORTED): Verdict.UNEXPECTED_PASS,
    (Standing.LISTED_TWICE, Verdict.PASS): Verdict.UNEXPECTED_PASS,
    (Standing.LISTED_TWICE, Verdict.UNSUPPORTED): Verdict.UNEXPECTED_PASS,
}
"""Every other verdict stays: with another error, or under an expired entry, a failure is one as if it were not listed."""


def _wording(standing: Standing, record: CaseRecord, entries: Sequence[Entry], file: str) -> str:
    entry = entries[0]
    known = f"{entry.reason} ({', '.join(filter(None, (entry.issue, f'until {entry.expires}')))})"
    place = f"entry {entry.number} of {file}"
    match standing:
        case Standing.AS_LISTED:
            return f"flaky: {known}" if entry.outcome == "flaky" else known
        case Standing.PASSED:
            return f"passes, but {place} says that it fails: {known}; if it is repaired, remove the case from the entry"
        case Standing.UNSUPPORTED:
            lacks = f"{record.operation or 'what it needs'} is unsupported ({clip(record.reason or 'not declared', 200)})"
            return f"{lacks}, so it cannot fail as {place} says: {known}; remove the case from the entry"
        case Standing.EXPIRED:
            remedy = "repair the client" if record.verdict in EXPECTABLE else "remove the case from the entry"
            return f"{place} expired on {entry.expires}: {entry.reason}; {remedy}, or renew the entry"
        case Standing.LISTED_TWICE:
            return f"entries {listing(one.number for one in entries)} of {file} both list the case; narrow one of them"
        case Standing.OTHER_ERROR:
            kinds = listing(entry.verdicts)
            said = f" with {entry.error!r}" if entry.error is not None else ""
            return f"{place} expects {kinds}{said}: {known}; this failure is another one"
