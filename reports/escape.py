"""Shows text from a client without letting it act: no terminal control, no reordering, no illegal XML, no Markdown."""

from __future__ import annotations

import unicodedata
from typing import Final

_ACTIVE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Controls, invisible formatting (bidirectional overrides too), unassigned, private, lone surrogates, line separators."""

_MARKDOWN: Final = frozenset("\\`*_{}[]<>#|&~")
"""What Markdown may take for more than itself in the middle of a line."""

_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def escape(text: str) -> str:
    r"""The text on one line; every active character as ``\n``, ``\x1b`` or ``\u202e``.

    The result is also legal XML text. It still needs :func:`xml.sax.saxutils.escape` or the like for ``<`` and ``&``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(character) for character in text)


def escape_markdown(text: str) -> str:
    """The text on one line that Markdown shows as it is."""
    return "".join(f"\\{character}" if character in _MARKDOWN else character for character in escape(text))


def escape_lines(text: str) -> list[str]:
    """The text as lines: newlines end lines, tabs become spaces, all else as in :func:`escape`."""
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [escape(line) for line in lines]


def visible(text: str) -> str:
    """The same as one text of several lines, in which nothing can act; templates have it as a filter."""
    return "\n".join(escape_lines(text))


def _escape(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if unicodedata.category(character) not in _ACTIVE:
        return character
    number = ord(character)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
