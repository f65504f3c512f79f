"""The program starts fast: what only shows names imports no command, and shows the same words as the commands themselves."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from harness.cli.app import app
from harness.cli.commands import ENTRIES

ROOT = Path(__file__).resolve().parents[3]
HEAVY = (
    "pytest",
    "numpy",
    "hypothesis",
    "rich.console",
    "harness.runner",
    "harness.plugin",
    "mockserver.lm",
    "fixturegen.corpus",
)
SCRIPT = """
import sys
from harness.cli.main import main
status = main(sys.argv[2:])
sys.exit(f"status {status}, and imported: {[name for name in sys.argv[1].split(',') if name in sys.modules]}")
"""


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["--version"], ["rnu"]])
def test_a_word_of_help_imports_nothing_that_a_run_needs(words):
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, ",".join(HEAVY), *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert told.stderr.splitlines()[-1] in {"status 0, and imported: []", "status 2, and imported: []"}


@pytest.mark.parametrize("name", ENTRIES)
def test_the_help_read_from_the_source_is_that_of_the_command(name):
    command = typer.main.get_command(app).commands[name]
    assert (command.name, inspect.cleandoc(command.help)) == (name, ENTRIES[name].help())
