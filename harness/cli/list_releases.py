"""``lmconform releases``: what is captured, for people and for the matrix of a CI service."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from fixturegen.errors import CorpusError
from fixturegen.manifest import Protocol
from harness.generations import PROTOCOLS, Captured, captured
from harness.usage import UsageError
from reports.words import count


class Format(StrEnum):
    """How releases are listed."""

    TEXT = "text"
    NAMES = "names"
    JSON = "json"


def command(
    newest: Annotated[bool, typer.Option("--newest", help="Only the newest release of each generation.")] = False,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="Only releases with this wire, and its generations: lm or mp.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="A table, the names on one line as --lmcache takes them, or JSON.")
    ] = Format.TEXT,
) -> None:
    """List the captured releases, the wires that they have, and which of them are the same on the wire.

    Releases of one generation were seen to be the same, byte for byte: to judge its newest release says what the others say.
    """
    wires = _wires(protocol)
    found = [one for one in captured() if any(wire in one.generation for wire in wires)]
    if not found:
        raise CorpusError("no release is captured; run 'lmconform capture RELEASE'")
    shown = [one for one in found if one.newest(wires)] if newest else found
    if form is Format.NAMES:
        typer.echo(",".join(str(one.release) for one in shown))
    elif form is Format.JSON:
        typer.echo(json.dumps({"releases": [one.to_json() for one in shown]}))
    else:
        _print(shown, wires)


def _wires(protocol: str | None) -> tuple[Protocol, ...]:
    chosen = tuple(wire for wire in PROTOCOLS if protocol in {None, wire})
    if not chosen:
        raise UsageError(f"unknown protocol {protocol!r}; write one of {', '.join(PROTOCOLS)}, or leave it out for all")
    return chosen


def _print(shown: list[Captured], wires: tuple[Protocol, ...]) -> None:
    width = max(len(str(one.release)) for one in shown)
    for one in shown:
        same = "  ".join(_told(one, wire).ljust(width + 11) for wire in wires)
        typer.echo(f"{one.release!s:{width}}  {same}".rstrip())
    generations = ", ".join(f"{len({one.generation.get(wire) for one in shown} - {None})} of {wire}" for wire in wires)
    typer.echo(f"\n{count(len(shown), 'release')}; generations: {generations}")


def _told(one: Captured, wire: Protocol) -> str:
    newest = one.generation.get(wire)
    if newest is None:
        return f"{wire} -"
    return wire if newest == one.release else f"{wire} as {newest}"
