"""Marks in a page between which a program writes.

Such as::

    <!-- generated: lm-request-header -->

    | offset | size | field |
    ...

    <!-- end -->

What stands between them is replaced; everything else is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_BEGIN: Final = re.compile(r"<!-- generated: (\S+) -->")
_END: Final = "<!-- end -->"

Blocks = Mapping[str, Callable[[], str]]
"""Name of a block to what writes it."""


class MarkError(ValueError):
    """The marks of a page are not in order; the message begins with ``page:line:``."""


@dataclass(frozen=True)
class Block:
    """What stands between two marks."""

    name: str
    line: int
    """Of the first mark, counted from 1."""
    text: str


def filled(page: str, text: str, blocks: Blocks) -> str:
    """A page with its blocks written anew.

    Raises:
        MarkError: a block has no end or lies in another one, an end has no begin, or nothing writes such a block.
    """
    written: list[str] = []
    name: str | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        begin = _BEGIN.fullmatch(line)
        where = f"{page}:{number}"
        if begin and name is not None:
            raise MarkError(f"{where}: {begin[1]} begins before {name} has ended; expected {_END}")
        if begin:
            name = begin[1]
            if name not in blocks:
                raise MarkError(f"{where}: nothing writes a block {name!r}; known: {', '.join(blocks)}")
            written += [line, "", *blocks[name]().strip("\n").split("\n"), ""]
        elif line == _END and name is None:
            raise MarkError(f"{where}: an end without a begin")
        elif line == _END:
            name = None
        if name is None:
            written.append(line)
    if name is not None:
        raise MarkError(f"{page}: {name} has no end; expected a line {_END}")
    return "\n".join(written)


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks that a page holds."""
    name, begin, body = "", 0, list[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        if found := _BEGIN.fullmatch(line):
            name, begin, body = found[1], number, []
        elif line == _END and name:
            yield Block(name, begin, "\n".join(body).strip("\n"))
            name = ""
        elif name:
            body.append(line)
