"""The kill matrix for a terminal or a log: what killed each mutant, what is idle, and the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.text import Text

from reports.escape import escape
from reports.layout import fit, labelled, paragraph, wrap
from reports.mutants.model import IdleCase, KillMatrix, Meeting, MutantRow, Survivor
from reports.plain import clip
from reports.side import SIDES, Side
from reports.words import count

NAMED = 12
"""Idle executions of a case that are named."""
NOISES = 3
"""Executions that ended badly without being a kill, shown of a survivor."""
_COLUMN = 4
_NO_FINDING = "A crash, an answer against the contract of adapters, a fault of the harness or the mock is no finding of a case."
_WHY = 160


def text_lines(matrix: KillMatrix, *, width: int = 100) -> list[Text]:
    """One block for each mutant, then survivors, idle cases and totals."""
    width = fit(width)
    parts: list[list[Text]] = [_head(matrix, width)]
    for release in matrix.releases:
        rows = [row for row in matrix.mutants if release in row.releases and (_seeks(matrix) or _killed(matrix, row, release))]
        if rows:
            parts.append(
                [Text(f"lmcache {release}", style="bold"), *(line for row in rows for line in _row(matrix, row, release, width))]
            )
    parts += [_others(matrix, width), _survivors(matrix.survivors, width), _unmet(matrix, width), _missed(matrix, width)]
    parts += [_idle(matrix.idle, width), _excused(matrix, width), totals(matrix, width)]
    lines: list[Text] = []
    for part in filter(None, parts):
        lines += [*part, Text()]
    return lines[:-1]


def by_side(sides: Iterable[Side]) -> str:
    """How many mutants there are of each side, such as ``222 mutants of the client and 45 of the server``."""
    counts = Counter(sides)
    first, *others = [side for side in SIDES if counts[side]] or [SIDES[0]]
    return " and ".join(
        [f"{count(counts[first], 'mutant')} of the {first}", *(f"{counts[side]} of the {side}" for side in others)]
    )


def totals(matrix: KillMatrix, width: int = 100) -> list[Text]:
    """The verdict, and the line for those who read no more."""
    sought = {column.id for column in matrix.executions if column.release not in matrix.extra_releases}
    busy = len(sought & {meeting.execution for meeting in matrix.meetings if meeting.killed})
    rest = [f"{matrix.seconds:.0f} s with {count(matrix.jobs, 'worker')}"]
    if not matrix.all_mutants:
        rest.append("some mutants alone, so that idle cases are not looked for")
    if not matrix.all_cases:
        rest.append("some cases alone" + (", so that survivors are not looked for" if matrix.all_mutants else ""))
    word = Text("SHOWN", style="bold green") if matrix.shown else Text("NOT SHOWN", style="bold red")
    return wrap(
        Text.assemble(
            word,
            f"  {by_side(row.side for row in matrix.mutants)}, "
            f"{count(len(matrix.survivors), 'survivor')}, "
            f"{len(matrix.unmet)} not met; {busy} of {count(len(sought), 'execution')} "
            f"killed something, {count(sum(len(case.executions) for case in matrix.idle), 'execution')} idle; "
            f"{count(len(matrix.meetings), 'meeting')} in {'; '.join(rest)}",
        ),
        width,
    )


def _head(matrix: KillMatrix, width: int) -> list[Text]:
    how = {
        "covering": "covering: each mutant until a case has found it, each execution until it has found a mutant",
        "complete": "complete: every mutant and every execution",
    }[matrix.mode]
    lines = wrap(Text.assemble(("The kill matrix", "bold"), f"  {how}"), width)
    if matrix.extra_releases:
        only = f"in {', '.join(matrix.extra_releases)} only the mutants that show in no other of these releases met cases"
        lines += paragraph(only, width, 2)
    return lines


def _row(matrix: KillMatrix, row: MutantRow, release: str, width: int) -> list[Text]:
    kills = matrix.kills.get((row.name, release), ())
    head = Text.assemble((row.name, "bold" if kills else "bold red"), f"  {row.defect}" if not kills else "")
    if not kills:
        return [*paragraph(head, width, 2), *paragraph(Text("SURVIVES", style="red"), width, _COLUMN)]
    cases = len({matrix.column(kill.execution).case for kill in kills})
    said = f"killed by {count(len(kills), 'execution')} in {count(cases, 'case')}, first: {_said(kills[0])}"
    return [*paragraph(head, width, 2), *paragraph(said, width, _COLUMN)]


def _seeks(matrix: KillMatrix) -> bool:
    """Whether a mutant that lives on is a fault: where cases were left out, those may be the ones that find it."""
    return matrix.all_cases or not matrix.all_mutants


def _killed(matrix: KillMatrix, row: MutantRow, release: str) -> bool:
    return (row.name, release) in matrix.kills


def _others(matrix: KillMatrix, width: int) -> list[Text]:
    others = sum(not any(_killed(matrix, row, release) for release in row.releases) for row in matrix.mutants)
    if _seeks(matrix) or not others:
        return []
    found, them = ("was", "it") if others == 1 else ("were", "them")
    said = f"{count(others, 'other mutant')} {found} not found by these cases; other cases may find {them}"
    return paragraph(said, width, 0)


def _said(meeting: Meeting) -> str:
    why = " ".join(escape(clip(meeting.why)).split())
    return f"{meeting.execution}: {why if len(why) <= _WHY else why[:_WHY] + '...'}"


def _survivors(survivors: Sequence[Survivor], width: int) -> list[Text]:
    if not survivors:
        return []
    lines = [Text("Survivors: no case asserted anything that they break", style="bold red")]
    for survivor in survivors:
        met = count(survivor.met, "execution")
        lines += labelled(survivor.mutant, f"lmcache {survivor.release}, met {met}", width, by=2, column=36)
        for noise in survivor.noises[:NOISES]:
            lines += paragraph(f"{noise.verdict} in {_said(noise)}", width, _COLUMN)
        if survivor.noises:
            lines += paragraph(_NO_FINDING, width, _COLUMN)
    return [*lines, *paragraph("Write a case that finds them, or strengthen the one that should have.", width, 2)]


def _unmet(matrix: KillMatrix, width: int) -> list[Text]:
    if not matrix.unmet:
        return []
    lines = [Text("Not met: these show in none of the releases, so that nothing is shown of them", style="bold red")]
    for row in matrix.unmet:
        lines += labelled(row.name, f"shows in lmcache {row.where}", width, by=2, column=36)
    return [*lines, *paragraph("Leave --lmcache out, or name a release of each.", width, 2)]


def _missed(matrix: KillMatrix, width: int) -> list[Text]:
    if not matrix.missed:
        return []
    lines = [Text("Said to find a mutant, and did not (another case did)", style="bold yellow")]
    for missed in matrix.missed:
        met = count(missed.met, "execution")
        lines += labelled(missed.mutant, f"lmcache {missed.release}: {missed.pattern}, {met}", width, by=2, column=36)
    return [*lines, *paragraph("Take it out of found_by, or strengthen the case.", width, 2)]


def _idle(idle: Sequence[IdleCase], width: int) -> list[Text]:
    if not idle:
        return []
    lines = [Text("Idle: these have found no mutant", style="bold red")]
    for case in idle:
        what = "no execution finds anything" if case.wholly else f"{len(case.executions)} of {count(case.of, 'execution')}"
        lines += wrap(Text.assemble("  ", (case.case, "bold"), f"  lmcache {case.release}: {what}"), width)
        lines += paragraph(case.title, width, _COLUMN)
        for execution in case.executions[:NAMED]:
            lines += [Text(f"{' ' * _COLUMN}{execution}")]
        if len(case.executions) > NAMED:
            lines += [Text(f"{' ' * _COLUMN}... and {len(case.executions) - NAMED} more, in the file of --out")]
    advice = "Write a mutant that only such an execution finds; if no defect can make it fail, it says nothing and goes."
    return [*lines, *paragraph(advice, width, 2)]


def _excused(matrix: KillMatrix, width: int) -> list[Text]:
    if not matrix.excused:
        return []
    lines = [Text("Excused", style="bold")]
    for execution, reason in matrix.excused.items():
        lines += paragraph(f"{execution}: {reason}", width, 2)
    needless = sorted(set(matrix.needless_excuses))
    if needless:
        lines += paragraph(f"No longer needed, since these find something: {', '.join(needless)}", width, 2)
    return lines
