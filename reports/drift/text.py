"""Drift for a terminal: who is hit, a line for each change, then each change with its example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from rich.text import Text

from reports.drift.history import Generation, History
from reports.drift.model import Change, Drift, Example, Level, Role, Side, Table
from reports.escape import escape
from reports.layout import columns, ends, fit, indent, labelled, paragraph, wrap
from reports.words import count

STYLES: Final = {Level.NONE: "dim", Level.ADDITIVE: "cyan", Level.BEHAVIOURAL: "yellow", Level.BREAKING: "bold red"}
ROLE_WORDS: Final = {Role.STORES: "a client that stores", Role.LOADS: "a client that loads", Role.SERVER: "a server"}
MARKS: Final = {Level.BREAKING: "X", Level.BEHAVIOURAL: "~", Level.ADDITIVE: "+", Level.NONE: "o"}
"""What begins a generation in the table of the history."""
SHOWN_BYTES: Final = 40
"""Bytes of an example that are shown."""
COLUMN: Final = 13
NAME_WIDTH: Final = 17
LABEL_WIDTHS: Final = (32, 44)
"""The narrowest and the widest column of labels in the table of the history."""


def drift_lines(drift: Drift, width: int, concern: str = "") -> list[Text]:
    """The drift between two releases."""
    width = fit(width)
    head = Text(f"lmcache {drift.old} -> {drift.new}", style="bold")
    lines = [*ends(head, level_text(drift.worst, upper=True), width, by=0), Text()]
    if drift.changes:
        lines += [*_roles(drift), Text(), *_overview(drift.changes, width)]
        for number, change in enumerate(drift.changes, 1):
            lines += [Text(), *_change(number, change, drift, width)]
    else:
        lines += wrap(nothing_words(drift), width)
    if concern:
        lines += [Text(), *wrap(Text(escape(concern), style="bold"), width)]
    if drift.notes:
        lines += [Text(), *wrap(Text("What the captures cannot show, and what nobody sees on the wire", style="bold"), width)]
        for note in drift.notes:
            lines += labelled("-", escape(note), width, by=2, column=5)
    return lines


def history_lines(history: History, width: int, concern: str = "") -> list[Text]:
    """All captured releases as one table, then what changed at each boundary."""
    width = fit(width)
    lines = [
        Text(f"lmcache {history.releases[0]} to {history.releases[-1]}: {len(history.releases)} releases", style="bold"),
        Text(),
    ]
    lines += _grid(history, width)
    legend = (
        "X breaking   ~ behavioural   + additive   o first seen   = as before;  releases with nothing between them share a column"
    )
    lines += [Text(), *wrap(Text(legend, style="dim"), width), Text()]
    for drift in history.boundaries:
        lines += ends(Text(f"{drift.old} -> {drift.new}", style="bold"), level_text(drift.worst), width, by=0)
        for change in drift.changes:
            level = change.levels.worst
            lines += labelled(MARKS[level], f"{escape(change.title)} ({hit(change)})", width, by=2, column=5, style=STYLES[level])
    quiet = len(history.drifts) - len(history.boundaries)
    lines += [Text(), *wrap(f"Nothing changed at the other {count(quiet, 'boundary', 'boundaries')}.", width)]
    if concern:
        lines += [Text(), *wrap(Text(escape(concern), style="bold"), width)]
    lines += [
        Text(),
        *wrap(Text("'lmconform drift OLD NEW' shows one boundary, or any two releases, with examples.", style="dim"), width),
    ]
    return lines


def level_text(level: Level, *, upper: bool = False) -> Text:
    """A level in its colour."""
    return Text(level.word.upper() if upper else level.word, style=STYLES[level])


def hit(change: Change) -> str:
    """Whom a change hits hardest, such as ``stores, loads``."""
    level = change.levels.worst
    return ", ".join(role.value for role in Role if change.levels[role] is level and level) or "nobody"


def nothing_words(drift: Drift) -> str:
    """That nothing changed, and on what grounds."""
    return (
        f"Nothing changed on the wire: {drift.compared} inputs and conversations were captured from both releases, "
        "and all have the same outcome."
    )


def level_counts(drift: Drift, role: Role) -> str:
    """How many changes of each level hit a role, such as ``2 breaking, 1 additive``."""
    words = []
    for level in (Level.BREAKING, Level.BEHAVIOURAL, Level.ADDITIVE):
        number = sum(change.levels[role] is level for change in drift.changes)
        if number:
            words.append(f"{number} {level.word}")
    return ", ".join(words) or "nothing"


def _roles(drift: Drift) -> list[Text]:
    rows = [(Text("  " + ROLE_WORDS[role]), level_text(drift.levels[role]), Text(level_counts(drift, role))) for role in Role]
    return columns(rows, ("left", "left", "left"), gap=3)


def _overview(changes: Sequence[Change], width: int) -> list[Text]:
    heading = Text(("     " + "".join(role.value.ljust(COLUMN) for role in Role)).rstrip(), style="dim")
    lines = [heading]
    for number, change in enumerate(changes, 1):
        cells = Text(f"{number:>3}  ")
        for role in Role:
            level = change.levels[role]
            cells.append((level.word if level else "-").ljust(COLUMN), STYLES[level])
        title = wrap(escape(change.title), max(16, width - cells.cell_len))
        lines += [Text.assemble(cells, title[0]), *indent(title[1:], cells.cell_len)]
    return lines


def _change(number: int, change: Change, drift: Drift, width: int) -> Iterator[Text]:
    levels = Text(", ".join(f"{role.value} {change.levels[role].word}" for role in Role), style="dim")
    yield from ends(Text(f"{number}  {change.aspect.value.upper()}", style=STYLES[change.levels.worst]), levels, width, by=0)
    yield from paragraph(Text(escape(change.title), style="bold"), width, 3)
    for sentence in change.detail:
        yield from paragraph(escape(sentence), width, 3)
    if change.table:
        yield Text()
        yield from _table(change.table)
        yield Text()
    yield from labelled("do", escape(change.must), width, by=3, column=COLUMN)
    for example in change.examples:
        yield from _example(example, change, drift, width)


def _table(table: Table) -> list[Text]:
    sides: list[Literal["left", "right"]] = ["left"] * len(table.headings)
    heading = tuple(Text(escape(cell), style="dim") for cell in table.headings)
    rows = [tuple(Text(escape(cell)) for cell in row) for row in table.rows]
    return indent(columns([heading, *rows], sides), 3)


def _example(example: Example, change: Change, drift: Drift, width: int) -> Iterator[Text]:
    label = f"{example.id}" + (f" and {change.evidence - 1} more" if change.evidence > 1 else "")
    yield from labelled("shown by", escape(label), width, by=3, column=COLUMN)
    for release, side in ((drift.old, example.before), (drift.new, example.after)):
        column = max(COLUMN, len(release) + 7)
        yield from labelled(release, side_words(side), width, by=5, column=column, style="dim")
        if side and side.data and not change.table:
            yield from paragraph(Text(shown_bytes(side.data), style="dim"), width, column)


def side_words(side: Side | None) -> str:
    """One half of an example."""
    return "was not asked" if side is None else escape(side.text)


def shown_bytes(data: bytes) -> str:
    """The first bytes in hexadecimal."""
    return data[:SHOWN_BYTES].hex(" ") + (f" ... ({len(data)} bytes)" if len(data) > SHOWN_BYTES else "")


def _grid(history: History, width: int) -> Iterator[Text]:
    """Generations down the side, groups of releases along the top; more groups than fit go into further tables."""
    narrowest, widest = LABEL_WIDTHS
    label = min(widest, max(narrowest, width - NAME_WIDTH - _CELL * len(history.groups)))
    room = max(4, (width - NAME_WIDTH - label) // _CELL)
    for start in range(0, len(history.groups), room):
        chosen = range(start, min(start + room, len(history.groups)))
        if start:
            yield Text()
        yield from _heading(history, chosen, label)
        previous = None
        for generation in history.generations:
            if set(generation.groups) & set(chosen):
                name = generation.aspect.value if generation.aspect is not previous else ""
                previous = generation.aspect
                yield from _row(name, generation, chosen, label)


_CELL: Final = 4


def _heading(history: History, chosen: range, label: int) -> list[Text]:
    """The first and last release of each group, split at the second dot so that columns stay narrow."""
    cells = [_column(history.groups[index].first, history.groups[index].last) for index in chosen]
    depth = max(len(cell) for cell in cells)
    rows = [[cell[line] if line < len(cell) else "" for cell in cells] for line in range(depth)]
    return [Text(" " * (NAME_WIDTH + label) + "".join(word.rjust(_CELL) for word in row), style="dim") for row in rows]


def _column(first: str, last: str) -> list[str]:
    found = _split(first)
    return found if first == last else [*found, "to", *_split(last)]


def _split(release: str) -> list[str]:
    parts = release.replace("post", "p").split(".")
    return [".".join(parts[:2]), *("." + part for part in parts[2:])]


def _row(name: str, generation: Generation, chosen: range, label: int) -> Iterator[Text]:
    labels = _short(escape(generation.label), label - 2)
    marks = Text()
    for index in chosen:
        level = generation.level
        first = index == generation.groups[0]
        mark = "." if index not in generation.groups else ("o" if level is None else MARKS[level]) if first else "="
        marks.append(mark.rjust(_CELL), STYLES[level or Level.NONE] if first else "dim" if mark == "." else "")
    yield Text.assemble((name.ljust(NAME_WIDTH), "bold"), labels[0], " " * (label - labels[0].cell_len), marks)
    for more in labels[1:]:
        yield Text.assemble(" " * NAME_WIDTH, more)


def _short(label: str, width: int) -> list[Text]:
    """A label on two lines at most; dots say that there was more."""
    lines = wrap(label, width)
    if len(lines) > 2:
        lines[1].truncate(width - 4)
        lines[1].append(" ...")
    return lines[:2]
