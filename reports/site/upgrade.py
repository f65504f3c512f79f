"""From one release to another: what works while one side is updated and the other is not, and what stored chunks are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reports.collisions.fates import Fate, Pair
from reports.collisions.harm import Harm
from reports.compat.grouping import Group, client_groups
from reports.compat.model import CompatResult, Evidence, Finding, Part
from reports.compat.outcome import Grade, Outcome, worst
from reports.drift.history import History
from reports.drift.model import Drift, Level
from reports.site.links import lm_place, mp_place
from reports.site.model import Content
from reports.words import count

Tone = Literal["good", "warn", "bad", "none"]
"""The classes of the theme."""
TONES: Final[tuple[Tone, ...]] = ("bad", "warn", "none", "good")
"""Worst first."""
WIRES: Final = ("lm", "keys", "mp")
_NOWHERE: Final = "nothing can be stored there"
"""How the reason begins where a client and a server do not understand each other at all."""


@dataclass(frozen=True)
class Answer:
    """Whether one thing survives the update."""

    tone: Tone
    chip: str
    """One or two words."""
    words: str
    """A sentence or two."""
    place: str
    """Where the reasons and the evidence are; empty where there are none."""


@dataclass(frozen=True)
class Upgrade:
    """From one release to another."""

    old: str
    new: str
    lm: Answer
    keys: Answer
    mp: Answer

    @property
    def answers(self) -> tuple[Answer, Answer, Answer]:
        """In the order of :data:`WIRES`."""
        return self.lm, self.keys, self.mp


class Upgrades:
    """The answers for all pairs, each found once."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._first = firsts(client_groups(content.compat))
        self._mp_first = {release: found.releases[0] for found in content.collisions.generations for release in found.releases}
        self._found: dict[tuple[str, str], Upgrade] = {}

    def of(self, old: str, new: str) -> Upgrade:
        """One pair."""
        if (old, new) not in self._found:
            self._found[old, new] = Upgrade(old, new, self._lm(old, new), self._keys(old, new), self._mp(old, new))
        return self._found[old, new]

    def _lm(self, old: str, new: str) -> Answer:
        compat = self._content.compat
        ahead, behind = added(compat, old, new, "talk", old), added(compat, new, old, "talk", old)
        tones = _tone(ahead), _tone(behind)
        place = lm_place(self._first[old], self._first[new])
        if tones == ("good", "good"):
            return Answer("good", "works", "Both understand each other, whichever side is updated first.", place)
        if tones[0] == "good" or _better(*tones):
            return _ordered(tones[0], "servers first", ahead, f"new clients at old servers: {_first_reason(behind)}", place)
        if tones[1] == "good" or _better(tones[1], tones[0]):
            back = lm_place(self._first[new], self._first[old])
            return _ordered(tones[1], "clients first", behind, f"old clients at new servers: {_first_reason(ahead)}", back)
        chip = {"warn": "mostly works", "bad": "breaks"}.get(tones[0], "cannot be said")
        other = "" if _first_reason(behind) == _first_reason(ahead) else f"; new clients at old servers: {_first_reason(behind)}"
        return Answer(tones[0], chip, f"Old clients at new servers: {_first_reason(ahead)}{other}.", place)

    def _keys(self, old: str, new: str) -> Answer:
        compat = self._content.compat
        found = added(compat, old, new, "share", old)
        place = lm_place(self._first[old], self._first[new])
        tone = _tone(found)
        if tone == "good":
            return Answer("good", "found", f"What {old} stored is found by {new}.", place)
        reason = _first_reason(found)
        if tone == "none":
            return Answer("none", "cannot be said", f"{_capital(reason)}.", place)
        if tone == "warn":
            return Answer("warn", "mostly found", f"Not in all settings: {reason}.", place)
        if reason.startswith(_NOWHERE):
            return Answer("bad", "not found", "The cache starts empty: old clients cannot store on new servers.", place)
        wrong = worst(finding.grade for finding in found).outcome is Outcome.WRONG
        return Answer("bad", "wrong values" if wrong else "not found", f"The cache starts empty: {reason}.", place)

    def _mp(self, old: str, new: str) -> Answer:
        spoken = self._content.collisions.clients
        missing = [release for release in (old, new) if release not in spoken]
        if missing:
            return Answer("none", "not there", f"{missing[0]} has no multiprocess server.", "")
        ahead, behind = self._content.collisions.pair(old, new), self._content.collisions.pair(new, old)
        tones = _pair_tone(ahead), _pair_tone(behind)
        place = mp_place(self._mp_first[old], self._mp_first[new])
        back = mp_place(self._mp_first[new], self._mp_first[old])
        if tones == ("good", "good"):
            return Answer("good", "works", "Both understand each other, whichever side is updated first.", place)
        if tones[0] != tones[1]:
            first, pair, other, where = (
                ("servers first", ahead, behind, place) if _better(*tones) else ("clients first", behind, ahead, back)
            )
            tone = _pair_tone(pair)
            worse = "New clients at old servers" if first == "servers first" else "Old clients at new servers"
            said = "" if tone == "good" else f" {_worst_words(pair)}."
            return Answer(
                tone, first if tone == "good" else "mostly works", f"Update {first}.{said} {worse}: {_worst_words(other)}.", where
            )
        chip = {"warn": "mostly works", "bad": "breaks"}[tones[0]]
        works = f"{len(ahead.survivors)} of {count(len(ahead.survivors) + len(ahead.casualties), 'operation')} work"
        return Answer(tones[0], chip, f"Old clients at new servers: {works}; {_worst_words(ahead)}.", place)


def firsts(groups: Sequence[Group]) -> dict[str, str]:
    """Each release, and the oldest one that is the same in every cell and every reason."""
    return {release: group.releases[0] for group in groups for release in group.releases}


def added(compat: CompatResult, client: str, server: str, part: Part, today: str) -> list[Finding]:
    """What is wrong in a cell that is not wrong today, while all are of the release ``today``; the worst first."""
    cell = compat.cell(client, server)
    if cell.problem is not None:
        return [Finding(part, Grade(Outcome.NOT_RUN), "it was not played", (), Evidence())]
    own = {finding.signature: set(finding.struck) for finding in compat.cell(today, today).findings}
    return [
        finding
        for finding in cell.reasons
        if finding.part == part and not set(finding.struck) <= own.get(finding.signature, set())
    ]


def _tone(findings: Sequence[Finding]) -> Tone:
    grade = worst(finding.grade for finding in findings)
    if grade.outcome is Outcome.OK:
        return "good"
    if grade.outcome in {Outcome.UNKNOWN, Outcome.NOT_RUN}:
        return "none"
    return "bad" if grade.plain else "warn"


def _pair_tone(pair: Pair) -> Tone:
    if pair.grade.harm is Harm.SAME:
        return "good"
    return "bad" if pair.grade.plain else "warn"


def _better(one: Tone, other: Tone) -> bool:
    return TONES.index(one) > TONES.index(other)


def _ordered(tone: Tone, first: str, left: Sequence[Finding], other: str, place: str) -> Answer:
    """An answer where one order is better than the other; ``left`` is what is wrong in the better one."""
    chip = first if tone == "good" else {"warn": "mostly works", "bad": "breaks"}.get(tone, "cannot be said")
    said = f" Not all works even so: {_first_reason(left)}." if left else ""
    return Answer(tone, chip, f"Update {first}.{said} {_capital(other)}.", place)


def _first_reason(findings: Sequence[Finding]) -> str:
    return findings[0].reason if findings else "nothing is wrong"


def _worst_words(pair: Pair) -> str:
    fate = pair.troubles[0]
    return f"{fate.operation} {_told(fate)}"


def _told(fate: Fate) -> str:
    return fate.what if fate.what.startswith("executes ") else f"fails: {fate.what}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Reach:
    """How far one can go from a release."""

    old: str
    next: str
    """The release after it."""
    newest: Upgrade
    fine: tuple[str | None, str | None, str | None]
    """The newest release up to which nothing is wrong, by wire; None where not even the next one is fine."""


def reach(upgrades: Upgrades, releases: Sequence[str], old: str) -> Reach:
    """The answers for the newest release, and how far all is well."""
    later = list(releases[releases.index(old) + 1 :])
    fine: list[str | None] = []
    for place in range(len(WIRES)):
        found = None
        for new in later:
            if upgrades.of(old, new).answers[place].tone != "good":
                break
            found = new
        fine.append(found)
    one, two, three = fine
    return Reach(old, later[0], upgrades.of(old, releases[-1]), (one, two, three))


def between(history: History, old: str, new: str) -> list[Drift]:
    """The boundaries with a change that lie between two releases, in either direction."""
    order = {release: place for place, release in enumerate(history.releases)}
    low, high = sorted((order[old], order[new]))
    return [drift for drift in history.boundaries if low < order[drift.new] <= high]


def changes_words(drifts: Sequence[Drift]) -> str:
    """How many changes of each level there are."""
    words = []
    for level in (Level.BREAKING, Level.BEHAVIOURAL, Level.ADDITIVE):
        number = sum(change.levels.worst is level for drift in drifts for change in drift.changes)
        if number:
            words.append(f"{number} {level.word}")
    return ", ".join(words) or "none"
