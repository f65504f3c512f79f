"""Reads the pages of the specification as a reader does: tables below a heading, and for which releases a row holds.

Nothing here imports what made the pages, nor the codecs of this project.
"""

import functools
import json
import pathlib
import re

from markdown_it import MarkdownIt
from packaging.version import Version

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "spec"
CORPUS = ROOT / "cases" / "corpus"
RELEASES = sorted((path.name for path in CORPUS.iterdir() if path.is_dir()), key=Version)
MP_RELEASES = [release for release in RELEASES if (CORPUS / release / "mp").is_dir()]


@functools.cache
def blocks(page):
    return MarkdownIt("commonmark").enable("table").parse((PAGES / page).read_text(encoding="utf-8"))


def said(token):
    """The text of a cell or heading, code without its ticks and links without their targets."""
    return "".join(child.content for child in token.children or () if child.type in {"text", "code_inline"})


@functools.cache
def tables(page, heading):
    """The tables between a heading and the next one: lists of rows, each a dictionary by the heads of columns."""
    found, inside, rows, row = [], False, [], []
    tokens = blocks(page)
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            inside = said(tokens[index + 1]) == heading
        elif inside and token.type == "table_open":
            rows = []
        elif inside and token.type == "tr_open":
            row = []
        elif inside and token.type in {"th_open", "td_open"}:
            row.append(said(tokens[index + 1]))
        elif inside and token.type == "tr_close":
            rows.append(row)
        elif inside and token.type == "table_close":
            found.append([dict(zip(rows[0], each, strict=True)) for each in rows[1:]])
    assert found, f"{page} has no table below {heading!r}"
    return found


def holds(words, release):
    """Whether a range such as ``0.3.3 to 0.4.3``, or several of them, has a release in it."""
    return any(_holds(part.strip(), Version(release)) for part in words.split(","))


def _holds(words, release):
    if words == "all":
        return True
    if words.startswith("up to "):
        return release <= Version(words.removeprefix("up to "))
    if words.endswith(" and later"):
        return release >= Version(words.removesuffix(" and later"))
    first, _, last = words.partition(" to ")
    return Version(first) <= release <= Version(last or first)


def of(rows, release, column="releases"):
    """The rows that hold for a release."""
    return [row for row in rows if holds(row[column], release)]


def only(rows, release, column="releases"):
    """The one row that holds for a release."""
    (row,) = of(rows, release, column)
    return row


def column_of(row, release, prefix):
    """The cell of a row whose column is ``PREFIX, RANGE`` with the release in the range."""
    (cell,) = (cell for head, cell in row.items() if head.startswith(prefix) and holds(head.removeprefix(prefix), release))
    return cell


@functools.cache
def captured(release, operation, folder=""):
    """The lines of the corpus of one operation; none if the release has none."""
    path = CORPUS / release / folder / f"{operation}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def number(value):
    """A hash of the corpus: an integer, bytes or text."""
    match value:
        case {"int": text}:
            return int(text)
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"text": text}:
            return text
    return value


def numbers_in(text):
    """Every whole number that a cell has in decimal."""
    return [int(found) for found in re.findall(r"(?<![\w.])\d+(?![\w.])", text)]
