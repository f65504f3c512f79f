"""Any history of stores, loads, lookups and deletes, against a dictionary of what must be there."""

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from cases.l2.objects import content, holds, looks, store
from harness.case import ALONE, case
from harness.examples import Examples
from harness.judge import Judge
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

STEPS = 12
SIZES = (1, 64, 1000, 4096, 70_001, 300_000)
"""The key with a number always has the object of the same number: keys are hashes of contents."""
BATCHES = st.lists(st.sampled_from(range(len(SIZES))), min_size=1, max_size=len(SIZES), unique=True)


@case(
    "PLUG-SEM-001",
    "PLUG-SEM-002",
    "PLUG-SEM-003",
    "PLUG-SEM-004",
    "PLUG-SEM-005",
    "PLUG-SEM-012",
    "PLUG-SEM-013",
    targets=ALONE,
    judges="plugin",
    once_for="contract",
)
def test_any_order(plugin: Plugin, l2_keys: L2Keys, judge: Judge, examples: Examples) -> None:
    """Whatever was stored, loaded, looked up and deleted before, exactly what must be there is found, with its bytes."""
    numbers = itertools.count(1)
    machine = machine_of(plugin, judge)
    examples.costly(8).run_machine(lambda: machine(l2_keys.some(len(SIZES)), next(numbers)), steps=STEPS)


def machine_of(plugin: Plugin, judge: Judge) -> Callable[[list[str], int], RuleBasedStateMachine]:
    """The machine for one plugin; each run of it has keys of its own."""

    class History(RuleBasedStateMachine):
        """Rules that ask the plugin one thing each."""

        def __init__(self, keys: list[str], number: int) -> None:
            super().__init__()
            self.keys = keys
            self.contents = {key: content((number, key), size) for key, size in zip(keys, SIZES, strict=True)}
            self.held: set[str] = set()

        def chosen(self, batch: list[int]) -> dict[str, bytes]:
            """The objects of some numbers."""
            return {self.keys[number]: self.contents[self.keys[number]] for number in batch}

        @rule(batch=BATCHES)
        def put(self, batch: list[int]) -> None:
            """Store some, of which others may be there."""
            store(plugin, judge, self.chosen(batch), cite="PLUG-SEM-002")
            self.held.update(self.chosen(batch))

        @rule(batch=BATCHES)
        def get(self, batch: list[int]) -> None:
            """Load some, of which others may be missing."""
            chosen = self.chosen(batch)
            present = {key: data for key, data in chosen.items() if key in self.held}
            absent = {key: data for key, data in chosen.items() if key not in self.held}
            holds(plugin, judge, present, absent=absent, when="in the middle of a history", cite="PLUG-SEM-004")

        @rule(batch=BATCHES)
        def look(self, batch: list[int]) -> None:
            """Look some up."""
            chosen = [*self.chosen(batch)]
            expected = [key in self.held for key in chosen]
            looks(plugin, judge, chosen, expected, when="in the middle of a history", cite="PLUG-SEM-005")

        @precondition(lambda _: plugin.has_delete)
        @rule(batch=BATCHES)
        def delete(self, batch: list[int]) -> None:
            """Delete some, of which others may be missing."""
            chosen = [*self.chosen(batch)]
            deleted: Any = plugin.delete(chosen)
            judge.holds(deleted.ok, "a delete failed", cite="PLUG-SEM-012", client_answered=f"not ok: {deleted.error}")
            self.held.difference_update(chosen)

    return History
