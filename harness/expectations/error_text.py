"""The text that an entry expects in the error of a case: plain words, with ``*`` for anything between them."""

from __future__ import annotations

from typing import Final

ANYTHING: Final = "*"


def matches_error(wanted: str, summary: str) -> bool:
    """Whether the words between the stars occur in the summary, in their order; runs of white space count as one space.

    No regular expression: a list comes from a file, and no text in it may keep a run busy.
    """
    place = 0
    text = one_line(summary)
    for words in one_line(wanted).split(ANYTHING):
        found = text.find(words, place)
        if found < 0:
            return False
        place = found + len(words)
    return True


def says_something(wanted: str) -> bool:
    """Whether it tells one error from another."""
    return bool(wanted.replace(ANYTHING, "").strip())


def one_line(text: str) -> str:
    """The text with single spaces."""
    return " ".join(text.split())
