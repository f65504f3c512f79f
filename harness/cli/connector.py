"""``lmconform connector``: judge a remote connector of the in-process mode."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import options
from harness.cli.run import DEFAULT_FOLDER
from harness.plugin import CLIENT_START, DEADLINE, SEED
from harness.runner import RunOptions, run_matrix
from harness.usage import read_seed
from harness.workers import default_jobs

RELEASES = "0.5.6"
"""Of lmcache, by default."""


def command(
    connector: Annotated[
        str,
        typer.Argument(metavar="CONNECTOR", help="package.module:Class, file.py:Class, reference, or lmcache:NAME."),
    ],
    params: options.Params = None,
    url: Annotated[str | None, typer.Option("--url", help="The URL that it is chosen by.")] = None,
    backend: options.Backend = None,
    lmcache: options.Releases = RELEASES,
    only: options.Only = None,
    expectations: options.Expectations = None,
    write_expectations: options.WriteExpectations = None,
    force: options.Force = False,
    require: options.Require = "must",
    shard: options.Shard = None,
    summary: options.Summary = None,
    report: options.Report = None,
    runtime: options.Runtime = "venv",
    out: options.Out = DEFAULT_FOLDER,
    examples: options.Examples = None,
    seed: options.Seed = str(SEED),
    deadline: options.Deadline = DEADLINE,
    failures: options.Failures = 10,
    jobs: options.Jobs = None,
) -> int:
    """Judge a remote connector of the in-process mode, with the real base class of each release in the pinned environment.

    Exit codes: 0 no failure of a MUST (with --require should: of neither level), or none but known ones, 1 a failure, 2 usage or
    bad input, 3 the harness or its environment failed.
    """
    return int(
        run_matrix(
            RunOptions(
                side="connector",
                client=connector,
                only=tuple(only or ()),
                params=params,
                url=url,
                backend=backend,
                lmcache=lmcache,
                target="alone",
                require=require,
                runtime=runtime,
                folder=out,
                examples=examples,
                seed=read_seed(seed),
                deadline=deadline,
                client_start=CLIENT_START,
                failures=failures,
                jobs=jobs or default_jobs(),
                expectations=expectations,
                write_expectations=write_expectations,
                force=force,
                shard=shard,
                summary=summary,
                reports=tuple(report or ()),
            )
        )
    )
