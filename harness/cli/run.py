"""``lmconform run``: judge a client."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.plugin import CLIENT_START, DEADLINE, EXAMPLES
from harness.runner import RunOptions, run_matrix
from harness.workers import default_jobs

DEFAULT_FOLDER = Path("lmconform-results")


def command(
    client: options.Client = "reference",
    lmcache: options.Releases = "all",
    target: Annotated[
        str | None, typer.Option("--target", help="Any of fixtures,mock,live (default: fixtures,mock; with --live: live).")
    ] = None,
    only: options.Only = None,
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
    out: Annotated[Path, typer.Option("--out", help="Folder for results.jsonl and junit.xml.")] = DEFAULT_FOLDER,
    examples: Annotated[int, typer.Option("--examples", min=1, help="Examples of each property.")] = EXAMPLES,
    deadline: Annotated[
        float, typer.Option("--deadline", metavar="SECONDS", help="How long a call may take before the client hangs.")
    ] = DEADLINE,
    client_start: Annotated[
        float, typer.Option("--client-start", metavar="SECONDS", help="How long the client may take to start.")
    ] = CLIENT_START,
    client_memory: Annotated[
        str | None,
        typer.Option(
            "--client-memory",
            metavar="BYTES",
            help="How much memory a client may hold, such as 512MiB (default: 4GiB, or less on a small machine).",
        ),
    ] = None,
    failures: Annotated[int, typer.Option("--failures", min=0, help="How many failures to explain on the terminal.")] = 10,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Cases at once, each with a client of its own (default: 2 per processor)."),
    ] = None,
) -> int:
    """Judge a client against captured fixtures, the mock server and a live server of the real lmcache.

    Exit codes: 0 conformant, 1 not conformant, 2 usage or bad input, 3 the harness or its environment failed.
    """
    return int(
        run_matrix(
            RunOptions(
                client=client,
                lmcache=lmcache,
                target=target if target is not None else "fixtures,mock" if live is None else "live",
                only=tuple(only or ()),
                live=live,
                runtime=runtime,
                folder=out,
                examples=examples,
                deadline=deadline,
                client_start=client_start,
                client_memory=client_memory,
                failures=failures,
                jobs=jobs or default_jobs(),
                isolate=True,
            )
        )
    )
