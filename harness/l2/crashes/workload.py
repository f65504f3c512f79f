"""Stores, loads, lookups and deletes, several under way at once, held against the ledger as they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Literal

from harness.l2.answers import Buffer, Submitted
from harness.l2.crashes.ledger import Fault, Ledger, State, Tally
from harness.l2.plugin_process import Plugin

Kind = Literal["store", "load", "lookup", "delete"]
WEIGHTS: Final[dict[Kind, int]] = {"store": 11, "load": 4, "lookup": 2, "delete": 3}
UNDER_WAY: Final = 3
"""Operations at once, where the plugin is of a kind that tells when each ends."""
LARGEST_BATCH: Final = 4


@dataclass(frozen=True)
class Step:
    """One operation."""

    kind: Kind
    keys: Sequence[str]


@dataclass(frozen=True)
class _Running:
    step: Step
    sure: frozenset[str]
    """Keys that were sure when it began."""
    buffers: Sequence[Buffer]
    submitted: Submitted


@dataclass
class Workload:
    """Does steps on a plugin until it is told to stop, or the plugin dies under it: then ``ClientCrash`` comes out."""

    plugin: Plugin
    ledger: Ledger
    random: Random
    tally: Tally = field(default_factory=Tally)
    refused: int = 0
    """Stores that were not done."""
    _running: list[_Running] = field(default_factory=list)

    def run(self, steps: int) -> None:
        """So many steps, and wait for all of them."""
        for _ in range(steps):
            step = self._choose()
            if step is None:
                continue
            if self.plugin.kind == "native_plugin":
                self._begin(step)
                while len(self._running) >= UNDER_WAY:
                    self._end(self.random.choice(self._running))
            else:
                self._do(step)
        while self._running:
            self._end(self._running[0])

    def _choose(self) -> Step | None:
        kinds = [kind for kind in WEIGHTS if kind != "delete" or self.plugin.has_delete]
        kind = self.random.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0]
        keys = list(self.ledger.keys)
        if kind == "store":
            missing = self.ledger.in_state(State.ABSENT, State.MAYBE)
            keys = missing if missing and self.random.random() < 0.8 else keys
        if kind in {"store", "delete"}:
            # What two of these do to one key at once nobody promises.
            taken = {key for running in self._running for key in running.step.keys if running.step.kind != "lookup"}
            keys = [key for key in keys if key not in taken]
        if kind == "load":
            taken = {key for running in self._running for key in running.step.keys if running.step.kind == "delete"}
            keys = [key for key in keys if key not in taken]
        if not keys:
            return None
        return Step(kind, self.random.sample(keys, min(len(keys), self.random.randint(1, LARGEST_BATCH))))

    def _begin(self, step: Step) -> None:
        plugin, ledger = self.plugin, self.ledger
        sure = frozenset(key for key in step.keys if ledger.state(key) is State.SURE)
        buffers: list[Buffer] = []
        match step.kind:
            case "store":
                buffers = plugin.buffers([ledger.object(key)[1] for key in step.keys])
                ledger.storing(step.keys)
                submitted = plugin.submit_store(step.keys, buffers)
            case "load":
                buffers = plugin.blank([ledger.size(key) for key in step.keys])
                submitted = plugin.submit_load(step.keys, buffers)
            case "lookup":
                submitted = plugin.submit_lookup(step.keys)
            case "delete":
                ledger.deleting(step.keys)
                submitted = plugin.submit_delete(step.keys)
        self._running.append(_Running(step, sure, buffers, submitted))

    def _end(self, running: _Running) -> None:
        self._running.remove(running)
        (completion,) = self.plugin.wait([running.submitted])
        if running.step.kind == "store":
            self._stored(running.step, ok=completion.ok)
        elif running.step.kind == "load":
            found = completion.results if completion.results is not None else [completion.ok] * len(running.step.keys)
            data = self.plugin.read(running.buffers)
            self._loaded(running.step, running.sure, [one if yes else None for one, yes in zip(data, found, strict=True)])
        if running.buffers:
            self.plugin.spend(running.buffers)

    def _do(self, step: Step) -> None:
        plugin, ledger = self.plugin, self.ledger
        match step.kind:
            case "store":
                ledger.storing(step.keys)
                self._stored(step, ok=plugin.store([ledger.object(key) for key in step.keys]).ok)
            case "load":
                sure = frozenset(key for key in step.keys if ledger.state(key) is State.SURE)
                self._loaded(step, sure, plugin.load(step.keys, [ledger.size(key) for key in step.keys]).data)
            case "lookup":
                plugin.lookup(step.keys)
            case "delete":
                ledger.deleting(step.keys)
                plugin.delete(step.keys)

    def _stored(self, step: Step, *, ok: bool) -> None:
        self.ledger.stored(step.keys, ok=ok)
        if not ok:
            self.refused += 1
            return
        data = self.plugin.load(step.keys, [self.ledger.size(key) for key in step.keys]).data
        for key, one in zip(step.keys, data, strict=True):
            self.tally.add(self.ledger.judge(key, one, sure=True, must="unhealed"))

    def _loaded(self, step: Step, sure: frozenset[str], data: Sequence[bytes | None]) -> None:
        for key, one in zip(step.keys, data, strict=True):
            self.tally.add(self.ledger.judge(key, one, sure=key in sure))

    @property
    def faults(self) -> Sequence[Fault]:
        """What was found wrong."""
        return self.tally.faults
