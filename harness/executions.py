"""Items of pytest as executions of cases: their cell, their id, and where they stand in the order of dependence."""

from __future__ import annotations

from typing import Any, Final

import pytest

from harness.case import CaseSpec, Cell, case_name, spec_of, topic_of
from harness.expectations.book import Execution
from harness.protocols import protocol_of

TOPICS: Final = (
    "keys",
    "layouts",
    "lm.request",
    "lm.reply",
    "lm.metadata",
    "lm.properties",
    "lm.roundtrip",
    "lm.segments",
    "lm.identity",
    "lm.pairwise",
    "lm.connection",
    "lm.concurrency",
    "lm.broken",
    "lm.misbehaviour",
    "lm.state",
    "lm.counterexamples",
    "lm.fuzz",
    "lm.machine",
    "lm.invariance",
    "mp",
    "servers",
    "l2.native-descriptor",
    "l2.native-buffers",
    "l2.native-completions",
    "l2.native-submits",
    "l2.native-batches",
    "l2.native-threads",
    "l2.native-close",
    "l2",
    "remote",
)
"""In the order in which one builds on the other: the first failure that is shown is the one to repair first."""


def rank(item: pytest.Item) -> tuple[int, str]:
    """Where the topic of an item stands in the order of dependence; unknown ones come last.

    Cases about connectors go release by release, because each needs a process with all of the real lmcache in it.
    """
    topic, cell = topic_of(item.path), cell_of(item)
    place = next((place for place, known in enumerate(TOPICS) if topic == known or topic.startswith(f"{known}.")), len(TOPICS))
    return place, str(cell.release) if cell is not None and protocol_of(topic) == "remote" else ""


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell of an item; None where a case has no cell under the selection."""
    call = getattr(item, "callspec", None)
    cell = call.params.get("cell") if call is not None else None
    return cell if isinstance(cell, Cell) else None


def spec_of_item(item: pytest.Item) -> CaseSpec | None:
    """What the case of an item declares."""
    function: Any = item.function  # type: ignore[attr-defined]  # cases are functions
    return spec_of(function)


def topic_and_case(item: pytest.Item) -> str:
    """``lm.get.partial-header``."""
    function: Any = item.function  # type: ignore[attr-defined]  # cases are functions
    return f"{topic_of(item.path)}.{case_name(function.__name__)}"


def case_id(item: pytest.Item, cell: Cell) -> str:
    """``lm.get.partial-header[0.5.6-mock]``."""
    return f"{topic_and_case(item)}[{cell.id}]"


def execution_of(item: pytest.Item, cell: Cell) -> Execution:
    """The execution as a list of known failures sees it."""
    name = topic_and_case(item)
    return Execution(f"{name}[{cell.id}]", name, cell.release, cell.target)
