"""``lmconform run``: judge a client."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion, options
from harness.cli.numbers import seconds
from harness.plugin import CLIENT_START, DEADLINE, SEED
from harness.protocols import DECLARED
from harness.runner import RunOptions, run_matrix
from harness.usage import read_seed
from harness.workers import default_jobs

DEFAULT_FOLDER = Path("lmconform-results")


def command(
    client: options.Client = "reference",
    lmcache: options.Releases = "all",
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="Any of fixtures,mock,live (default: fixtures,mock; with --live: live).",
            autocompletion=completion.client_targets,
        ),
    ] = None,
    only: options.Only = None,
    protocol: options.Protocol = DECLARED,
    expectations: options.Expectations = None,
    write_expectations: options.WriteExpectations = None,
    force: options.Force = False,
    shard: options.Shard = None,
    summary: options.Summary = None,
    report: options.Report = None,
    live: Annotated[
        str | None,
        typer.Option(
            "--live",
            metavar="HOST:PORT",
            help="Use this running server as the live target. Everything stored there has a model name that begins with "
            "lmconform/; captured conversations, which use other keys, are left out.",
        ),
    ] = None,
    runtime: options.Runtime = "venv",
    out: options.Out = DEFAULT_FOLDER,
    examples: options.Examples = None,
    seed: options.Seed = str(SEED),
    properties: Annotated[bool, typer.Option("--properties", help="Only the cases that draw examples.")] = False,
    deadline: options.Deadline = DEADLINE,
    client_start: Annotated[
        float,
        typer.Option("--client-start", parser=seconds, metavar="SECONDS", help="How long the client may take to start."),
    ] = CLIENT_START,
    client_memory: Annotated[
        str | None,
        typer.Option(
            "--client-memory",
            metavar="BYTES",
            help="How much memory a client may hold, such as 512MiB (default: 4GiB, or less on a small machine).",
        ),
    ] = None,
    client_limits: Annotated[
        str | None,
        typer.Option(
            "--client-limits",
            metavar="cpu=SECONDS,files=NUMBER,file-size=BYTES",
            help="What else a client may use, some of it or all, such as cpu=60,file-size=8MiB (default: as much as it likes). "
            "For clients that are processes: stdio:, lmcache:, lmcache-mp:.",
        ),
    ] = None,
    failures: options.Failures = 10,
    jobs: options.Jobs = None,
) -> int:
    """Judge a client against captured fixtures, the mock server and a live server of the real lmcache.

    Exit codes: 0 conformant, or no failure but known ones, 1 not conformant, 2 usage or bad input, 3 the harness or its
    environment failed. That of a shard speaks of its own cases alone.
    """
    return int(
        run_matrix(
            RunOptions(
                client=client,
                lmcache=lmcache,
                target=target if target is not None else "fixtures,mock" if live is None else "live",
                only=tuple(only or ()),
                protocol=protocol,
                live=live,
                runtime=runtime,
                folder=out,
                examples=examples,
                seed=read_seed(seed),
                properties=properties,
                deadline=deadline,
                client_start=client_start,
                client_memory=client_memory,
                client_limits=client_limits,
                failures=failures,
                jobs=jobs or default_jobs(),
                isolate=True,
                expectations=expectations,
                write_expectations=write_expectations,
                force=force,
                shard=shard,
                summary=summary,
                reports=tuple(report or ()),
            )
        )
    )
