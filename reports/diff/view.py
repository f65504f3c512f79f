"""What every form of a comparison shows, in the order in which it is shown; made once, laid out by each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reports.diff.groups import ChangeGroup, change_groups
from reports.diff.kinds import MEANINGS, Kind
from reports.diff.model import Change, Comparison
from reports.diff.notes import facts
from reports.diff.verdict import headline_of
from reports.explain import explain_text, label_of
from reports.headline import Headline, Tone
from reports.plain import clip
from reports.record import CaseRecord
from reports.verdict import OUTCOMES, Outcome

TEXT: Final = 400
"""Characters of one text shown at most; the results files have the rest."""
SHORT: Final = 160
"""The same where the whole text stands below."""
LONG: Final = 2000
"""The same for a command, which has to be copied whole."""
OTHERS: Final = 6
"""Other cases of a group that are named."""

TONES: Final = {
    Kind.BROKEN: "bad",
    Kind.NEW_FAILURES: "bad",
    Kind.UNDECIDED: "odd",
    Kind.CHANGED: "warn",
    Kind.NOT_RUN: "warn",
    Kind.UNEXPECTED_PASSES: "warn",
    Kind.UNSUPPORTED: "warn",
    Kind.SHORT: "warn",
    Kind.FLAKY: "warn",
    Kind.KNOWN: "none",
    Kind.GONE: "none",
    Kind.FIXED: "good",
    Kind.SUPPORTED: "good",
    Kind.NEW: "none",
}
"""How a kind is to be shown; its name says the same."""


_OUTCOMES: Final = {Outcome.PASSED: "good", Outcome.FAILED: "bad", Outcome.ERROR: "odd", Outcome.SKIPPED: "warn"}


@dataclass(frozen=True)
class Fact:
    """What the two runs were; ``differs`` where it is not the same."""

    label: str
    old: str
    new: str

    @property
    def differs(self) -> bool:
        """Whether OLD and NEW are not alike in it."""
        return self.old != self.new


@dataclass(frozen=True)
class Shown:
    """Changes of one cause, by their first. Texts are as they came: whoever shows them escapes them."""

    id: str
    was: str
    """The id in OLD, where it is another one."""
    title: str
    requirement: str
    """With its level."""
    before: str
    """The verdict in OLD; empty where there is none."""
    before_said: str
    before_tone: str
    after: str
    after_said: str
    after_tone: str
    said: str
    """Why it is not as it was, in short: what NEW says of it, or else OLD, or else the note."""
    note: str
    others: str
    more: int
    rerun: str
    details: str
    """Everything that is known of the failure in NEW, as lines of text; empty where it does not fail."""


@dataclass(frozen=True)
class Section:
    """All changes of a kind."""

    kind: str
    meaning: str
    tone: str
    cases: int
    groups: tuple[Shown, ...]
    left_out: int
    """Groups that are not shown."""


@dataclass(frozen=True)
class Place:
    """A topic in which something changed."""

    topic: str
    counts: tuple[int, ...]


@dataclass(frozen=True)
class DiffView:
    """A comparison as it is shown."""

    headline: Headline
    old: str
    new: str
    releases: str
    """``0.5.5 -> 0.5.6`` where one release is compared with another."""
    facts: tuple[Fact, ...]
    notes: tuple[str, ...]
    counts: tuple[tuple[str, int, str, str], ...]
    """Kind, number, tone and meaning of those that occur."""
    same: tuple[tuple[str, int], ...]
    sections: tuple[Section, ...]
    topics: tuple[Place, ...]
    topics_left_out: int


def diff_view(found: Comparison, *, groups: int, topics: int = 200, details: bool = True) -> DiffView:
    """The view in which at most so many groups of each kind, and so many topics, are shown."""
    counts = {kind: number for kind, number in found.counts.items() if number}
    by_kind: dict[Kind, list[ChangeGroup]] = {}
    for group in change_groups(found.changes, found.releases):
        by_kind.setdefault(group.kind, []).append(group)
    places = _topics(found.changes, tuple(counts))
    return DiffView(
        headline=headline_of(found),
        old=found.old.name,
        new=found.new.name,
        releases=f"{found.releases.old} -> {found.releases.new}" if found.releases else "",
        facts=tuple(Fact(label, old, new) for (label, old), (_, new) in zip(facts(found.old), facts(found.new), strict=True)),
        notes=found.notes,
        counts=tuple((str(kind), number, TONES[kind], MEANINGS[kind]) for kind, number in counts.items()),
        same=tuple((str(state), number) for state, number in found.same.items()),
        sections=tuple(_section(kind, counts[kind], by_kind[kind], groups, details=details) for kind in counts),
        topics=tuple(places[:topics]),
        topics_left_out=max(0, len(places) - topics),
    )


def tone_class(tone: Tone) -> str:
    """What the theme calls the tone of a headline."""
    return {Tone.GOOD: "good", Tone.BAD: "bad"}.get(tone, "odd")


def _section(kind: Kind, cases: int, found: Sequence[ChangeGroup], limit: int, *, details: bool) -> Section:
    shown = tuple(_shown(group, details=details) for group in found[:limit])
    return Section(str(kind), MEANINGS[kind], TONES[kind], cases, shown, max(0, len(found) - limit))


def _shown(group: ChangeGroup, *, details: bool) -> Shown:
    change = group.first
    case, old, new = change.case, change.old, change.new
    told = new is not None and new.diagnosis is not None and change.kind not in {Kind.FIXED, Kind.NEW, Kind.SUPPORTED}
    return Shown(
        id=clip(case.id, TEXT),
        was=clip(old.id, TEXT) if old is not None and new is not None and old.id != new.id else "",
        title=clip(case.title, TEXT),
        requirement=_requirement(change),
        before=label_of(old.verdict) if old is not None else "",
        before_said=_said(old),
        before_tone=_tone(old),
        after=label_of(new.verdict) if new is not None else "",
        after_said=_said(new),
        after_tone=_tone(new),
        said=clip(_said(new) or change.note or _said(old), SHORT),
        note=clip(change.note, TEXT),
        others=_others(group),
        more=len(group.others),
        rerun=clip(new.diagnosis.rerun or "", LONG) if told and new is not None and new.diagnosis is not None else "",
        details=explain_text(new) if details and told and new is not None else "",
    )


def _said(case: CaseRecord | None) -> str:
    return "" if case is None else clip(case.diagnosis.summary if case.diagnosis else case.reason or "", TEXT)


def _tone(case: CaseRecord | None) -> str:
    return "none" if case is None else _OUTCOMES[OUTCOMES[case.verdict]]


def _requirement(change: Change) -> str:
    for case in (change.new, change.old):
        if case is not None and case.diagnosis is not None and case.diagnosis.requirement:
            return clip(" ".join(filter(None, (case.diagnosis.requirement, case.diagnosis.level))), TEXT)
    return clip(" ".join(change.case.requirements), TEXT)


def _others(group: ChangeGroup) -> str:
    names = [clip(_other(one.case, group.first.case), 150) for one in group.others[:OTHERS]]
    more = f" and {len(group.others) - OTHERS} more" if len(group.others) > OTHERS else ""
    return f"{', '.join(names)}{more}" if names else ""


def _other(case: CaseRecord, first: CaseRecord) -> str:
    """The id of a case, without what the first one that stands above it says already."""
    if case.name != first.name:
        return case.id
    if case.variant and case.column == first.column:
        return case.variant
    return case.id.removeprefix(case.name).strip("[]")


def _topics(changes: Sequence[Change], kinds: Sequence[Kind]) -> list[Place]:
    """Topics with their number of changes of each kind, in the order in which they first occur."""
    counted: dict[str, Counter[Kind]] = {}
    for change in changes:
        counted.setdefault(change.case.topic, Counter())[change.kind] += 1
    return [Place(clip(topic, TEXT), tuple(counts[kind] for kind in kinds)) for topic, counts in counted.items()]
