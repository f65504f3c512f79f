"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reports.escape import escape_markdown


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a cell may hold Markdown, but no line break."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")


def cell(text: str) -> str:
    """Plain text as the content of a cell."""
    return escape_markdown(" ".join(text.split()))


def marked_up(text: str) -> str:
    """Markdown as the content of a cell, which a bar would end."""
    return text.replace("|", "\\|")
