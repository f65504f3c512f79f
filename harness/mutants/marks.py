"""Marks of defective plugins and connectors.

Their modules are imported by the processes that they run in, so this imports nothing: neither what only the harness has, nor what
would make each start of such a process slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Defective = TypeVar("Defective", bound=Callable[..., Any])


@dataclass(frozen=True)
class Mark:
    """What a decorator said."""

    side: Literal["plugin", "connector"]
    name: str
    defective: Callable[..., Any]
    words: Mapping[str, Any]


MARKS: list[Mark] = []
"""All marks of the modules that were imported; :mod:`harness.mutants.mutant` makes tables of them."""


def l2_mutant(
    name: str,
    *,
    stands_for: str,
    releases: str = "0.4.3 and later",
    found_by: tuple[str, ...] = (),
    kind: str = "native_plugin",
) -> Callable[[Defective], Defective]:
    """Make a class, or a function that makes one, a mutant of the reference plugin; its docstring says what it does wrong."""
    return _marked("plugin", name, stands_for=stands_for, releases=releases, found_by=found_by, kind=kind)


def remote_mutant(
    name: str, *, stands_for: str, releases: str = "all", found_by: tuple[str, ...] = ()
) -> Callable[[Defective], Defective]:
    """Make a class, or a function that makes one, a mutant of the reference connector, likewise."""
    return _marked("connector", name, stands_for=stands_for, releases=releases, found_by=found_by)


def _marked(side: Literal["plugin", "connector"], name: str, **words: Any) -> Callable[[Defective], Defective]:
    def mark(defective: Defective) -> Defective:
        MARKS.append(Mark(side, name, defective, words))
        return defective

    return mark
