"""``lmconform list``: what a run would execute, and what each case is about."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import options
from harness.protocols import BOTH
from harness.runner import collect_cases
from harness.sides import FACTS, parse_side
from reports.words import count


def command(
    lmcache: options.Releases = "all",
    side: Annotated[str, typer.Option("--side", help="Whose runs: those of a client, server, plugin or connector.")] = "client",
    target: Annotated[
        str | None, typer.Option("--target", help="What they run against, as for the command (default: all there is).")
    ] = None,
    only: options.Only = None,
    protocol: options.Protocol = BOTH,
    ids: Annotated[bool, typer.Option("--ids", help="Every execution, one id a line, instead of one line a case.")] = False,
) -> None:
    """List cases with their requirements and descriptions, or with --ids every execution."""
    about = parse_side(side)
    targets = target if target is not None else ",".join(FACTS[about].targets)
    found = collect_cases(lmcache=lmcache, target=targets, only=tuple(only or ()), protocol=protocol, side=about)
    if ids:
        for listed in found:
            typer.echo(listed.id)
        return
    counts: dict[str, int] = {}
    for listed in found:
        counts[listed.name] = counts.get(listed.name, 0) + 1
    shown = set()
    for listed in found:
        if listed.name not in shown:
            shown.add(listed.name)
            typer.echo(f"{listed.name}  ({count(counts[listed.name], 'execution')})  {', '.join(listed.cites)}")
            typer.echo(f"    {listed.title}")
    typer.echo(f"\n{count(len(shown), 'case')}, {count(len(found), 'execution')}")
