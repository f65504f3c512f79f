"""Compares two runs: cases are paired by their ids, or, for two releases, by their ids without the release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reports.diff.kinds import Kind, State, kind_of, state_of
from reports.diff.model import Change, Comparison, ComparisonError, Releases, Run
from reports.diff.notes import faults, notes
from reports.diff.reasons import reason_of
from reports.diff.selected import Selected
from reports.record import CaseRecord
from reports.verdict import Verdict
from reports.words import span

Key = tuple[str, ...]

_ORDER: Final = {kind: place for place, kind in enumerate(Kind)}
_LEVELS: Final = {"MUST": 0, "SHOULD": 1, "MAY": 2}
_VERDICTS: Final = {Verdict.CRASH: 0, Verdict.HANG: 1}


@dataclass(frozen=True)
class _Side:
    """One of the two runs, as far as it takes part."""

    release: str | None
    """That of all cases that do; None where cases are paired by their ids."""
    cases: Mapping[Key, CaseRecord]
    selected: Selected

    def without(self, case: CaseRecord) -> str | None:
        """Why it has no record of a case of the other run, where something explains it."""
        return self.selected.why_not(case, release=self.release or case.release)


def compare(old: Run, new: Run, releases: Releases | None = None) -> Comparison:
    """What became of each case of OLD in NEW, and what is in NEW alone.

    Raises:
        ComparisonError: the runs judge different things, or have no release in common and none was chosen.
    """
    _require_one_side(old, new)
    _require_releases(old, new, releases)
    before = _side("OLD", old, None if releases is None else releases.old)
    after = _side("NEW", new, None if releases is None else releases.new)
    changes: list[Change] = []
    same: Counter[State] = Counter()
    for key, case in after.cases.items():
        change = _change(before, after, before.cases.get(key), case)
        if change is None:
            same[state_of(case)] += 1
        else:
            changes.append(change)
    for key, case in before.cases.items():
        if key not in after.cases:
            why = after.without(case)
            changes.append(Change(Kind.NOT_RUN if why else Kind.GONE, case, None, why or "NEW has no such case"))
    changes, other = _without_other_vectors(changes, releases)
    changes.sort(key=_gravity)  # which leaves equals in the order of the runs
    return Comparison(
        old=old,
        new=new,
        changes=tuple(changes),
        same={state: same[state] for state in State if same[state]},
        notes=(*notes(old, new, releases), *other),
        faults=tuple(faults(old, new, changes, sum(same.values()))),
        releases=releases,
    )


def _side(name: str, run: Run, release: str | None) -> _Side:
    if release is None:
        cases: dict[Key, CaseRecord] = {(case.id,): case for case in run.results.cases}
    else:
        chosen = (case for case in run.results.cases if case.release == release)
        cases = {(case.name, case.target, case.variant or ""): case for case in chosen}
    return _Side(release, cases, Selected(name, run.results))


def _without_other_vectors(changes: list[Change], releases: Releases | None) -> tuple[list[Change], list[str]]:
    """Between two releases: no word of each execution that passes and that only one of them has, but a note of how many.

    Their captures have other vectors, which says something about lmcache and nothing about what is judged.
    """
    if releases is None:
        return changes, []
    kept: list[Change] = []
    left: Counter[Kind] = Counter()
    for one in changes:
        if one.kind in {Kind.GONE, Kind.NEW} and state_of(one.case) is State.PASSING:
            left[one.kind] += 1
        else:
            kept.append(one)
    if not left:
        return kept, []
    note = (
        f"Executions that pass and that only one of the releases has are left out: {left[Kind.GONE]} of {releases.old}, "
        f"{left[Kind.NEW]} of {releases.new}."
    )
    return kept, [note]


def _change(before: _Side, after: _Side, old: CaseRecord | None, new: CaseRecord) -> Change | None:
    same = old is not None and reason_of(old, before.release) == reason_of(new, after.release)
    kind = kind_of(old, new, same_reason=same)
    if kind is None:
        return None
    if old is None:
        return Change(kind, None, new, before.without(new) or "OLD has no such case")
    return Change(kind, old, new, _note(old, new))


def _note(old: CaseRecord, new: CaseRecord) -> str:
    if new.not_run:
        return "NEW did not ask: what is judged had failed so often before that this was taken for granted"
    if state_of(old) is State.UNDECIDED:
        return "OLD could not tell: harness, mock or environment failed there"
    if state_of(old) is State.KNOWN and new.expectation is None:
        return "OLD had it on the list of known failures"
    if state_of(old) is State.PASSING and state_of(new) is State.KNOWN:
        return "it passed in OLD: it is broken, and listed"
    return ""


def _gravity(change: Change) -> tuple[int, int, int]:
    case = change.case
    level = case.diagnosis.level if case.diagnosis is not None else None
    return _ORDER[change.kind], _LEVELS.get(level or "MUST", 0), _VERDICTS.get(case.verdict, 2)


def _require_one_side(old: Run, new: Run) -> None:
    one, other = old.results.header.side, new.results.header.side
    if one != other:
        raise ComparisonError(
            f"{old.name} judges a {one}, {new.name} a {other}: they have no case in common; compare two runs of one side"
        )


def _require_releases(old: Run, new: Run, chosen: Releases | None) -> None:
    if chosen is not None:
        for run, release in ((old, chosen.old), (new, chosen.new)):
            if release not in run.results.header.releases:
                raise ComparisonError(
                    f"{run.name} has no lmcache {release}; its releases are {', '.join(run.results.header.releases)}"
                )
        return
    one, other = old.results.header.shard, new.results.header.shard
    if one is not None and other is not None and one.count == other.count and one.index != other.index:
        raise ComparisonError(
            f"{old.name} is shard {one}, {new.name} is shard {other}: no case is in both; compare the same shard of two runs, "
            "or put the shards of each run together with 'lmconform merge' and compare those"
        )
    first, second = old.results.header.releases, new.results.header.releases
    if first and second and not set(first) & set(second):
        raise ComparisonError(
            f"{old.name} is about lmcache {span(first)}, {new.name} about {span(second)}: no case is in both; "
            f"to compare one release with the other, add --releases {first[-1]}:{second[-1]}"
        )
