"""The picture of a report in README: what a run of the tutorial's fourth step really prints, as an SVG.

``python -m docs.generator.picture`` runs it and writes the picture.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from docs.generator.links import ROOT
from docs.generator.tutorial import STEPS

PICTURE: Final = ROOT / "docs" / "report.svg"
COMMAND: Final = "./lmconform run --client 'stdio:./my-adapter' --lmcache 0.5.6 --only lm.request.encode --failures 1"
WIDTH: Final = 100

_CURSOR: Final = re.compile(r"\r|\x1b\[[?\d;]*[A-Za-ln-z]")
_VERDICT: Final = re.compile("(?:NOT )?CONFORMANT ")
_COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")

_THEME: Final = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [(36, 41, 47), (207, 34, 46), (17, 99, 41), (149, 56, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131), (110, 119, 129)],
    [(87, 96, 106), (164, 14, 38), (26, 127, 55), (99, 60, 1), (33, 139, 255), (164, 117, 249), (49, 146, 170), (140, 149, 159)],
)
_STYLE: Final = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""As rich draws it, without fonts that are fetched from elsewhere."""


def picture(printed: str) -> str:
    """A terminal with the lines of a run, from its verdict on: what stands above is about the machine."""
    lines = _CURSOR.sub("", printed).rstrip("\n").split("\n")
    head = next(number for number, line in enumerate(lines) if _VERDICT.match(_COLOUR.sub("", line)))
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {COMMAND}"), overflow="fold")
    console.print(Text.from_ansi("\n".join(lines[head:])), overflow="fold")
    return console.export_svg(title="", theme=_THEME, code_format=_STYLE, unique_id="report")


def _run() -> str:
    client = f"stdio:{sys.executable} {STEPS / 'step4.py'}"
    words = COMMAND.replace("'stdio:./my-adapter'", f"'{client}'").replace(
        "./lmconform", f"'{sys.executable}' -m harness.cli.main"
    )
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "LMCONFORM_COMMAND": "./lmconform"}
    done = subprocess.run(["sh", "-c", words], env=environment, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout.replace(client, "stdio:./my-adapter").replace(f"{sys.executable} {STEPS}", ".")


if __name__ == "__main__":
    PICTURE.write_text(picture(_run()), encoding="utf-8")
