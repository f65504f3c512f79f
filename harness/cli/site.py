"""``lmconform site``: drift, compatibility, specification and findings as static pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.site.gather import Wanted, gather
from harness.usage import UsageError, parse_releases
from reports.site.build import build
from reports.site.folder import FolderError, check_folder, write_site
from reports.words import count

_KIB = 1024


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write to: one that is empty, does not exist, or holds such a site.")
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option("--results", metavar="FILE", help="A results file whose client gets a column; several are allowed."),
    ] = None,
    releases: Annotated[
        str, typer.Option("--releases", help="Releases to show, separated by commas, or all that are captured.")
    ] = "all",
    compat: Annotated[
        Path | None,
        typer.Option(
            "--compat",
            metavar="FILE",
            help="What 'lmconform compat --format json' wrote (default: what was measured and comes with lmconform).",
        ),
    ] = None,
) -> None:
    """Write a static site: who can talk to whom, what changed when, the specification, coverage and findings.

    It works from disk and from any web server, and asks for nothing but its own files. DIR/index.html is the first page.

    Exit codes: 0 written, 2 a file or the folder cannot be used.
    """
    console = Console(stderr=True, highlight=False, markup=False)
    chosen = parse_releases(releases)
    try:
        check_folder(folder)
        content = gather(Wanted(chosen, tuple(results or ()), compat), lambda words: console.print(words, soft_wrap=True))
        files = build(content)
        write_site(folder, files)
    except FolderError as error:
        raise UsageError(str(error)) from None
    pages = sum(name.endswith(".html") for name in files)
    typer.echo(
        f"{folder / 'index.html'}: {count(pages, 'page')}, {_size(sum(map(len, files.values())))}, {count(len(files), 'file')}"
    )


def _size(number: int) -> str:
    """Bytes for people."""
    return f"{number / _KIB:.0f} KiB" if number < _KIB * _KIB else f"{number / _KIB / _KIB:.1f} MiB"
