"""The HTML page of a run: one file that needs nothing else, with every case in it, of bounded size."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

from jinja2 import Environment
from markupsafe import Markup
from markupsafe import escape as escape_html

from reports.bench.model import Bench
from reports.bench.page import section, style
from reports.documents import templates
from reports.escape import visible
from reports.plain import clip
from reports.record import CaseRecord
from reports.requirement_text import RequirementText, quoted
from reports.results import Results
from reports.run.data import case_data, script_json
from reports.run.environment import environment_facts
from reports.run.grid import grid
from reports.run.links import view_link
from reports.run.told import Told, told
from reports.run.tones import TONES
from reports.run.view import run_view
from reports.tally import FailureGroup, failure_groups
from reports.verdict import Verdict
from reports.words import count

SHOWN: Final = 40
"""Causes that stand in the page itself; the rest is made from the data by the script."""
ROOM: Final = 1_900_000
"""Bytes of explanations, in the page and in the data together."""
NAMES_ROOM: Final = 500_000
"""Bytes of the lines that name causes beyond those in the page."""
BRIEF: Final = 50
"""Causes beyond :data:`SHOWN` that are named also without script."""
OTHERS: Final = 6
MISSED: Final = 12
"""Requirements of a level that are named."""
TEXT: Final = 300

_LEAST: Final = {True: 8000, False: 1500}
"""Bytes below which an explanation, full or not, is not even tried."""
_CODE: Final = re.compile(r"``?([^`]+)``?")
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Cause:
    """Cases of one name that failed for one reason, by their first."""

    number: int
    first: Told
    cases: int
    others: str
    """The first of the others, by release, target and variant."""
    link: str
    """Shows all of them."""
    summary: str


@dataclass(frozen=True)
class Missed:
    """A requirement that was not met."""

    id: str
    statement: str
    why: str
    cases: str
    link: str


@dataclass
class _Room:
    """What is left of the bytes that explanations may take together."""

    left: int

    def takes(self, text: str) -> bool:
        """Whether a text fits; then its bytes are taken."""
        size = len(json.dumps(text)) + 6 * text.count("<")
        if size > self.left:
            return False
        self.left -= size
        return True


@dataclass
class _Explanations:
    """Explanations as HTML, by the place of the case in the run."""

    room: _Room = field(default_factory=lambda: _Room(ROOM))

    def of(self, case: CaseRecord) -> str:
        """All that is known of a case, less of it where room is scarce, or nothing."""
        for full in (True, False):
            if self.room.left < _LEAST[full]:
                continue
            text = _templates().get_template("told.html.j2").render(told=told(case, full=full))
            if self.room.takes(text):
                return text
        return ""


def html(results: Results, requirements: Mapping[str, RequirementText] | None = None, bench: Bench | None = None) -> str:
    """One HTML file. ``requirements`` are the words of those that cases cite; without them failures quote their own.

    ``bench`` is what was measured of the client.
    """
    script = _script()
    view = run_view(results, explained=0, room=TEXT)
    groups = [group for group in failure_groups(results.cases) if group.first.verdict is not Verdict.UNEXPECTED_PASS]
    explanations = _Explanations()
    causes = [_cause(number, group) for number, group in enumerate(groups[:SHOWN])]
    bodies = [Markup(explanations.of(group.first)) for group in groups[:SHOWN]]  # noqa: S704  # made by a template
    texts = {**quoted(results.cases), **(requirements or {})}
    data = _data(results, groups, explanations, texts)
    page = _templates().get_template("run.html.j2")
    return page.render(
        run=view,
        grid=grid(results),
        causes=list(zip(causes, bodies, strict=True)),
        all_causes=len(groups),
        brief=[_cause(number, group) for number, group in enumerate(groups[SHOWN : SHOWN + BRIEF], SHOWN)],
        counts=[(verdict, number, TONES[Verdict(verdict)], view_link(verdict=verdict)) for verdict, number in view.counts],
        number=len(results.cases),
        missed=_missed(results, texts),
        environment=environment_facts(results),
        bench=bench,
        speed=section(bench) if bench is not None else "",
        speed_style=style() if bench is not None else "",
        policy=_POLICY.format(_digest(script)),
        script=Markup(script),  # noqa: S704  # ours
        data=script_json(data),
    )


def _data(
    results: Results, groups: Sequence[FailureGroup], explanations: _Explanations, texts: Mapping[str, RequirementText]
) -> dict[str, Any]:
    """The data of the page: all cases, the causes that do not stand in it, and explanations by the place of their case."""
    places = {case.id: place for place, case in enumerate(results.cases)}
    causes = {case.id: number for number, group in enumerate(groups) for case in (group.first, *group.others)}
    lines, room = [], _Room(NAMES_ROOM)
    told_of: dict[str, str] = {}
    for number, group in enumerate(groups[SHOWN:], SHOWN):
        line = _templates().get_template("cause.html.j2").render(cause=_cause(number, group))
        if not room.takes(line):
            break
        lines.append([line, places[group.first.id]])
        if text := explanations.of(group.first):
            told_of[str(places[group.first.id])] = text
    for case in _others(results.cases, groups):
        if text := explanations.of(case):
            told_of[str(places[case.id])] = text
        if explanations.room.left < 500:
            break
    return {
        **case_data(results, causes, texts),
        "shown": min(SHOWN, len(groups)),
        "firsts": [places[group.first.id] for group in groups[:SHOWN]],
        "causes": lines,
        "unnamed": max(0, len(groups) - SHOWN - len(lines)),
        "told": told_of,
    }


def _others(cases: Sequence[CaseRecord], groups: Sequence[FailureGroup]) -> Iterator[CaseRecord]:
    """Cases that deserve an explanation of their own once each cause has one."""
    for group in groups:
        yield from group.others
    for case in cases:
        if case.verdict in {Verdict.UNEXPECTED_PASS, Verdict.SHORTFALL, Verdict.KNOWN_FAILURE}:
            yield case


def _cause(number: int, group: FailureGroup) -> Cause:
    first = told(group.first, full=False)
    names = [clip(case.id.removeprefix(case.name).strip("[]"), TEXT) for case in group.others[:OTHERS]]
    more = len(group.others) - OTHERS
    others = f"{', '.join(names)}{f' and {more} more' if more > 0 else ''}" if names else ""
    return Cause(number, first, 1 + len(group.others), others, view_link(cause=str(number)), clip(first.summary, TEXT))


def _missed(results: Results, texts: Mapping[str, RequirementText]) -> dict[str, list[Missed]]:
    """Requirements that were not met, by level, those with most cases first."""
    counts: Counter[str] = Counter()
    for case in results.cases:
        if case.diagnosis is not None and case.diagnosis.requirement and case.verdict in _MISSES:
            counts[case.diagnosis.requirement] += 1
    found: dict[str, list[Missed]] = {"MUST": [], "SHOULD": []}
    for name, number in counts.most_common():
        text = texts.get(name)
        if text is not None and text.level in found:
            words = clip(text.statement, TEXT), clip(text.why, TEXT)
            found[text.level].append(Missed(name, *words, count(number, "case"), view_link(requirement=name, verdict="missed")))
    return found


_MISSES: Final = frozenset({Verdict.FAIL, Verdict.HANG, Verdict.CRASH, Verdict.SHORTFALL, Verdict.KNOWN_FAILURE})


@functools.cache
def _script() -> str:
    return (resources.files("reports.run") / "templates" / "run.js").read_text("utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def prose(text: str) -> Markup:
    """Words of a specification, in which grave accents stand around code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape_html(visible(text)))))  # noqa: S704  # escaped before


@functools.cache
def _templates() -> Environment:
    made = templates("reports.run", html=True)
    made.filters["prose"] = prose
    return made
