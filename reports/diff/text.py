"""A comparison for a terminal or a log."""

from __future__ import annotations

from itertools import repeat
from typing import Final, Literal

from rich.text import Text

from reports.diff.model import Comparison
from reports.diff.view import DiffView, Section, Shown, diff_view
from reports.escape import escape
from reports.headline import Tone
from reports.layout import columns, ends, fit, labelled, paragraph, wrap
from reports.words import count

GROUPS: Final = 20
"""Groups of each kind that are shown unless the caller asks for more."""
TOPICS: Final = 40
LABEL: Final = 16
"""Cell at which the text beside a label begins."""

_TONES: Final = {Tone.GOOD: "bold green", Tone.BAD: "bold red", Tone.USAGE: "bold yellow", Tone.UNDECIDED: "bold magenta"}
_KINDS: Final = {"bad": "bold red", "odd": "bold magenta", "warn": "yellow", "good": "green", "none": "bold"}


def text_lines(found: Comparison, *, width: int = 100, groups: int = GROUPS) -> list[Text]:
    """What the runs were, the verdict, every kind of change with its cases, and the verdict again."""
    width = fit(width)
    view = diff_view(found, groups=groups, topics=TOPICS, details=False)
    verdict = wrap(Text.assemble((view.headline.word, _TONES[view.headline.tone]), "  ", escape(view.headline.because)), width)
    blocks = [_about(view, width), verdict]
    blocks += [_section(section, width) for section in view.sections]
    blocks += [_topics(view, width), verdict if view.sections else []]
    lines: list[Text] = []
    for block in filter(None, blocks):
        lines += [*block, Text()]
    return lines[:-1]


def _about(view: DiffView, width: int) -> list[Text]:
    lines = [
        *labelled("OLD", Text(escape(view.old), style="bold"), width, by=0, column=LABEL, style="dim"),
        *labelled("NEW", Text(escape(view.new), style="bold"), width, by=0, column=LABEL, style="dim"),
    ]
    if view.releases:
        lines += labelled("lmcache", Text(escape(view.releases), style="bold"), width, by=0, column=LABEL, style="dim")
    for fact in view.facts:
        told = f"{escape(fact.old)}  ->  {escape(fact.new)}" if fact.differs else escape(fact.new)
        lines += labelled(fact.label, Text(told, style="" if fact.differs else "dim"), width, by=0, column=LABEL, style="dim")
    for note in view.notes:
        lines += labelled("note", Text(escape(note), style="yellow"), width, by=0, column=LABEL, style="yellow")
    return lines


def _section(section: Section, width: int) -> list[Text]:
    style = _KINDS[section.tone]
    head = Text.assemble((section.kind.replace("-", " ").upper(), style), f"  {count(section.cases, 'case')}: {section.meaning}")
    lines = wrap(head, width)
    for shown in section.groups:
        lines += [Text(), *_shown(shown, width)]
    if section.left_out:
        lines += [Text(), *paragraph(Text(f"and {count(section.left_out, 'more cause')}", style="dim"), width, 2)]
    return lines


def _shown(shown: Shown, width: int) -> list[Text]:
    lines = ends(Text(f"  {escape(shown.id)}", style="bold"), Text(escape(shown.requirement), style="cyan"), width, by=6)
    lines += paragraph(Text(escape(shown.title), style="dim"), width, 6)
    rows = [
        ("was", escape(shown.was), ""),
        ("before", _state(shown.before, shown.before_said), ""),
        ("now", _state(shown.after, shown.after_said), ""),
        ("note", escape(shown.note), "yellow"),
        ("alike", f"in {shown.more} more: {escape(shown.others)}" if shown.more else "", ""),
    ]
    for label, text, style in rows:
        if text:
            lines += labelled(label, Text(text, style=style), width, by=6, column=LABEL, style="dim")
    if shown.rerun:
        lines += [*paragraph(Text("run it again", style="dim"), width, 6), Text(f"        {escape(shown.rerun)}", style="cyan")]
    return lines


def _state(verdict: str, said: str) -> str:
    return f"{verdict}: {escape(said)}" if verdict and said else verdict


def _topics(view: DiffView, width: int) -> list[Text]:
    if len(view.topics) < 2:
        return []
    right: Literal["right"] = "right"
    aligned: list[Literal["left", "right"]] = ["left", *repeat(right, len(view.counts))]
    heads = [Text("topic", style="dim"), *(Text(kind, style="dim") for kind, *_ in view.counts)]
    rows = [
        [Text(escape(place.topic)), *(Text(str(number) if number else ".") for number in place.counts)] for place in view.topics
    ]
    table = columns([heads, *rows], aligned, gap=2)
    if any(line.cell_len > width for line in table):
        return []
    more = [Text(f"and {count(view.topics_left_out, 'more topic')}", style="dim")] if view.topics_left_out else []
    return [*table, *more]
