"""``lmconform compat``: who can talk to whom."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

import typer
from rich.console import Console

from harness.cli import options
from harness.cli.numbers import whole
from harness.compat.run import CompatOptions, TargetName, run_compat
from harness.usage import UsageError, parse_releases, parse_runtime
from reports.compat.document import to_json
from reports.compat.model import CompatResult
from reports.compat.page import html, markdown
from reports.compat.text import text_lines
from reports.compat.verdict import exit_code, parse_fail_on
from reports.compat.wording import summary
from reports.terminal import make_console, show
from wire.release import Release

FormatName = Literal["text", "md", "json", "html"]

_WRITERS: Final[Mapping[str, Callable[[CompatResult], str]]] = {
    "text": lambda result: "".join(f"{line.plain}\n" for line in text_lines(result)),
    "md": markdown,
    "json": lambda result: json.dumps(to_json(result), indent=1) + "\n",
    "html": html,
}


def command(
    clients: Annotated[str, typer.Option("--clients", help="Releases that talk, separated by commas, or all.")] = "all",
    servers: Annotated[str, typer.Option("--servers", help="Releases that answer, separated by commas, or all.")] = "all",
    target: Annotated[str, typer.Option("--target", help="What answers: live, the real servers, or mock.")] = "live",
    runtime: options.Runtime = "venv",
    form: Annotated[str, typer.Option("--format", help="text, md, json or html.")] = "text",
    out: Annotated[Path | None, typer.Option("--out", help="File to write (default: standard output).")] = None,
    derive: Annotated[
        bool,
        typer.Option(
            "--derive/--no-derive", help="Play one release of those whose captures are byte-identical, and derive the others."
        ),
    ] = True,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", metavar="NUMBER", parser=whole(1), help="Servers at a time (default: as processors and memory allow)."
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="What ends with 1: any, plain (what strikes plain use), never, or some of wrong,hangs,refused,misses,unknown.",
        ),
    ] = "any",
) -> int:
    """Play the captured frames and keys of some releases against the servers of others, every pair.

    Exit codes: 0 nothing that --fail-on names, 1 some of it, 2 usage or bad input, 3 a server did not start or stopped answering.
    """
    fails = _fails(fail_on)
    chosen = CompatOptions(
        clients=_releases("--clients", clients),
        servers=_releases("--servers", servers),
        target=_target(target),
        runtime=parse_runtime(runtime),
        derive=derive,
        jobs=jobs,
    )
    if form not in get_args(FormatName):
        raise UsageError(f"unknown format {form!r}; formats are {', '.join(get_args(FormatName))}")
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    console = Console(stderr=True, highlight=False, markup=False)
    result = run_compat(chosen, progress=lambda words: console.print(words, soft_wrap=True))
    _write(result, form, out)
    return int(exit_code(result, fails))


def _write(result: CompatResult, form: str, out: Path | None) -> None:
    if out is not None:
        out.write_text(_WRITERS[form](result), encoding="utf-8")
        typer.echo(f"{out}: {summary(result)}")
    elif form == "text":
        console = make_console()
        show(console, text_lines(result, width=console.width))
    else:
        sys.stdout.write(_WRITERS[form](result))


def _releases(option: str, text: str) -> list[Release]:
    if not text.strip(" ,"):
        raise UsageError(f"{option} names no release; write {option} 0.5.6, or {option} all")
    return parse_releases(text)


def _target(text: str) -> TargetName:
    for name in get_args(TargetName):
        if text == name:
            found: TargetName = name
            return found
    raise UsageError(f"unknown target {text!r}; targets of this command are {', '.join(get_args(TargetName))}")


def _fails(text: str) -> frozenset[str]:
    try:
        return parse_fail_on(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
