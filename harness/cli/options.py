"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.numbers import whole

Client = Annotated[
    str,
    typer.Option(
        "--client",
        help="The client under test: reference, reference-mp, python:MODULE:CLASS, 'stdio:COMMAND ...', "
        "'docker:IMAGE [COMMAND ...]', or lmcache:RELEASE and lmcache-mp:RELEASE for lmcache's own.",
    ),
]
Releases = Annotated[
    str, typer.Option("--lmcache", help="Releases of lmcache, separated by commas, or all that are in the corpus.")
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="The wires that cases are about: lm, mp (the multiprocess server), both, or declared for those of which the client "
        "declares an operation.",
    ),
]
Targets = Annotated[str, typer.Option("--target", help="Any of fixtures,mock,live.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        help="Only cases whose id matches, such as 'lm.roundtrip.*' or 'lm.roundtrip.miss[0.5.6-mock]'; repeatable.",
    ),
]
Summary = Annotated[
    Path | None,
    typer.Option("--summary", metavar="FILE", help="Write a summary in Markdown there, such as to $GITHUB_STEP_SUMMARY."),
]
Force = Annotated[bool, typer.Option("--force", help="Let --write-expectations overwrite the file.")]
Failures = Annotated[
    int, typer.Option("--failures", metavar="NUMBER", parser=whole(0), help="How many failures to explain on the terminal.")
]
Runtime = Annotated[str, typer.Option("--runtime", help="Where the real lmcache runs: venv or docker.")]
