"""The commands of the tutorial: what it shows of them, and what they really print.

A page holds fenced blocks. ``python`` blocks are parts of the file that the reader has at that place, which a comment such as
``<!-- step 4 -->`` names; ``console`` blocks begin with a command, and a line ``...`` stands for lines that are left out. Times
and whatever a run prints before its head are not compared.

``python -m docs.generator.tutorial`` runs all commands, writes outputs anew where nothing is left out, and prints the others
where they differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from docs.generator.links import ROOT

PAGE: Final = ROOT / "docs" / "tutorial" / "first-client.md"
STEPS: Final = PAGE.parent / "first_client"
CLIENT: Final = Path("my-client") / "client.py"
"""Where the reader keeps the file, seen from the root of the repository."""

_MARK: Final = re.compile(r"^<!-- step (\d+) -->$|^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIMES: Final = re.compile(r"\d+(?:\.\d+)? m?s\b(?: \(\w+\))?")
_PROGRESS: Final = re.compile(r"^\[\d+/\d+\] ")
_OMITTED: Final = "..."


@dataclass(frozen=True)
class Shown:
    """A block of the page."""

    kind: str
    text: str
    step: int
    """Which state of the file the reader has."""

    @property
    def command(self) -> str:
        """Of a console block, what the reader types."""
        return self.text.split("\n", 1)[0].removeprefix("$ ")

    @property
    def output(self) -> list[str]:
        """Of a console block, the lines below."""
        return self.text.rstrip("\n").split("\n")[1:]


def shown() -> Iterator[Shown]:
    """The blocks of the page."""
    step = 0
    for number, kind, text in _MARK.findall(PAGE.read_text(encoding="utf-8")):
        if number:
            step = int(number)
        else:
            yield Shown(kind, text, step)


def source(step: int) -> str:
    """The file of a step."""
    return (STEPS / f"step{step}.py").read_text(encoding="utf-8")


BUFFERED: Final = "PYTHONUNBUFFERED"
"""What must not be set, since it hides that a program does not flush."""
SURROUNDINGS: Final = {"LMCONFORM_COMMAND": "./lmconform", "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
"""Variables of the environment that commands are run with."""


def put_in_place(block: Shown, folder: Path) -> None:
    """The file that the reader has at a block, in a folder that stands for the clone."""
    client = folder / CLIENT
    client.parent.mkdir(exist_ok=True)
    client.write_text(source(block.step), encoding="utf-8")


def compared(text: str) -> list[str]:
    """The lines of what a command printed that a page is held against."""
    return [line.rstrip() for line in text.rstrip("\n").split("\n") if not _PROGRESS.match(line)]


def printed(block: Shown, folder: Path) -> list[str]:
    """What the command of a block prints on standard output."""
    put_in_place(block, folder)
    command = block.command.replace("./lmconform ", f"'{sys.executable}' -m harness.cli.main ", 1)
    environment = {name: value for name, value in {**os.environ, **SURROUNDINGS}.items() if name != BUFFERED}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    return compared(done.stdout)


def agree(expected: list[str], lines: list[str]) -> bool:
    """Whether a command printed what a page shows: its parts between omissions, in their order."""
    rest = _timeless(lines)
    parts: list[list[str]] = [[]]
    for line in _timeless(expected):
        if line == _OMITTED:
            parts.append([])
        else:
            parts[-1].append(line)
    if rest[: len(parts[0])] != parts[0] or (len(parts) == 1 and rest != parts[0]):
        return False
    for part in parts:
        start = next((start for start in range(len(rest) - len(part) + 1) if rest[start : start + len(part)] == part), None)
        if start is None:
            return False
        rest = rest[start + len(part) :]
    return not parts[-1] or not rest


def _timeless(lines: list[str]) -> list[str]:
    return [_TIMES.sub("0 s", line.rstrip()) for line in lines]


def _renew() -> None:
    page = PAGE.read_text(encoding="utf-8")
    end = 0
    with tempfile.TemporaryDirectory() as folder:
        for block in shown():
            begin = page.index(f"```{block.kind}\n{block.text}```", end)
            end = begin + 1
            lines = printed(block, Path(folder)) if block.kind == "console" else []
            if block.kind == "console" and not agree(block.output, lines):
                if _OMITTED in block.output:
                    print(f"\nstep {block.step}: {block.command}", *lines, sep="\n")
                else:
                    renewed = "\n".join(["```console", f"$ {block.command}", *lines, "```"])
                    page = page[:begin] + renewed + page[begin + len(f"```console\n{block.text}```") :]
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    _renew()
