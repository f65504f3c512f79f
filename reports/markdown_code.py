"""Text from outside as code in Markdown, in which it can be no markup, no link and no name of a user."""

from __future__ import annotations

import re

from reports.escape import escape, visible


def code_span(text: str) -> str:
    """The text as code within a line, in which Markdown finds no markup, links or names of users."""
    shown = escape(text)
    if not shown.strip():
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown.startswith(("`", " ")) or shown.endswith(("`", " ")) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def code_cell(text: str) -> str:
    """The same within a table, whose cells end at a bar also in code."""
    return code_span(text).replace("|", "\\|")


def code_block(text: str) -> str:
    """The text as a block of code."""
    shown = visible(text)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}"
