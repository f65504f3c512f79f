"""Which reports a user asks for: ``--report FORMAT`` or ``--report FORMAT=FILE``, and ``--summary FILE`` for Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.requirements import requirement_texts
from harness.usage import UsageError
from reports.bench.model import Bench
from reports.formats.context import Context, Place
from reports.formats.table import FORMATS, Format
from reports.outputs import RESULTS, Wanted
from wire.numerals import NoNumber, read_integer, shown

_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9\[][!#-&(-;=?-~]*", re.ASCII)
"""A host and what may follow: printable, and without blanks, quotes and angle brackets."""


def read_wanted(words: Sequence[str], summary: Path | None, folder: Path) -> list[Wanted]:
    """What is wanted; a format without a file goes into the folder of the results under a name of its own.

    Raises:
        UsageError: there is no such format, or two of them would go to one file.
    """
    found = [Wanted(FORMATS["markdown"], summary)] if summary is not None else []
    for word in words:
        name, separator, file = word.partition("=")
        form = read_format(name, "--report")
        if separator and not file:
            raise UsageError(f"--report {word}: no file is named; write --report {name}=FILE, or --report {name}")
        found.append(Wanted(form, Path(file) if separator else folder / form.file))
    by_path: dict[Path, Wanted] = {}
    for one in found:
        other = by_path.setdefault(one.path.resolve(), one)
        if other is not one:
            raise UsageError(f"{other.format.name} and {one.format.name} would both be written to {one.path}; name two files")
    return found


def read_format(name: str, option: str) -> Format:
    """The format of that name.

    Raises:
        UsageError: there is none.
    """
    form = FORMATS.get(name.strip())
    if form is None:
        raise UsageError(f"{option} {shown(name)}: there is no such format; formats are {', '.join(FORMATS)}")
    return form


def read_place(text: str | None) -> Place | None:
    """``FILE`` or ``FILE:LINE``, as seen from the root of the tree.

    Raises:
        UsageError: the file is named from the root of the machine, or the line is none.
    """
    if text is None:
        return None
    file, separator, tail = text.rpartition(":")
    if not separator or not file:
        file, tail = text, "1"
    try:
        line = read_integer(tail)
    except NoNumber:
        file, line = text, 1
    name = os.path.normpath(file) if file.strip() else ""
    if not name or name.startswith(("/", "..")) or line < 1:
        raise UsageError(
            f"--sarif-location {shown(text)}: write FILE or FILE:LINE, with the file as seen from the root of the repository, "
            "such as src/adapter.py:12"
        )
    return Place(name, line)


def context_of(
    records: Path,
    *,
    place: Place | None = None,
    label: str | None = None,
    specification: str | None = None,
    bench: Bench | None = None,
) -> Context:
    """What formats may need beside the results; ``specification`` is the address of the folder with its pages."""
    return Context(_from_here(records), requirement_texts(specification), place, label, bench)


def read_address(text: str | None) -> str | None:
    """An address with https, without what follows the last name.

    Raises:
        UsageError: it is none.
    """
    if text is None:
        return None
    if _ADDRESS.fullmatch(text) is None:
        raise UsageError(f"--spec-url {shown(text)}: write an address, such as https://example.org/docs/spec")
    return text.rstrip("/")


def _from_here(path: Path) -> str:
    """The path from the working directory, or the name alone where it is not below it, which tells nothing of the machine."""
    try:
        return path.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except ValueError:
        return path.name or RESULTS
