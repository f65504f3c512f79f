"""Who keeps what: things of lmcache with their lists of known failures, and the runs that were given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reports.escape import escape
from reports.plain import clip
from reports.record import CaseRecord
from reports.site.model import Case, Content, KnownList
from reports.verdict import Verdict

LETTERS: Final[Mapping[Verdict, str]] = {
    Verdict.CRASH: "C",
    Verdict.HANG: "H",
    Verdict.FAIL: "F",
    Verdict.UNEXPECTED_PASS: "U",
    Verdict.MOCK_DRIFT: "D",
    Verdict.HARNESS_ERROR: "E",
    Verdict.ENVIRONMENT_ERROR: "E",
    Verdict.KNOWN_FAILURE: "k",
    Verdict.SHORTFALL: "s",
    Verdict.PASS: "p",
    Verdict.UNSUPPORTED: "-",
}
"""What stands for each verdict; of several the first one here."""
TONES: Final[Mapping[str, str]] = {
    **dict.fromkeys("FU", "bad"),
    **dict.fromkeys("DE-", "none"),
    "C": "bad wrong",
    "H": "odd",
    "k": "warn",
    "s": "warn part",
    "p": "good",
}
MEANINGS: Final = (
    ("p", "passed; of things of lmcache: no failure is known"),
    ("k", "known failure, in some releases at least"),
    ("s", "keeps every MUST, falls short of a SHOULD"),
    ("F", "failed"),
    ("H", "hung"),
    ("C", "crashed"),
    ("U", "passed, though listed as a known failure"),
    ("D", "mock and real server differ"),
    ("E", "harness or environment failed"),
    ("-", "unsupported: it said so itself"),
)
_NAME: Final = 40
"""Characters of a name that a client gives itself."""


@dataclass(frozen=True)
class Mark:
    """What one of them makes of one requirement, or of one case."""

    letter: str
    """Empty where none of its cases is about it."""
    words: str
    place: str = ""

    @property
    def tone(self) -> str:
        """The classes of its cell."""
        return TONES.get(self.letter, "")


@dataclass(frozen=True)
class Judged:
    """Something that was judged."""

    name: str
    place: str
    """Its own page."""
    known: KnownList | None = None
    records: Mapping[str, Sequence[CaseRecord]] = field(default_factory=dict)
    """Of a run, by the names of cases."""

    def of(self, cases: Sequence[Case], requirement: str = "") -> Mark:
        """What it makes of some cases; of a run's records only those that are about the requirement, if one is given."""
        return self._ran(cases, requirement) if self.known is None else self._listed(self.known, cases)

    def _listed(self, known: KnownList, cases: Sequence[Case]) -> Mark:
        asked = [case for case in cases if known.side in case.runs and case.group in known.groups]
        if not asked:
            return Mark("", "none of its cases is about it")
        entries = [entry for case in asked for entry in known.by_case.get(case.name, ())]
        if not entries:
            return Mark("p", "no failure is known", self.place)
        first = entries[0]
        return Mark("k", f"{first.reason} (releases: {first.releases})", f"{self.place}#entry-{first.number}")

    def _ran(self, cases: Sequence[Case], requirement: str) -> Mark:
        records = [record for case in cases for record in self.records.get(case.name, ())]
        counts = Counter(record.verdict for record in records if not requirement or requirement in record.requirements)
        worst = next((verdict for verdict in LETTERS if counts[verdict]), None)
        if worst is None:
            return Mark("", "not in this run")
        return Mark(
            LETTERS[worst], ", ".join(f"{counts[verdict]} {verdict}" for verdict in LETTERS if counts[verdict]), self.place
        )


def all_judged(content: Content) -> list[Judged]:
    """Things of lmcache, then the runs in the order in which they were given."""
    found = [Judged(known.about, known_page(known.name), known) for known in content.known]
    for number, run in enumerate(content.runs, 1):
        records: dict[str, list[CaseRecord]] = {}
        for record in run.cases:
            records.setdefault(record.name, []).append(record)
        name = clip(escape(run.header.client.called), _NAME)
        found.append(Judged(name, run_page(number), records=records))
    return found


def known_page(name: str) -> str:
    """The page of a list of known failures."""
    return f"known/{name}.html"


def run_page(number: int) -> str:
    """The page of a run, counted from 1."""
    return f"runs/{number}.html"
