"""``lmconform test``: the project's own checks, for those who work on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import typer

from harness.machine import processors
from harness.usage import UsageError
from reports.verdict import ExitCode

LONGEST = 3600.0
"""Seconds that one check may take."""

CHECKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ruff check", ("-m", "ruff", "check", ".")),
    ("ruff format", ("-m", "ruff", "format", "--check", ".")),
    ("mypy --strict", ("-m", "mypy")),
    ("import-linter", ("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")),
    ("corpus", ("-m", "harness.cli.main", "verify")),
)
"""What runs before the tests: a name, and arguments of the Python interpreter."""


WAITING: Final = 1
"""Worker processes of pytest beyond the processors: tests of clients that hang wait more than they compute."""


def command(context: typer.Context) -> int:
    """Run linters, type checks, the layers, the corpus and the tests: one more at once than there are processors.

    Further arguments go to pytest, and then only pytest runs.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "tests").is_dir():
        raise UsageError("the tests come with the source tree; run ./lmconform test in a checkout")
    failed = []
    for name, arguments in () if context.args else CHECKS:
        if not _passes(root, name, arguments):
            failed.append(name)
    if not _passes(root, "pytest", ("-m", "pytest", *(context.args or _all_tests()))):
        failed.append("pytest")
    if failed:
        typer.echo(f"\nlmconform test: failed: {', '.join(failed)}", err=True)
    return int(ExitCode.NOT_CONFORMANT if failed else ExitCode.CONFORMANT)


def _all_tests() -> list[str]:
    """Neighbours stay together, for what they share; who is done takes from those who are not: a few tests take minutes."""
    return ["tests", "-n", str(processors() + WAITING), "--dist", "worksteal"]


def _passes(root: Path, name: str, arguments: tuple[str, ...]) -> bool:
    typer.echo(f"== {name}")
    began = time.monotonic()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        code = subprocess.run([sys.executable, *arguments], cwd=root, check=False, env=environment, timeout=LONGEST).returncode
    except subprocess.TimeoutExpired:
        code = -1
    typer.echo(f"== {name}: {'ok' if code == 0 else f'exit {code}'} in {time.monotonic() - began:.0f} s\n")
    return code == 0
