"""Counts of a run by topic and column, and its failures and refusals in groups: what summaries are made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reports.expectation import OUT_OF_DATE, Standing
from reports.plain import clip
from reports.record import CaseRecord
from reports.side import Side
from reports.verdict import OUTCOMES, SKIPPED, Outcome, Verdict

_ANSWERED: Final = "; the client answered error "
_NUMBERS: Final = re.compile(r"0x[0-9a-fA-F]+|\d+")

Cell = tuple[tuple[Outcome, int], ...]
"""Counts by outcome, in the order of :class:`Outcome`, zeros left out."""

LETTERS: Final = {Outcome.PASSED: "p", Outcome.FAILED: "F", Outcome.ERROR: "E", Outcome.SKIPPED: "s"}
_MEANINGS: Final = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERROR: "harness or environment",
    Outcome.SKIPPED: "skipped: unsupported or known",
}
_STANDINGS: Final = {
    Standing.OTHER_ERROR: "fails with another error",
    Standing.PASSED: "passes",
    Standing.UNSUPPORTED: "is unsupported",
    Standing.EXPIRED: "expired on {expires}",
    Standing.LISTED_TWICE: "lists what another entry lists",
}
_REASONS: Final = 3
"""Reasons for which cases of one subject were skipped, as far as they are told."""


@dataclass(frozen=True)
class Column:
    """One target with the neighbouring releases on which every topic ended alike; counts hold for each of them."""

    target: str
    releases: tuple[str, ...]
    cells: Mapping[str, Cell]
    """By topic; a topic without a case here is absent."""


@dataclass(frozen=True)
class Matrix:
    """Topics against releases and targets."""

    topics: tuple[str, ...]
    columns: tuple[Column, ...]
    of_servers: tuple[str, ...] = ()
    """Topics in which no client takes part, in a run that judges one."""
    shortfalls: bool = False
    """Some of what was skipped falls short of a SHOULD."""

    @property
    def legend(self) -> str:
        """What the letters in it mean, as a sentence without its full stop."""
        used = {outcome for column in self.columns for cell in column.cells.values() for outcome, _ in cell}
        letters = ", ".join(f"{LETTERS[outcome]} {_MEANINGS[outcome]}" for outcome in Outcome if outcome in used)
        parts = [letters + (", or short of a SHOULD" if self.shortfalls else "")]
        if any(len(column.releases) > 1 for column in self.columns):
            parts.append("where releases share a column, counts hold for each of them")
        if self.of_servers:
            parts.append(f"cases of {' and '.join(self.of_servers)} hold the server to what was captured, no client takes part")
        return "; ".join(parts)


def matrix(cases: Sequence[CaseRecord], releases: Sequence[str] = (), side: Side = "client") -> Matrix:
    """The matrix of a run; columns by target, then in the order of ``releases``, neighbours with equal counts merged."""
    counted: dict[tuple[str, str], dict[str, Counter[Outcome]]] = {}
    for case in cases:
        topics = counted.setdefault((case.target, case.release), {})
        topics.setdefault(case.topic, Counter())[OUTCOMES[case.verdict]] += 1
    order = {release: place for place, release in enumerate(dict.fromkeys([*releases, *(case.release for case in cases)]))}
    targets = {target: place for place, target in enumerate(dict.fromkeys(case.target for case in cases))}
    columns: list[Column] = []
    for target, release in sorted(counted, key=lambda pair: (targets[pair[0]], order[pair[1]])):
        cells = {topic: _cell(counts) for topic, counts in counted[target, release].items()}
        last = columns[-1] if columns else None
        if last and last.target == target and last.cells == cells:
            columns[-1] = Column(target, (*last.releases, release), cells)
        else:
            columns.append(Column(target, (release,), cells))
    short = any(case.verdict is Verdict.SHORTFALL for case in cases)
    of_servers = dict.fromkeys(case.topic for case in cases if case.judges == "server" and side == "client")
    return Matrix(tuple(dict.fromkeys(case.topic for case in cases)), tuple(columns), tuple(of_servers), short)


@dataclass(frozen=True)
class FailureGroup:
    """Cases of one name that did not pass for the same reason; the first stands for all."""

    first: CaseRecord
    others: tuple[CaseRecord, ...] = ()


def failure_groups(cases: Iterable[CaseRecord]) -> list[FailureGroup]:
    """Everything that neither passed nor was skipped, grouped, in the order in which it is to be repaired.

    What kept the harness from judging comes first: until it is gone, nothing is known. Then crashes, hangs and what a MUST asks
    for, then what only a SHOULD asks for, then lists of known failures that are out of date. Of equal gravity that with most
    cases comes first; the order of cases, of which later ones build on earlier ones, decides the rest.
    """
    groups: dict[tuple[str, Verdict, str, str, str | None], list[CaseRecord]] = {}
    for case in cases:
        if case.verdict is not Verdict.PASS and case.verdict not in SKIPPED:
            requirement = (case.diagnosis.requirement if case.diagnosis else None) or ""
            groups.setdefault((case.name, case.verdict, requirement, alike(case.why), case.reason), []).append(case)
    found = [FailureGroup(first, tuple(others)) for first, *others in groups.values()]
    return sorted(found, key=lambda group: (_turn(group.first), -len(group.others)))


def _turn(case: CaseRecord) -> int:
    """When a failure is to be repaired: small numbers first."""
    if OUTCOMES[case.verdict] is Outcome.ERROR:
        return 0
    if case.verdict is Verdict.UNEXPECTED_PASS:
        return 3
    level = case.diagnosis.level if case.diagnosis is not None else None
    return 2 if case.verdict is Verdict.FAIL and level not in {None, "MUST"} else 1


def alike(why: str) -> str:
    """An explanation without the numbers in what the client said; those that the harness measured tell mistakes apart."""
    own, answered, said = why.partition(_ANSWERED)
    return own + answered + _NUMBERS.sub("0", said)


@dataclass(frozen=True)
class SkipGroup:
    """Skipped cases that share a subject (an operation, or else a case name) and a reason."""

    verdict: Verdict
    subject: str
    reason: str
    count: int


def skip_groups(cases: Iterable[CaseRecord], verdict: Verdict) -> list[SkipGroup]:
    """Cases of one skipped verdict: ``unsupported`` by operation, ``shortfall`` by requirement, known ones by case name."""
    counts: Counter[tuple[str, str]] = Counter()
    for case in cases:
        if case.verdict is verdict:
            counts[_subject(case), case.why if verdict is Verdict.SHORTFALL else case.reason or ""] += 1
    return [SkipGroup(verdict, subject, reason, count) for (subject, reason), count in counts.items()]


def _subject(case: CaseRecord) -> str:
    """What a skipped case is counted under."""
    if case.verdict is Verdict.SHORTFALL and case.diagnosis is not None and case.diagnosis.requirement is not None:
        return f"{case.diagnosis.requirement} {case.name}"
    return case.operation or case.topic if case.verdict is Verdict.UNSUPPORTED else case.name


def flaky_passes(cases: Iterable[CaseRecord]) -> list[SkipGroup]:
    """Flaky cases that passed, by case name: a reader of counts takes them for plain passes."""
    counts: Counter[tuple[str, str]] = Counter()
    for case in cases:
        if case.verdict is Verdict.PASS and case.expectation is not None:
            counts[case.name, case.reason or ""] += 1
    return [SkipGroup(Verdict.PASS, name, reason, number) for (name, reason), number in counts.items()]


@dataclass(frozen=True)
class SkippedSubject:
    """Skipped cases that share a subject, whatever the reason."""

    subject: str
    count: int
    reasons: tuple[str, ...]

    def said(self, longest: int) -> str:
        """The first reasons, each of at most so many characters, and how many more there are."""
        more = len(self.reasons) - _REASONS
        told = "; ".join(clip(reason, longest) for reason in self.reasons[:_REASONS])
        return f"{told}; and {more} more reasons" if more > 0 else told


def skipped_subjects(groups: Iterable[SkipGroup]) -> list[SkippedSubject]:
    """The groups by subject, those with most cases first."""
    totals: Counter[str] = Counter()
    reasons: dict[str, list[str]] = {}
    for group in groups:
        totals[group.subject] += group.count
        reasons.setdefault(group.subject, []).extend(filter(None, [group.reason]))
    return [SkippedSubject(subject, number, tuple(reasons[subject])) for subject, number in totals.most_common()]


@dataclass(frozen=True)
class ListFault:
    """Cases of one entry of the list of known failures that did not end as it says, all in the same way."""

    entry: int
    standing: Standing
    expires: str
    first: str
    """The id of the first of them."""
    count: int

    @property
    def said(self) -> str:
        """What is wrong with the entry, as a verb and what follows."""
        return _STANDINGS[self.standing].format(expires=self.expires)


def list_faults(cases: Iterable[CaseRecord]) -> list[ListFault]:
    """Where the list of known failures is out of date, by entry."""
    found: dict[tuple[int, Standing, str], list[str]] = {}
    for case in cases:
        listed = case.expectation
        if listed is not None and listed.standing in OUT_OF_DATE:
            found.setdefault((listed.entry, listed.standing, listed.expires), []).append(case.id)
    return [ListFault(*about, ids[0], len(ids)) for about, ids in sorted(found.items())]


def _cell(counts: Counter[Outcome]) -> Cell:
    return tuple((outcome, counts[outcome]) for outcome in Outcome if counts[outcome])
