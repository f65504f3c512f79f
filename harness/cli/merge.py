"""``lmconform merge``: put the shards of a run together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.expectations.write import require_free
from harness.room import require_room_for_reports, require_room_for_results
from harness.runner import own_output, write_the_list
from harness.usage import UsageError
from harness.wanted import context_of, read_wanted
from reports.merge import merge
from reports.outputs import RESULTS, write_reports
from reports.results import ResultsError, ResultsWriter, read_results
from reports.terminal import make_console, print_summary


def command(
    results: Annotated[list[Path], typer.Argument(help="Results of shards, or folders that hold them.", metavar="RESULTS...")],
    out: Annotated[Path, typer.Option("--out", help="Folder for results.jsonl, junit.xml and report.html of the whole run.")],
    summary: options.Summary = None,
    report: options.Report = None,
    write_expectations: Annotated[
        Path | None,
        typer.Option(
            "--write-expectations", metavar="FILE", help="Write a list of known failures with every failure of the whole run."
        ),
    ] = None,
    force: options.Force = False,
    failures: options.Failures = 10,
) -> int:
    """Put the shards of a run together, as 'lmconform run --shard' makes them: the reports and the verdict of the whole run.

    Exit codes: as those of the unsharded run; 3 also where a shard is missing or did not end, 2 where files do not belong
    together.
    """
    target = out / RESULTS
    paths = _files(results, target)
    require_room_for_results(out)
    wanted = read_wanted(report or (), summary, out)
    require_room_for_reports(wanted, out, paths)
    if write_expectations is not None:
        require_free(write_expectations, force=force)
    elif force:
        raise UsageError("--force is for --write-expectations, which is not given")
    _spare_a_shard(target)
    run = merge([(path, read_results(path)) for path in paths], sys.argv)
    if write_expectations is not None and run.header.expectations is not None:
        raise UsageError(
            "--write-expectations cannot bring the list of the shards up to date; "
            "run without --shard, with --expectations and --write-expectations"
        )
    for note in run.notes:
        typer.echo(f"lmconform: {note}", err=True)
    with ResultsWriter(target, run.header) as writer:
        for case in run.cases:
            writer.add(case)
        writer.close(complete=run.complete, seconds=run.seconds)
    merged = read_results(target)
    write_reports(merged, out, wanted, context_of(target))
    with own_output() as output:
        print_summary(make_console(output), merged, target, limit=failures)
    if write_expectations is not None:
        write_the_list(merged, write_expectations, force=force)
    return int(merged.exit_code)


def _spare_a_shard(target: Path) -> None:
    """Leave alone what only a shard has; results of a whole run or of a former merge may be replaced.

    Raises:
        UsageError: the merged file would overwrite a shard.
    """
    try:
        there = read_results(target)
    except ResultsError:
        return
    if there.header.shard is not None:
        raise UsageError(f"{target}: is shard {there.header.shard} and would be overwritten; name another folder with --out")


def _files(named: Sequence[Path], target: Path) -> list[Path]:
    """The results files that were named, and those in folders that were; not the one that a former merge wrote there.

    Raises:
        UsageError: something is not there, or a folder holds none.
    """
    found: dict[Path, Path] = {}
    for path in named:
        if path.is_dir():
            inside = [file for file in sorted(path.rglob(RESULTS)) if file.resolve() != target.resolve()]
            if not inside:
                raise UsageError(f"{path}: no {RESULTS} in this folder or below it; name the folder that holds the shards")
        elif path.resolve() == target.resolve():
            raise UsageError(f"{path}: would be overwritten by the merged file; name another folder with --out")
        else:
            inside = [path]
        for file in inside:
            found.setdefault(file.resolve(), file)
    return list(found.values())
