"""``lmconform server``: judge a server."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import options
from harness.cli.run import DEFAULT_FOLDER
from harness.plugin import CLIENT_START, DEADLINE, SEED
from harness.runner import RunOptions, run_matrix
from harness.servers.spec import parse_server
from harness.usage import read_seed
from harness.workers import default_jobs


def command(
    server: Annotated[
        str,
        typer.Argument(
            metavar="SERVER",
            help="HOST:PORT of a running one, which the cases fill and do harm to; 'exec:COMMAND with {port}', which is started "
            "here; mock; or lmcache, the real one of each release.",
        ),
    ],
    protocol: Annotated[str, typer.Option("--protocol", help="The wire that it speaks: lm, or mp (multiprocess).")] = "lm",
    lmcache: options.Releases = "all",
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
    """Judge a server: what it answers, what it keeps, and whether it survives clients that behave badly.

    Exit codes: 0 no failure of a MUST (with --require should: of neither level), or none but known ones, 1 a failure, 2 usage or
    bad input, 3 the harness or its environment failed.
    """
    return int(
        run_matrix(
            RunOptions(
                side="server",
                client=server,
                only=tuple(only or ()),
                protocol=protocol,
                lmcache=lmcache,
                target=parse_server(server, protocol).target,
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
