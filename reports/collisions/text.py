"""The collisions for a terminal or a log."""

from __future__ import annotations

from rich.text import Text

from reports.collisions.demonstration import Demonstration
from reports.collisions.fates import Pair
from reports.collisions.harm import MEANINGS, STYLES, WORDS, Grade, Harm
from reports.collisions.matrix import Collision, Collisions, Step
from reports.collisions.wording import FEW_PAIRS, act_lines, met, summary, survival, told, unasked, where
from reports.escape import escape
from reports.layout import columns, fit, indent, labelled, paragraph, wrap


def text_lines(result: Collisions, *, width: int = 100) -> list[Text]:
    """The matrix and its letters, what is met where, and what survives an update; of few pairs every operation."""
    width = fit(width)
    parts = [
        wrap(Text.assemble(("Operations of one release at the server of another", "bold"), f"  {summary(result)}"), width),
        _matrix(result),
        _legend(result, width),
        _generations(result, width),
    ]
    if len(result.pairs) <= FEW_PAIRS:
        parts += [_pair(pair, width) for pair in result.pairs]
    else:
        parts.append(_collisions(result, width))
    parts.append(_steps(result, width))
    parts += [_demonstration(found, width) for found in result.demonstrations]
    lines: list[Text] = []
    for part in filter(None, parts):
        lines += [*part, Text()]
    return lines[:-1]


def _letter(grade: Grade) -> Text:
    return Text(grade.letter, style=STYLES[grade.harm])


def _matrix(result: Collisions) -> list[Text]:
    longest = max(len(found.name) for found in result.client_generations)
    margin = " " * (longest + 3)
    lines = [Text(f"{margin}servers", style="dim")]
    lines.append(Text(margin + " ".join(found.label for found in result.server_generations), style="bold"))
    for client in result.client_generations:
        line = Text.assemble(f"{client.name:>{longest}} ", (client.label, "bold"))
        for server in result.server_generations:
            line.append(" ").append_text(_letter(result.played[client.newest, server.newest].grade))
        lines.append(line)
    return lines


def _legend(result: Collisions, width: int) -> list[Text]:
    present = {fate.grade for pair in result.pairs for fate in pair.fates}
    lines = []
    for harm in Harm:
        letters = dict.fromkeys(grade.letter for grade in sorted(present, reverse=True) if grade.harm is harm)
        if letters:
            words = Text.assemble((WORDS[harm], STYLES[harm]), f": {MEANINGS[harm]}")
            lines += labelled(" ".join(letters), words, width, by=2, column=7)
    small = "a small letter strikes only blending, peers, experiments or odd payloads; a cell shows the worst; rows are clients"
    return lines + labelled("aA", small, width, by=2, column=7)


def _generations(result: Collisions, width: int) -> list[Text]:
    lines = wrap(Text.assemble(("Generations", "bold"), ": releases of which no message has another outcome"), width)
    for found in result.generations:
        lines += labelled(found.label, ", ".join(found.releases), width, by=2, column=7, style="bold")
    return lines


def _collisions(result: Collisions, width: int) -> list[Text]:
    """What is met, the worst first; what only hangs is counted."""
    shown = [found for found in result.collisions if found.fate.grade.harm not in (Harm.HANGS, Harm.KILLS)]
    lines = [Text.assemble(("What is met", "bold"), ", the worst first: client -> server")]
    for found in shown:
        lines += _collision(found, result, width)
    for plain in (True, False):
        lines += _counted(result, Grade(Harm.KILLS, plain), width)
        lines += _counted(result, Grade(Harm.HANGS, plain), width)
    lines += paragraph(
        Text("'--clients A --servers B' tells a pair operation by operation, '--format json' all pairs", style="dim"), width, 2
    )
    return lines


def _collision(found: Collision, result: Collisions, width: int) -> list[Text]:
    fate = found.fate
    words = Text.assemble(
        (f"{fate.operation}", "bold"),
        f": {escape(fate.what)}",
        f"; {unasked(fate)}" if unasked(fate) else "",
        f"; only with {fate.odd}" if fate.odd else "",
    )
    lines = labelled(fate.grade.letter, words, width, by=2, column=5, style=STYLES[fate.grade.harm])
    return lines + labelled("", Text(where(found, result), style="dim"), width, by=2, column=7)


def _counted(result: Collisions, grade: Grade, width: int) -> list[Text]:
    found: dict[str, set[tuple[str, str]]] = {}
    for collision in result.collisions:
        if collision.fate.grade == grade:
            found.setdefault(collision.fate.operation, set()).update(collision.pairs)
    if not found:
        return []
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    words = f"{grade.words}, in so many pairs: {', '.join(f'{operation} {len(pairs)}' for operation, pairs in ordered)}"
    return labelled(grade.letter, words, width, by=2, column=5, style=STYLES[grade.harm])


def _pair(pair: Pair, width: int) -> list[Text]:
    """Every operation of one pair."""
    head = Text.assemble((f"{pair.client} -> {pair.server}", "bold"), "  client -> server, every operation")
    rows = [
        (_letter(fate.grade), Text(fate.operation), Text(str(fate.number), style="dim"), Text(met(fate))) for fate in pair.fates
    ]
    lines = [head, *indent(columns(rows, ("left", "left", "right", "left")), 2)]
    if pair.troubles:
        lines.append(Text("  why", style="bold"))
    for fate in pair.troubles:
        words = Text.assemble((fate.operation, "bold"), f": {escape(told(fate))}", f"; {unasked(fate)}" if unasked(fate) else "")
        lines += labelled(fate.grade.letter, words, width, by=2, column=5, style=STYLES[fate.grade.harm])
    return lines


def _steps(result: Collisions, width: int) -> list[Text]:
    if not result.steps:
        return []
    lines = wrap(
        Text.assemble(("What survives an update", "bold"), ": operations of plain use that work while one side is old"), width
    )
    for step in result.steps:
        lines += _step(step, width)
    return lines


def _step(step: Step, width: int) -> list[Text]:
    lines = [Text(f"  {step.old.name} -> {step.new.name}", style="bold")]
    for words, pair in (("server first", step.server_first), ("clients first", step.clients_first)):
        label = f"{pair.grade.letter} {words}"
        lines += labelled(label, survival(pair), width, by=4, column=22, style=STYLES[pair.grade.harm])
    return lines


def _demonstration(found: Demonstration, width: int) -> list[Text]:
    how = "the real server" if found.target == "live" else "the mock"
    lines = wrap(Text.assemble(("Demonstrated: ", "bold"), (found.title, "bold"), f"  {how} of {found.server}"), width)
    for act in found.acts:
        for line in act_lines(act):
            lines += paragraph(escape(line), width, 2)
    if found.problem is not None:
        return lines + paragraph(Text(f"not shown: {escape(found.problem)}", style="bold magenta"), width, 2)
    style = "bold red" if found.shown else "bold green"
    return lines + paragraph(Text(found.verdict, style=style), width, 2)
