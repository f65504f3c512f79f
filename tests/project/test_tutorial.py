"""The tutorial shows what happens to whoever follows it: its code is in the files beside it, its outputs are real."""

import shlex
import subprocess

import pytest

from docs.generator.tutorial import BUFFERED, STEPS, SURROUNDINGS, agree, compared, put_in_place, shown, source
from harness.cli.main import main

BLOCKS = list(shown())
CODE = [block for block in BLOCKS if block.kind == "python"]
COMMANDS = [block for block in BLOCKS if block.kind == "console"]
STEP_COUNT = len(list(STEPS.glob("step*.py")))


def test_every_step_has_code_on_the_page():
    assert sorted({block.step for block in CODE}) == list(range(1, STEP_COUNT + 1))


@pytest.mark.parametrize("block", CODE, ids=lambda block: f"step{block.step}")
def test_code_on_the_page_is_in_the_file_of_its_step(block):
    assert block.text in source(block.step)


@pytest.mark.parametrize("step", range(1, STEP_COUNT + 1))
def test_a_step_has_no_line_that_the_page_does_not_show(step):
    shown_so_far = {line for block in CODE if block.step <= step for line in block.text.split("\n")}
    told_in_words = {"import select", "import socket", "from pathlib import Path"}
    assert set(source(step).split("\n")) - shown_so_far - told_in_words == set()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tutorial")


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: f"step{block.step}-{block.command.split()[1]}")
def test_a_command_prints_what_the_page_shows(block, folder, monkeypatch, capfd):
    put_in_place(block, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv(BUFFERED, raising=False)
    for name, value in SURROUNDINGS.items():
        monkeypatch.setenv(name, value)
    command, *words = shlex.split(block.command)
    if command == "./lmconform":
        main(words)
    else:
        subprocess.run(["sh", "-c", block.command], check=True)
    lines = compared(capfd.readouterr().out)
    assert agree(block.output, lines), "\n".join(["write it anew with: .venv/bin/python -m docs.generator.tutorial", *lines])


@pytest.mark.parametrize(
    ("expected", "right"),
    [
        (["a", "took 2 ms (get)", "c"], True),
        (["a", "..."], True),
        (["...", "c"], True),
        (["...", "took 9 ms (put)", "..."], True),
        (["a", "took 1 ms (get)"], False),
        (["...", "a"], False),
        (["c", "...", "a"], False),
        (["...", "b", "..."], False),
        (["took 1 ms (get)", "..."], False),
    ],
)
def test_lines_are_left_out_only_where_the_page_says_so(expected, right):
    assert agree(expected, ["a", "took 1 ms (get)", "c"]) is right
