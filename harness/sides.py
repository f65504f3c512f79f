"""What differs between runs that judge clients, servers, plugins and connectors, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fixturegen.environment import RUNTIMES
from harness.case import TargetName
from harness.protocols import Protocol
from harness.usage import UsageError
from reports.side import SIDES, Side


@dataclass(frozen=True)
class Facts:
    """What a run of one side is like."""

    command: str
    """The command that makes it."""
    protocols: tuple[Protocol, ...]
    """What its cases may be about."""
    targets: tuple[TargetName, ...]
    """What they may run against."""
    runtimes: tuple[str, ...] = RUNTIMES
    """Where the real lmcache may run."""


FACTS: Final[Mapping[Side, Facts]] = MappingProxyType(
    {
        "client": Facts("run", ("lm", "mp"), ("fixtures", "mock", "live")),
        "server": Facts("server", ("lm", "mp"), ("mock", "live")),
        "plugin": Facts("plugin", ("l2",), ("alone", "live"), ("venv",)),
        "connector": Facts("connector", ("remote",), ("alone",), ("venv",)),
    }
)


def parse_side(text: str) -> Side:
    """What ``--side`` names.

    Raises:
        UsageError: anything but one of :data:`SIDES`.
    """
    for side in SIDES:
        if text == side:
            return side
    raise UsageError(f"unknown side {text!r}; write one of {', '.join(SIDES)}")


def where_listed(side: Side) -> str:
    """Where a user sees which cases a side has, for messages."""
    words = "" if side == "client" else f" --side {side}"
    return f"'lmconform list{words} --ids' shows what there is"


def require_targets(side: Side, targets: Sequence[TargetName]) -> None:
    """Refuse targets that cases of a side never run against.

    Raises:
        UsageError: there is one.
    """
    wrong = [target for target in targets if target not in FACTS[side].targets]
    if wrong:
        raise UsageError(f"a {side} is not judged on {', '.join(wrong)}; its targets are {', '.join(FACTS[side].targets)}")


def require_runtime(side: Side, runtime: str) -> None:
    """Refuse a runtime in which what is judged cannot be opened.

    Raises:
        UsageError: it is one.
    """
    known = FACTS[side].runtimes
    if runtime not in known:
        raise UsageError(
            f"a {side} is judged in the {' or '.join(known)} runtime alone: it is opened by processes of this machine, "
            f"beside the real lmcache where it needs that; leave --runtime {runtime} out"
        )
