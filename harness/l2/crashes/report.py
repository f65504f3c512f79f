"""What a crash run did and found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.l2.crashes.endings import WORDS, Kind
from harness.l2.crashes.ledger import Fault, Tally
from harness.l2.plugin_process import Durability


@dataclass(frozen=True)
class Finding:
    """A fault, and what led to it."""

    round: int
    fault: Fault
    ended: str
    """How the process before ended, and what the disk lost."""

    def __str__(self) -> str:
        return f"round {self.round}: {self.fault.kind}: {self.fault.words}\n  the process before: {self.ended}"


@dataclass
class CrashReport:
    """The figures of a run."""

    seed: int
    durability: Durability = "process"
    """What stored objects survive, as the plugin says."""
    kills: Counter[Kind] = field(default_factory=Counter)
    after_crash: Tally = field(default_factory=Tally)
    """What was found of everything ever stored, each time that the plugin was opened again."""
    running: Tally = field(default_factory=Tally)
    """What loads of the workloads found."""
    refused: int = 0
    damaged: int = 0
    """Files that were damaged by us."""
    after_damage: Tally = field(default_factory=Tally)
    largest_leftover: int = 0
    """Bytes of the folder beyond those of the objects in it, at most, after the plugin was opened again."""
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    without: str | None = None
    """Why calls of the file system were not watched; None if they were."""

    @property
    def all_kills(self) -> int:
        """Processes that were killed."""
        return self.kills.total()

    def count(self, kind: str) -> int:
        """Findings of a kind."""
        return sum(finding.fault.kind == kind for finding in self.findings)

    def lines(self) -> Sequence[str]:
        """What a person reads."""
        after, running, rotten = self.after_crash, self.running, self.after_damage
        wrong, lost = self.count("wrong"), self.count("lost")
        kinds = "; ".join(f"{count} {WORDS[kind]}" for kind, count in self.kills.most_common())
        return [
            f"{self.all_kills} kills in {self.seconds:.0f} s (seed {self.seed}): {kinds}",
            *([f"calls of the file system were not watched: {self.without}"] if self.without else []),
            f"after them {after.checked} objects checked: {after.whole} whole, {after.missed} missed, {lost} lost, {wrong} wrong",
            f"in between {running.checked} loads: {running.whole} whole, {running.missed} missed; {self.refused} stores refused",
            f"{self.damaged} files damaged, then {rotten.checked} objects checked: {rotten.whole} whole, {rotten.missed} missed",
            f"at most {self.largest_leftover} bytes were left over in the folder",
            *(str(finding) for finding in self.findings),
        ]

    def members(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "seed": self.seed,
            "durability": self.durability,
            "kills": {**self.kills, "all": self.all_kills},
            "after_crash": _figures(self.after_crash),
            "running": {**_figures(self.running), "refused": self.refused},
            "after_damage": {**_figures(self.after_damage), "files": self.damaged},
            "largest_leftover": self.largest_leftover,
            "seconds": round(self.seconds, 1),
            "without": self.without,
            "findings": [
                {"round": one.round, "kind": one.fault.kind, "what": one.fault.words, "ended": one.ended} for one in self.findings
            ],
        }


def _figures(tally: Tally) -> dict[str, int]:
    return {
        "checked": tally.checked,
        "whole": tally.whole,
        "missed": tally.missed,
        "missed_after_a_yes": tally.promised,
    }
