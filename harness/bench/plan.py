"""What is measured: operations, sizes of values, algorithms of keys, and for how long."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.sizes import size_of
from harness.usage import LONGEST_WAIT, UsageError
from reports.bench.model import Operation, Unit
from wire.chunks import TEXT_ALGORITHM
from wire.numerals import shown
from wire.release import RangeTable, Release

SIZES: Final = "4KiB,256KiB,8MiB,64MiB"
SMALLEST: Final = 4
LARGEST: Final = 512 << 20
"""Bytes of a value: one element for K and one for V, and what a scratch directory and a server can be asked to hold."""
SECONDS: Final = 0.5
ROUNDS: Final = 3
DEADLINE: Final = 60.0
STARTS: Final = RangeTable[Mapping[str, Mapping[str, str]]](
    "algorithms of a bench",
    ("0.3.1", {TEXT_ALGORITHM: {"text": ""}}),
    ("0.3.3", {"builtin": {"int": "0"}, "sha256_cbor": {"int": "0"}}),
    ("0.3.4", {"sha256_cbor": {"int": "0"}}),
    ("0.3.13", {"sha256_cbor": {"bytes": "00" * 32}}),
    ("0.4.1", {"builtin": {"int": "0"}, "sha256_cbor": {"bytes": "00" * 32}}),
)
"""Of chunk keys: what lmcache takes unless told otherwise, where its keys do not depend on the address of None, and the one that
is the same in every process and language; with the hash that the chain starts from."""
_UNITS: Final[dict[Operation, Unit]] = {"put": "GB/s", "get": "GB/s", "exist": "calls/s", "chunk_keys": "keys/s"}


@dataclass(frozen=True)
class Effort:
    """How long it is measured."""

    seconds: float = SECONDS
    """Of each round, for client and floor together."""
    rounds: int = ROUNDS
    deadline: float = DEADLINE
    """Seconds that a call may take."""


@dataclass(frozen=True)
class Planned:
    """One measure to be taken."""

    operation: Operation
    size: int | None = None
    algorithm: str | None = None

    @property
    def name(self) -> str:
        """As users select it, such as ``get-8MiB``."""
        detail = size_text(self.size) if self.size is not None else self.algorithm
        return "-".join(filter(None, (self.operation.replace("_", "-"), detail)))

    @property
    def unit(self) -> Unit:
        """Of its rate."""
        return _UNITS[self.operation]


def planned(release: Release, sizes: Sequence[int], only: Sequence[str]) -> list[Planned]:
    """The measures of a release, of those names that match one of ``only`` if there are any.

    Raises:
        UsageError: a pattern matches none.
    """
    every = [
        *(Planned("put", size) for size in sizes),
        *(Planned("get", size) for size in sizes),
        Planned("exist"),
        *(Planned("chunk_keys", algorithm=algorithm) for algorithm in STARTS[release]),
    ]
    for pattern in only:
        if not any(fnmatch.fnmatchcase(one.name, pattern) for one in every):
            names = ", ".join(one.name for one in every)
            raise UsageError(f"--only {shown(pattern)!r} matches no measure; measures are {names}")
    return [one for one in every if not only or any(fnmatch.fnmatchcase(one.name, pattern) for pattern in only)]


def parse_sizes(text: str) -> list[int]:
    """Sizes of values separated by commas, each once, smallest first.

    Raises:
        UsageError: one is no size, out of bounds, or not made of whole elements.
    """
    found = set()
    for word in filter(None, (word.strip() for word in text.split(","))):
        size = size_of(word)
        if size is None or not SMALLEST <= size <= LARGEST or size % SMALLEST:
            raise UsageError(
                f"--sizes {shown(word)!r} is no size of a value; give multiples of {SMALLEST} bytes up to {size_text(LARGEST)}, "
                f"separated by commas, such as {SIZES}"
            )
        found.add(size)
    if not found:
        raise UsageError(f"--sizes names no size; write such as {SIZES}")
    return sorted(found)


def require_effort(effort: Effort) -> Effort:
    """The effort, if it is one.

    Raises:
        UsageError: a time is none to wait, or longer than a day.
    """
    for option, value, example in (("--seconds", effort.seconds, SECONDS), ("--deadline", effort.deadline, DEADLINE)):
        if not 0 < value <= LONGEST_WAIT:
            raise UsageError(f"{option} {value:g} is no time to measure; give seconds, such as {example:g}")
    return effort


def size_text(size: int) -> str:
    """A number of bytes as users write it: ``8MiB``, or ``1000B`` where no unit fits."""
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return f"{size}B"
