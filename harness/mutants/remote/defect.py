"""The decorator of these mutants, also where the table of all mutants cannot be imported: in the interpreter of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Kind = type[Any]


def remote_mutant(name: str, *, stands_for: str, releases: str = "all", found_by: tuple[str, ...] = ()) -> Callable[[Kind], Kind]:
    """Put a class into the table of mutants, where there is one."""
    try:
        from harness.mutants import mutant
    except ImportError:
        return lambda kind: kind
    return mutant.remote_mutant(name, stands_for=stands_for, releases=releases, found_by=found_by)
