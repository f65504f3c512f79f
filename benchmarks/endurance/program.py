"""What the programs that put something on the mocks have in common: a mock for each wire, options, and the last words."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

WorkT = TypeVar("WorkT")


@dataclass(frozen=True)
class Wire(Generic[WorkT]):
    """The options of a mock, its faults, and what is done to it."""

    words: tuple[str, ...]
    work: WorkT
    faults: tuple[str, ...] = ()


def setting(default: float, words: str) -> Any:  # as that of dataclasses
    """A field of a dataclass of settings, with what it means on the command line."""
    return dataclasses.field(default=default, metadata={"words": words})


def options(program: str, about: str, wires: Collection[str], settings: type) -> argparse.ArgumentParser:
    """A parser with an option for each setting, and ``--only`` for one wire."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=about)
    parser.add_argument("--only", choices=sorted(wires), help="the mock of one wire (default: both)")
    for one in dataclasses.fields(settings):
        parser.add_argument(
            f"--{one.name.replace('_', '-')}",
            dest=one.name, type=type(one.default), default=one.default, metavar="N",
            help=f"{one.metadata['words']} (default: {one.default:.15g})",
        )  # fmt: skip
    return parser


def conclude(wrong: Sequence[str], passed: str) -> int:
    """Print each thing that is wrong and, last, whether all passed; the exit code."""
    for line in wrong:
        print(f"wrong: {line}")
    print(f"FAILED: {len(wrong)} wrong, as told above" if wrong else f"passed: {passed}")
    return int(bool(wrong))
