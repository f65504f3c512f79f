"""The text that an entry expects in the error of a case: plain words, with ``*`` for anything between them."""

from __future__ import annotations

import re
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


_VOLATILE: Final = re.compile(
    r"lmconform/[0-9a-f]{8}/\d+"  # the model name that keys of one run have
    r"|\b\d+ of \d{4,} bytes differ, the first at 0x[0-9a-f]+"  # how much of a large value is wrong is a matter of timing
    r"|\b\d+(?:\.\d+)? ?(?:s|ms|us|seconds|milliseconds)\b"
    r"|(?<=[\d\]t]:)\d{2,5}\b"  # a port: 127.0.0.1:40001, [::1]:40001, localhost:40001
    r"|\b(?<=port )\d+\b"
    r"|\b(?<=pid )\d+\b"
    r"|\b0x[0-9a-fA-F]{6,}\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|(?<![\w.])/tmp/\S+"
)
"""What differs between two runs of the same client."""
_DETAIL: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{8,}\b|\d+(?:\.\d+)?")
"""What differs between two vectors that show the same mistake."""
_LONGEST: Final = 240


def stable(summary: str) -> str:
    """An error text that this failure has in every run."""
    shown = "".join(letter if letter.isprintable() else ANYTHING for letter in one_line(summary))
    return _shortened(_VOLATILE.sub(ANYTHING, shown))


def general(summary: str) -> str:
    """An error text that failures share which differ in numbers and quoted words alone."""
    return _shortened(_DETAIL.sub(ANYTHING, stable(summary)))


def _shortened(text: str) -> str:
    return one_line(re.sub(r"\*[\s*]*\*", ANYTHING, text[:_LONGEST]))
