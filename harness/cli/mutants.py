"""``lmconform mutants``: proof that every case can fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from harness.cli import options
from harness.cli.numbers import seconds, whole
from harness.killmatrix.run import MutantOptions, run_mutants, selected
from harness.l2.spec import KINDS
from harness.mutants.mutant import AnyMutant
from harness.protocols import Protocol
from harness.sides import FACTS, parse_side
from harness.usage import UsageError
from reports.layout import paragraph
from reports.mutants.document import to_json
from reports.mutants.text import by_side, text_lines
from reports.side import Side
from reports.terminal import make_console, show
from reports.verdict import ExitCode


def command(
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="Whose cases and mutants: lm, mp (the multiprocess server), l2 (its storage plugins), or remote (connectors).",
        ),
    ] = "lm",
    side: Annotated[
        str | None,
        typer.Option(
            "--side",
            help="Whose runs, where a protocol has several: client (default; the mock server has its part in them) or server.",
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Of plugins: native_plugin (default) or plugin.")
    ] = None,
    lmcache: Annotated[
        str | None,
        typer.Option(
            "--lmcache",
            help="Releases, separated by commas, or all (default: the newest and the oldest captured one, and the fewest others "
            "in which the rest of the mutants show).",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="What defective clients meet, any of fixtures,mock,live (default: fixtures,mock); likewise for other sides. In "
            "runs of clients defective servers meet all that judge servers.",
        ),
    ] = None,
    only_mutant: Annotated[
        list[str] | None,
        typer.Option("--only-mutant", help="Only mutants whose name matches, such as 'key-*'; repeatable."),
    ] = None,
    only: options.Only = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="NUMBER", parser=whole(1), help="Mutants at a time (default: 2 per processor)."),
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="Every mutant meets every execution, instead of as few as show the same.")
    ] = False,
    deadline: Annotated[
        float | None,
        typer.Option(
            "--deadline",
            parser=seconds,
            metavar="SECONDS",
            help="How long a call may take before a mutant hangs (default: 3, and 10 for plugins and connectors).",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File for everything that was found, as JSON.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show the mutants and what they stand for, and run nothing.")] = False,
) -> int:
    """Let every mutant, a client or server with one defect, meet the cases: each must be found, and each case must find one.

    Exit codes: 0 shown, 1 a mutant survived or met no case, or a case found nothing, 2 usage or bad input, 3 the harness failed.
    """
    about = _protocol(protocol)
    run = _side(about, side)
    _require_kind(run, kind)
    chosen = selected(tuple(only_mutant or ()), about, run, kind)
    if listed:
        _list(chosen)
        return int(ExitCode.CONFORMANT)
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    told = Console(stderr=True, highlight=False, markup=False)
    matrix = run_mutants(
        MutantOptions(
            protocol=about,
            side=run,
            kind=kind,
            lmcache=lmcache,
            target=target,
            only_mutants=tuple(only_mutant or ()),
            only=tuple(only or ()),
            mode="complete" if complete else "covering",
            jobs=jobs,
            deadline=deadline,
        ),
        lambda words: told.print(words, soft_wrap=True),
    )
    if out is not None:
        out.write_text(json.dumps(to_json(matrix), indent=1) + "\n", encoding="utf-8")
    console = make_console()
    show(console, text_lines(matrix, width=console.width))
    return int(ExitCode.CONFORMANT if matrix.shown else ExitCode.NOT_CONFORMANT)


def _protocol(text: str) -> Protocol:
    known = {protocol: protocol for facts in FACTS.values() for protocol in facts.protocols}
    if text not in known:
        raise UsageError(f"unknown protocol {text!r}; write one of {', '.join(known)}, each of which is a kill matrix of its own")
    return next(protocol for protocol in known if protocol == text)


def _side(protocol: Protocol, text: str | None) -> Side:
    """Whose runs; by default the first side that has cases of the protocol."""
    sides = [side for side, facts in FACTS.items() if protocol in facts.protocols]
    if text is None:
        return sides[0]
    side = parse_side(text)
    if side not in sides:
        theirs = " or ".join(f"--protocol {one}" for one in FACTS[side].protocols)
        raise UsageError(f"--protocol {protocol} has no cases of a {side}; write --side {' or --side '.join(sides)}, or {theirs}")
    return side


def _require_kind(side: Side, kind: str | None) -> None:
    """Refuse a type of plugin that does not exist, and one of anything else."""
    if kind is not None and side != "plugin":
        raise UsageError(f"--type is for plugins (--protocol l2); mutants of a {side} have none")
    if kind is not None and kind not in KINDS:
        raise UsageError(f"unknown type of plugin {kind!r}; write one of {', '.join(KINDS)}")


def _list(mutants: list[AnyMutant]) -> None:
    console = make_console()
    lines: list[Text] = []
    for mutant in mutants:
        where = "" if str(mutant.releases) == "0.3.1 and later" else f"  ({mutant.releases})"
        lines += [Text.assemble((mutant.name, "bold"), f"  {mutant.side}{where}")]
        lines += paragraph(mutant.defect, console.width, 4)
        lines += paragraph(f"stands for: {mutant.stands_for}", console.width, 4)
    show(console, lines)
    console.print(f"\n{by_side(mutant.side for mutant in mutants)}")
