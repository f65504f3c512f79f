"""Text from outside as JSON and XML may hold it: nothing that acts, no lone surrogate, no control but a newline."""

from __future__ import annotations

import json

from reports.escape import escape, escape_lines
from reports.plain import JsonObject, clip

LONGEST_MESSAGE = 1000
"""Characters of a message; the whole explanation has a place of its own."""


def one_line(text: str, limit: int = LONGEST_MESSAGE) -> str:
    """The text on one line, of about so many characters at most."""
    return escape(clip(text, limit))


def lines(text: str) -> list[str]:
    """The text line by line."""
    return escape_lines(text)


def document(value: JsonObject) -> bytes:
    """A JSON document, in ASCII so that no reader can misunderstand it."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=1).encode() + b"\n"
