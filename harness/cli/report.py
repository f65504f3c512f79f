"""``lmconform report``: write the results of a run in any format, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.files import results_file, write_document
from harness.usage import UsageError
from harness.wanted import context_of, read_address, read_format, read_place
from reports.bench.document import read_bench
from reports.formats.table import FORMATS
from reports.results import read_results
from reports.terminal import make_console, print_summary


def command(
    results: Annotated[Path, typer.Argument(help="A results file, or the folder that holds it.", metavar="RESULTS")],
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "text",
    out: Annotated[Path | None, typer.Option("--out", help="File to write (default: standard output).")] = None,
    failures: options.Failures = 10,
    sarif_location: Annotated[
        str | None,
        typer.Option(
            "--sarif-location",
            metavar="FILE[:LINE]",
            help="Where code scanning shows findings, as seen from the root of the repository, such as the source of the adapter "
            "(default: the record in the results file).",
        ),
    ] = None,
    spec_url: Annotated[
        str | None,
        typer.Option("--spec-url", metavar="URL", help="Where docs/spec is published; rules of SARIF link to its pages."),
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="The left side of a badge.")] = None,
    bench: Annotated[
        Path | None,
        typer.Option("--bench", metavar="FILE", help="The bench.json of the same client, whose plots the page shows as well."),
    ] = None,
) -> int:
    """Write the results of a run in another format, without running anything.

    Exit codes: 0 written, whatever the results say, 2 usage or bad input.
    """
    chosen = read_format(form, "--format")
    place, address = read_place(sarif_location), read_address(spec_url)
    for option, value, names in (
        ("--sarif-location", place, ("sarif",)),
        ("--spec-url", address, ("sarif",)),
        ("--label", label, ("badge-json", "badge-svg")),
        ("--bench", bench, ("html",)),
    ):
        if value is not None and chosen.name not in names:
            raise UsageError(f"{option} is for --format {' and '.join(names)}, not for {chosen.name}")
    path = results_file(results)
    run = read_results(path)
    if chosen.name == "text" and out is None:
        print_summary(make_console(), run, path, limit=failures)
        return 0
    measured = read_bench(bench) if bench is not None else None
    data = chosen.write(run, context_of(path, place=place, label=label, specification=address, bench=measured))
    write_document(data, out, taken=(path, *([bench] if bench is not None else [])))
    if out is not None:
        typer.echo(f"{out}: {chosen.name} of {path}", err=True)
    return 0
