"""``lmconform bench``: what a client does with the wire, measured."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from harness import meeting
from harness.bench.asker import WrongAnswer
from harness.bench.place import served
from harness.bench.plain import PLACE
from harness.bench.plan import DEADLINE, ROUNDS, SECONDS, SIZES, Effort, Planned, parse_sizes, planned, require_effort
from harness.bench.run import bench
from harness.cli import options
from harness.cli.numbers import part, whole
from harness.cli.numbers import seconds as read_seconds
from harness.client import Budget
from harness.clients.session import ClientSession
from harness.clients.spec import open_client
from harness.files import write_document
from harness.memory import default_limit
from harness.plugin import CLIENT_START
from harness.runner import own_output
from harness.usage import UsageError, require_writable
from reports.bench.document import read_bench, to_bytes
from reports.bench.limits import shortfalls
from reports.bench.model import Bench
from reports.bench.page import html
from reports.bench.text import complaints, foot, head, table
from reports.terminal import make_console
from reports.verdict import ExitCode
from wire.release import KNOWN_RELEASES, Release

DEFAULT_FOLDER: Final = Path("lmconform-bench")
FIGURES: Final = "bench.json"
PAGE: Final = "bench.html"
_WIDTH: Final = 130
_OPERATIONS: Final = ("put", "get", "exist", "chunk_keys")


def command(
    client: options.Client = "reference",
    live: Annotated[
        str | None,
        typer.Option(
            "--live",
            metavar="HOST:PORT",
            help="Measure against this running server and not against the mock. What is stored stays there, under keys whose "
            "model begins with lmconform/.",
        ),
    ] = None,
    lmcache: Annotated[
        str | None,
        typer.Option("--lmcache", help="The release whose wire is spoken (default: the newest that the client declares)."),
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="lm. The multiprocess wire (mp) is not measured.")] = "lm",
    sizes: Annotated[str, typer.Option("--sizes", help="Sizes of values, separated by commas.")] = SIZES,
    seconds: Annotated[
        float,
        typer.Option("--seconds", parser=read_seconds, metavar="SECONDS", help="How long a round of one measure takes."),
    ] = SECONDS,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="NUMBER", parser=whole(1, 1000), help="How many rounds, each with other values.")
    ] = ROUNDS,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only measures whose name matches, such as 'get-*' or exist; repeatable.")
    ] = None,
    deadline: Annotated[
        float, typer.Option("--deadline", parser=read_seconds, metavar="SECONDS", help="How long a call may take.")
    ] = DEADLINE,
    out: Annotated[Path, typer.Option("--out", "--output", help=f"Folder for {FIGURES} and {PAGE}.")] = DEFAULT_FOLDER,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help=f"Write the figures there as well; {FIGURES} holds the same.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="FILE", help=f"The {FIGURES} of an earlier bench, for --fail-below.")
    ] = None,
    fail_below: Annotated[
        float | None,
        typer.Option(
            "--fail-below",
            metavar="RATIO",
            parser=part,
            help="Fail if a ratio to the floor is below this; with --baseline, if it is below this part of what it was there.",
        ),
    ] = None,
) -> int:
    """Measure what a client does with the wire: PUT, GET, EXIST and chunk keys, in turns with a plain socket on the same server.

    Exit codes: 0 measured, 1 the client answered wrongly, failed, or fell below a bound, 2 usage or bad input, 3 the harness or
    its environment failed.
    """
    effort = require_effort(Effort(seconds, rounds, deadline))
    chosen = parse_sizes(sizes)
    if protocol != "lm":
        raise UsageError(
            f"--protocol {protocol}: bench measures the lm:// wire alone; leave the option out "
            "('lmconform run --protocol mp' judges the multiprocess wire)"
        )
    if baseline is not None and fail_below is None:
        raise UsageError("--baseline needs --fail-below, such as 0.8: below which part of its ratios is too slow")
    if fail_below is not None and fail_below < 0:
        raise UsageError(f"--fail-below {fail_below:g} is no ratio; give such as 0.8")
    before = read_bench(baseline) if baseline is not None else None
    require_writable(out, "the figures")
    with meeting.expected(client):
        budget = Budget(start=CLIENT_START, call=deadline, memory=default_limit(1))
        session = open_client(client, apart=True, timed=True, budget=budget)
        try:
            release = _release(session, lmcache)
            plan = planned(release, chosen, only or ())
            with served(release, live) as place, _floor(deadline) as floor, _progress(len(plan)) as tell:
                found = bench(session, floor, place, release, plan, effort, spec=client, tell=tell)
        except WrongAnswer as wrong:
            typer.echo(f"lmconform: wrong answer: {wrong}", err=True)
            typer.echo("how fast wrong answers come is not measured; 'lmconform run' judges the client", err=True)
            return int(ExitCode.NOT_CONFORMANT)
        finally:
            session.stop()
    return _tell(found, out, json_file, fail_below, before)


def _release(session: ClientSession, wanted: str | None) -> Release:
    """The release that is asked for, or the newest that the client speaks.

    Raises:
        UsageError: the client declares it not, or nothing that could be measured.
    """
    about = session.description
    if not set(_OPERATIONS) & set(about.operations):
        raise UsageError(f"{about.name} declares none of {', '.join(_OPERATIONS)}; there is nothing to measure")
    if wanted is None:
        spoken = [known for known in KNOWN_RELEASES if known in about.releases or "*" in about.releases]
        if not spoken:
            raise UsageError(f"{about.name} declares no release that is known here; name one with --lmcache")
        return Release.parse(spoken[-1])
    release = Release.parse(wanted)
    if "*" not in about.releases and release.text not in about.releases:
        raise UsageError(f"{about.name} does not declare lmcache {release}; it declares {', '.join(about.releases) or 'none'}")
    return release


@contextlib.contextmanager
def _floor(deadline: float) -> Iterator[ClientSession]:
    session = open_client(f"python:{PLACE}", apart=True, timed=True, budget=Budget(start=CLIENT_START, call=deadline))
    try:
        yield session
    finally:
        session.stop()


@contextlib.contextmanager
def _progress(count: int) -> Iterator[Callable[[Planned], None]]:
    """Says on a terminal which measure is being taken."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    numbers = itertools.count(1)
    with console.status("starting") as status:
        yield lambda one: status.update(f"{one.name} ({next(numbers)} of {count})")


def _tell(found: Bench, out: Path, json_file: Path | None, fail_below: float | None, before: Bench | None) -> int:
    figures = to_bytes(found)
    (out / FIGURES).write_bytes(figures)
    (out / PAGE).write_text(html(found), encoding="utf-8")
    if json_file is not None:
        write_document(figures, json_file)
    low = list(shortfalls(found, fail_below, before)) if fail_below is not None else []
    with own_output() as output:
        console = make_console(output)
        if not console.is_terminal:
            console = make_console(output, width=_WIDTH)
        console.print(f"{head(found)}\n", soft_wrap=True)
        console.print(table(found))
        console.print()
        for line in (*foot(found), *complaints(low), f"{out / PAGE}, {out / FIGURES}"):
            console.print(line, soft_wrap=True)
    return int(ExitCode.NOT_CONFORMANT if low or found.of("failed") else ExitCode.CONFORMANT)
