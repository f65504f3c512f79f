"""Drift as Markdown, for issues, pull requests and release notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.drift.history import History
from reports.drift.model import Aspect, Change, Drift, Example, Role
from reports.drift.text import MARKS, ROLE_WORDS, hit, level_counts, nothing_words, shown_bytes, side_words
from reports.escape import escape, escape_markdown


def drift_markdown(drift: Drift, concern: str = "") -> str:
    """The drift between two releases."""
    return "\n".join(_drift(drift, concern)) + "\n"


def history_markdown(history: History, concern: str = "") -> str:
    """All captured releases as one table, then what changed at each boundary."""
    return "\n".join(_history(history, concern)) + "\n"


def _drift(drift: Drift, concern: str) -> Iterator[str]:
    yield f"# lmcache {drift.old} -> {drift.new}: {drift.worst.word}"
    yield ""
    if drift.changes:
        yield from _table(
            ("whom", "worst", "changes"),
            [(ROLE_WORDS[role], drift.levels[role].word, level_counts(drift, role)) for role in Role],
        )
        yield ""
        yield from _table(
            ("", *(role.value for role in Role), "change"),
            [
                (
                    str(number),
                    *(change.levels[role].word if change.levels[role] else "-" for role in Role),
                    escape_markdown(change.title),
                )
                for number, change in enumerate(drift.changes, 1)
            ],
        )
        for number, change in enumerate(drift.changes, 1):
            yield from _change(number, change, drift)
    else:
        yield nothing_words(drift)
    if concern:
        yield from ("", f"**{escape_markdown(concern)}**")
    if drift.notes:
        yield from ("", "## What the captures cannot show, and what nobody sees on the wire", "")
        yield from (f"- {escape_markdown(note)}" for note in drift.notes)


def _change(number: int, change: Change, drift: Drift) -> Iterator[str]:
    yield from ("", f"## {number}. {escape_markdown(change.title)}", "")
    levels = ", ".join(f"{role.value} {change.levels[role].word}" for role in Role)
    yield f"{levels}. {escape_markdown(' '.join(change.detail))}".rstrip()
    if change.table:
        yield ""
        yield from _table(
            [escape_markdown(heading) for heading in change.table.headings],
            [tuple(_code(cell) for cell in row) for row in change.table.rows],
        )
    yield from ("", f"What to do: {escape_markdown(change.must)}")
    for example in change.examples:
        yield ""
        yield from _example(example, change, drift)


def _example(example: Example, change: Change, drift: Drift) -> Iterator[str]:
    more = f" and {change.evidence - 1} more" if change.evidence > 1 else ""
    yield f"Shown by {_code(example.id)}{more}:"
    yield ""
    yield "```text"
    for release, side in ((drift.old, example.before), (drift.new, example.after)):
        yield f"{release}  {side_words(side).replace('```', '` ` `')}"
        if side and side.data and not change.table:
            yield f"{' ' * len(release)}  {shown_bytes(side.data)}"
    yield "```"


def _history(history: History, concern: str) -> Iterator[str]:
    yield f"# lmcache {history.releases[0]} to {history.releases[-1]}: {len(history.releases)} releases"
    yield ""
    rows = []
    previous: Aspect | None = None
    for generation in history.generations:
        marks = [
            "" if index not in generation.groups
            else "=" if index != generation.groups[0]
            else "o" if generation.level is None else MARKS[generation.level]
            for index in range(len(history.groups))
        ]  # fmt: skip
        part = generation.aspect.value if generation.aspect is not previous else ""
        rows.append((part, escape_markdown(generation.label), *map(escape_markdown, marks)))
        previous = generation.aspect
    yield from _table(("part", "generation", *(group.name for group in history.groups)), rows)
    yield ""
    yield "X breaking, \\~ behavioural, + additive, o first seen, = as before. Releases with nothing between them share a column."
    for drift in history.boundaries:
        yield from ("", f"## {drift.old} -> {drift.new}: {drift.worst.word}", "")
        for change in drift.changes:
            what = f"{change.title}. {change.must}"
            yield f"- {change.levels.worst.word} for {hit(change)}: {escape_markdown(what)}"
    yield ""
    yield f"Nothing changed at the other {len(history.drifts) - len(history.boundaries)} boundaries."
    if concern:
        yield from ("", f"**{escape_markdown(concern)}**")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _code(text: str) -> str:
    """Text of a capture as code; backticks and bars cannot stand in a cell."""
    return f"`{escape(text).replace('`', chr(39)).replace('|', '/')}`" if text.strip() else ""
