"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.numbers import seconds, whole
from harness.plugin import EXAMPLES
from reports.formats.table import FORMATS

Client = Annotated[
    str,
    typer.Option(
        "--client",
        help="The client under test: reference, reference-mp, python:MODULE:CLASS, 'stdio:COMMAND ...', "
        "'docker:IMAGE [COMMAND ...]', or lmcache:RELEASE and lmcache-mp:RELEASE for lmcache's own.",
    ),
]
Releases = Annotated[
    str,
    typer.Option(
        "--lmcache",
        help="Releases of lmcache, separated by commas, or all that are in the corpus.",
        autocompletion=completion.releases,
    ),
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="The wires that cases are about: lm, mp (the multiprocess server), both, or declared for those of which the client "
        "declares an operation.",
        autocompletion=completion.protocols,
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        help="Only cases whose id matches, such as 'lm.roundtrip.*' or 'lm.roundtrip.miss[0.5.6-mock]'; repeatable.",
    ),
]
Summary = Annotated[
    Path | None,
    typer.Option("--summary", metavar="FILE", help="The same as --report markdown=FILE, such as for $GITHUB_STEP_SUMMARY."),
]
Report = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT[=FILE]",
        help=f"Write another report beside the usual ones: {', '.join(FORMATS)}; repeatable. Without FILE it goes into the "
        "folder of the results.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Let --write-expectations overwrite the file.")]
Failures = Annotated[
    int, typer.Option("--failures", metavar="NUMBER", parser=whole(0), help="How many failures to explain on the terminal.")
]
Runtime = Annotated[
    str, typer.Option("--runtime", help="Where the real lmcache runs: venv or docker.", autocompletion=completion.runtimes)
]
Expectations = Annotated[
    Path | None,
    typer.Option(
        "--expectations",
        metavar="FILE",
        help="A list of known failures: they do not fail the run, all others do. Lists that come along are named by "
        "lmcache, lmcache-mp, lmcache-server, lmcache-mp-server, lmcache-l2 and lmcache-remote.",
    ),
]
WriteExpectations = Annotated[
    Path | None,
    typer.Option(
        "--write-expectations",
        metavar="FILE",
        help="Write such a list with every failure of this run; with --expectations, bring that list up to date.",
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Only this part of the cases, such as 2/4; 'lmconform merge' puts the results of all parts together.",
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Folder for results.jsonl, junit.xml and report.html.")]
Examples = Annotated[
    int | None,
    typer.Option(
        "--examples",
        metavar="NUMBER",
        parser=whole(1),
        help=f"Examples of each property (default: {EXAMPLES}, fewer of those that take long).",
    ),
]
Seed = Annotated[
    str,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="What the examples are drawn from; the default gives the same examples in every run, and random another "
        "number each time, which the results name.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="NUMBER",
        parser=whole(1),
        help="Cases at once, each with a subject of its own (default: 2 per processor).",
    ),
]
Deadline = Annotated[
    float,
    typer.Option("--deadline", parser=seconds, metavar="SECONDS", help="How long a call may take before it counts as a hang."),
]
Require = Annotated[
    str,
    typer.Option(
        "--require", metavar="must|should", help="The lowest level whose failures count; those of a SHOULD are told apart else."
    ),
]
Params = Annotated[
    str | None,
    typer.Option(
        "--params",
        metavar="JSON",
        help="Parameters of its constructor; {dir} in them is a fresh folder, {backend} the address of the backend.",
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(
        "--backend", metavar="MODULE:CLASS", help="A class that starts, stops, restarts and slows down the storage behind it."
    ),
]
