"""The crash run by itself: ``python -m harness.l2.crashes reference --kills 1000``."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from harness.backend import parse_backend
from harness.client import Budget, ClientFailure
from harness.l2.crashes.report import CrashReport
from harness.l2.crashes.run import CrashRun
from harness.l2.session import PluginSession
from harness.l2.spec import parse_plugin
from harness.usage import UsageError
from reports.verdict import ExitCode
from wire.release import Release

_NEWEST = "0.5.6"


def main(
    plugin: Annotated[
        str, typer.Argument(help="reference, mutant:NAME, lmcache:ADAPTER, package.module:Class, or file.py:Class.")
    ],
    kills: Annotated[int, typer.Option(min=1, help="How often the plugin is killed.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another seed makes other objects, work and kills.")] = 1,
    params: Annotated[str | None, typer.Option(help="Arguments of the class as JSON; {dir} becomes a folder.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="native_plugin or plugin.")] = None,
    backend: Annotated[str | None, typer.Option(help="Class of the backend, as for lmconform plugin.")] = None,
    lmcache: Annotated[str, typer.Option(help="Release whose keys are used.")] = _NEWEST,
    folder: Annotated[Path | None, typer.Option(help="Where the folders are made.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Kill a storage plugin again and again in the middle of its work, and look at everything that was ever stored."""
    if folder is not None:
        tempfile.tempdir = str(folder)
    try:
        spec = parse_plugin(plugin, kind, params)
        session = PluginSession(
            spec, release=Release.parse(lmcache), budget=Budget(), backend=parse_backend(backend) if backend else None
        )
    except (UsageError, ClientFailure) as error:
        sys.stderr.write(f"{error}\n")
        raise typer.Exit(ExitCode.USAGE) from None
    try:
        found = CrashRun(session, Release.parse(lmcache), kills, seed, tell=_tell if sys.stderr.isatty() else _hush).run()
    finally:
        session.stop()
    sys.stdout.write(json.dumps(found.members(), indent=2) + "\n" if as_json else "\n".join(found.lines()) + "\n")
    raise typer.Exit(ExitCode.NOT_CONFORMANT if found.findings else ExitCode.CONFORMANT)


def _tell(report: CrashReport) -> None:
    sys.stderr.write(f"\r{report.all_kills} kills, {report.after_crash.checked} objects, {len(report.findings)} findings ")


def _hush(report: CrashReport) -> None:
    del report


if __name__ == "__main__":
    typer.run(main)
