"""``lmconform compat``: who can talk to whom."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Generic, Literal, TypeVar, get_args

import typer
from rich.console import Console
from rich.text import Text

from harness.cli import options
from harness.cli.numbers import whole
from harness.compat.collide import collisions_of, speakers
from harness.compat.demonstrate import demonstrate
from harness.compat.run import CompatOptions, TargetName, run_compat
from harness.usage import UsageError, parse_releases, parse_runtime
from reports.collisions import document as mp_document
from reports.collisions import page as mp_page
from reports.collisions import text as mp_text
from reports.collisions import verdict as mp_verdict
from reports.collisions import wording as mp_wording
from reports.collisions.matrix import Collisions
from reports.compat import document as lm_document
from reports.compat import page as lm_page
from reports.compat import text as lm_text
from reports.compat import verdict as lm_verdict
from reports.compat import wording as lm_wording
from reports.compat.model import CompatResult
from reports.terminal import make_console, show
from wire.release import Release

FormatName = Literal["text", "md", "json", "html"]
ProtocolName = Literal["lm", "mp"]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Writer(Generic[Result]):
    """How the result of a protocol is written."""

    lines: Callable[[Result, int], Sequence[Text]]
    """For a width."""
    documents: Mapping[str, Callable[[Result], str]]
    """All formats but text."""
    summary: Callable[[Result], str]


_LM: Final = Writer[CompatResult](
    lambda result, width: lm_text.text_lines(result, width=width),
    {
        "md": lm_page.markdown,
        "json": lambda result: json.dumps(lm_document.to_json(result), indent=1) + "\n",
        "html": lm_page.html,
    },
    lm_wording.summary,
)
_MP: Final = Writer[Collisions](
    lambda result, width: mp_text.text_lines(result, width=width),
    {
        "md": mp_page.markdown,
        "json": lambda result: json.dumps(mp_document.to_json(result), indent=1) + "\n",
        "html": mp_page.html,
    },
    mp_wording.summary,
)
FILE_WIDTH: Final = 100
"""Columns of text that is written to a file."""


def command(
    clients: Annotated[str, typer.Option("--clients", help="Releases that talk, separated by commas, or all.")] = "all",
    servers: Annotated[str, typer.Option("--servers", help="Releases that answer, separated by commas, or all.")] = "all",
    protocol: Annotated[
        str,
        typer.Option("--protocol", help="lm, or mp: what operations do at the multiprocess server of another release."),
    ] = "lm",
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="What answers: live, the real servers, or mock. With mp all is derived, and a target plays the worst as well.",
            show_default="live; none with --protocol mp",
        ),
    ] = None,
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
            help="What ends with 1: any, plain (what strikes plain use), never, or some of wrong,hangs,refused,misses,unknown; "
            "with mp of destroys,corrupts,leaks,kills,misleads,strands,hangs.",
        ),
    ] = "any",
) -> int:
    """Play the captured frames and keys of some releases against the servers of others, every pair.

    With --protocol mp: which operation of the client executes which one of the server, and with what harm.

    Exit codes: 0 nothing that --fail-on names, 1 some of it, 2 usage or bad input, 3 a server did not start or stopped answering.
    """
    if protocol not in get_args(ProtocolName):
        raise UsageError(f"unknown protocol {protocol!r}; protocols of this command are {', '.join(get_args(ProtocolName))}")
    fails = _fails(fail_on, mp_verdict.parse_fail_on if protocol == "mp" else lm_verdict.parse_fail_on)
    talk, answer = _releases("--clients", clients), _releases("--servers", servers)
    if protocol == "mp":
        talk = speakers("--clients", talk, named=clients != "all")
        answer = speakers("--servers", answer, named=servers != "all")
        if jobs is not None or not derive:
            raise UsageError("--jobs and --no-derive belong to --protocol lm: with mp all is derived")
    where, place = _target(target), parse_runtime(runtime)
    _require_writable(form, out)
    console = Console(stderr=True, highlight=False, markup=False)

    def progress(words: str) -> None:
        console.print(words, soft_wrap=True)

    if protocol == "mp":
        found = collisions_of(talk, answer)
        if where is not None:
            found = replace(found, demonstrations=demonstrate(found, where, place, progress))
        _write(found, _MP, form, out)
        return int(mp_verdict.exit_code(found, fails))
    chosen = CompatOptions(talk, answer, target=where or "live", runtime=place, derive=derive, jobs=jobs)
    result = run_compat(chosen, progress=progress)
    _write(result, _LM, form, out)
    return int(lm_verdict.exit_code(result, fails))


def _require_writable(form: str, out: Path | None) -> None:
    if form not in get_args(FormatName):
        raise UsageError(f"unknown format {form!r}; formats are {', '.join(get_args(FormatName))}")
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")


def _write(result: Result, writer: Writer[Result], form: str, out: Path | None) -> None:
    if out is None and form == "text":
        console = make_console()
        show(console, writer.lines(result, console.width))
        return
    if form == "text":
        text = "".join(f"{line.plain}\n" for line in writer.lines(result, FILE_WIDTH))
    else:
        text = writer.documents[form](result)
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"{out}: {writer.summary(result)}")


def _releases(option: str, text: str) -> list[Release]:
    if not text.strip(" ,"):
        raise UsageError(f"{option} names no release; write {option} 0.5.6, or {option} all")
    return parse_releases(text)


def _target(text: str | None) -> TargetName | None:
    if text is None:
        return None
    for name in get_args(TargetName):
        if text == name:
            found: TargetName = name
            return found
    raise UsageError(f"unknown target {text!r}; targets of this command are {', '.join(get_args(TargetName))}")


def _fails(text: str, parse: Callable[[str], frozenset[str]]) -> frozenset[str]:
    try:
        return parse(text)
    except ValueError as error:
        raise UsageError(str(error)) from None
