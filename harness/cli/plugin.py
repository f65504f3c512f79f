"""``lmconform plugin``: judge a storage plugin of the multiprocess server."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import completion, options
from harness.cli.run import DEFAULT_FOLDER
from harness.plugin import CLIENT_START, DEADLINE, SEED
from harness.runner import RunOptions, run_matrix
from harness.usage import read_seed
from harness.workers import default_jobs

RELEASES = "0.4.7,0.5.4,0.5.6"
"""Of lmcache, by default: the plugin interface is the same in many releases."""


def command(
    plugin: Annotated[
        str,
        typer.Argument(metavar="PLUGIN", help="package.module:Class, file.py:Class, reference, or lmcache:NAME."),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="The interface that it implements: native_plugin (the default, but for lmcache:NAME) or plugin.",
        ),
    ] = None,
    params: options.Params = None,
    backend: options.Backend = None,
    lmcache: options.Releases = RELEASES,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            help="Any of alone (in a process of its own), live (inside real multiprocess servers).",
            autocompletion=completion.plugin_targets,
        ),
    ] = "alone",
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
    """Judge a storage plugin of the multiprocess server (its second tier, L2): contract, semantics, durability, integrity.

    Exit codes: 0 no failure of a MUST (with --require should: of neither level), or none but known ones, 1 a failure, 2 usage or
    bad input, 3 the harness or its environment failed.
    """
    return int(
        run_matrix(
            RunOptions(
                side="plugin",
                client=plugin,
                only=tuple(only or ()),
                kind=kind,
                params=params,
                backend=backend,
                lmcache=lmcache,
                target=target,
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
