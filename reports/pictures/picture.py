"""A picture: the SVG, and the same in words and in a table for those who do not see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """What a picture shows, in rows under headings."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """One picture."""

    name: str
    """The name of its file without ending, and what its ids begin with."""
    title: str
    description: str
    """A sentence or two: what is seen, and how to read it."""
    svg: str
    table: Table


def as_table(picture: Picture) -> Table:
    """What the picture shows, for those who do not see it; pages show it beneath."""
    return picture.table
