"""``lmconform diff``: what became of the cases of one run in another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from harness.cli.numbers import whole
from harness.files import results_file, write_document
from harness.usage import UsageError
from reports.diff.compare import compare
from reports.diff.document import dumps
from reports.diff.model import Comparison, ComparisonError, Releases, Run
from reports.diff.page import TITLE, html, markdown
from reports.diff.text import GROUPS, text_lines
from reports.diff.verdict import DEFAULT, exit_code, headline_of, parse_fail_on
from reports.results import read_results
from reports.terminal import make_console, show

FORMATS: Final = ("text", "markdown", "html", "json")
FILE_WIDTH: Final = 100
"""Columns of text that is written to a file."""


def command(
    old: Annotated[Path, typer.Argument(help="Results to compare with, or the folder that holds them.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="Results to look at, or the folder that holds them.", metavar="NEW")],
    releases: Annotated[
        str | None,
        typer.Option(
            "--releases",
            metavar="OLD:NEW",
            help="Compare one release of OLD with another of NEW, such as 0.5.5:0.5.6; OLD and NEW may be the same run.",
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "text",
    out: Annotated[Path | None, typer.Option("--out", help="File to write (default: standard output).")] = None,
    title: Annotated[
        str, typer.Option("--title", help="The heading of Markdown and HTML; the marker of a comment has it as well.")
    ] = TITLE,
    causes: Annotated[
        int,
        typer.Option("--causes", metavar="NUMBER", parser=whole(1), help="How many causes of each kind are told as text."),
    ] = GROUPS,
    fail_on: Annotated[
        str,
        typer.Option("--fail-on", help="Kinds of changes that end with 1, separated by commas, or any, or never."),
    ] = DEFAULT,
) -> int:
    """Compare two runs, case by case: what is broken, fixed, new, gone, not run, or fails for another reason.

    Exit codes: 0 nothing that --fail-on names, 1 some of it, 2 usage or bad input, 3 nothing can be concluded: a run is
    incomplete, or harness, mock or environment failed in NEW.
    """
    if form not in FORMATS:
        raise UsageError(f"--format {form}: there is no such format; formats are {', '.join(FORMATS)}")
    try:
        fails = parse_fail_on(fail_on)
    except ValueError as error:
        raise UsageError(str(error)) from None
    chosen = _releases(releases)
    before, after = results_file(old), results_file(new)
    try:
        found = compare(Run(str(before), read_results(before)), Run(str(after), read_results(after)), chosen)
    except ComparisonError as error:
        raise UsageError(str(error)) from None
    code = exit_code(found, fails)
    if form == "text" and out is None:
        console = make_console()
        show(console, text_lines(found, width=console.width, groups=causes))
        return int(code)
    documents: Mapping[str, Callable[[], str]] = {
        "text": lambda: _text(found, causes),
        "markdown": lambda: markdown(found, title),
        "html": lambda: html(found, title),
        "json": lambda: dumps(found, fails),
    }
    write_document(documents[form]().encode(errors="backslashreplace"), out, taken=(before, after))
    if out is not None:
        said = headline_of(found)
        typer.echo(f"{out}: {said.word}, {said.because}", err=True)
    return int(code)


def _text(found: Comparison, causes: int) -> str:
    return "".join(f"{line.plain}\n" for line in text_lines(found, width=FILE_WIDTH, groups=causes))


def _releases(text: str | None) -> Releases | None:
    if text is None:
        return None
    old, separator, new = text.partition(":")
    if not separator or not old.strip() or not new.strip():
        raise UsageError(f"--releases {text}: write the release of OLD and that of NEW, such as 0.5.5:0.5.6")
    return Releases(old.strip(), new.strip())
