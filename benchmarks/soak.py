"""A soak of the mocks: mixed traffic with faults for many minutes, every value checksummed.

A warm-up fills what remembers (the journal above all) and the allocator. Then the traffic goes on at a modest rate, and the
threads, descriptors and resident memory of the mock, a process of its own, are looked at every few seconds. The last line says
whether it passed: status 1 where anything was lost, where threads or descriptors did not come back, or where memory rises.

.venv/bin/python -m benchmarks.soak [--minutes N] [--rate R] [--only lm|mp] [--samples FILE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.endurance import lm_traffic, mp_traffic
from benchmarks.endurance.program import Wire, conclude, options, setting
from benchmarks.endurance.traffic import Opened, Traffic
from benchmarks.endurance.trend import Trend, trend
from benchmarks.servers import Figures, StartedServer, served

MOST_RISE: Final = 4.0
"""MiB that the line through the last two thirds of the samples may rise from end to end: what fragmentation makes."""
_SETTLES: Final = 15.0
_STOPS: Final = 1.0


@dataclass(frozen=True)
class Plan:
    """How long, how fast, and how often one looks."""

    minutes: float = setting(30.0, "after the warm-up")
    rate: float = setting(100.0, "operations a second, after the warm-up")
    every: float = setting(10.0, "seconds between samples")
    warm_up: float = setting(10.0, "minutes after which the warm-up ends, filled or not")
    seed: int = setting(1, "another one gives other traffic")


WIRES: Final[dict[str, Wire[Opened]]] = {
    "lm": Wire(("--protocol", "lm"), lm_traffic.LmTraffic, lm_traffic.FAULTS),
    "mp": Wire(("--protocol", "mp"), mp_traffic.MpTraffic, mp_traffic.FAULTS),
}


@dataclass(frozen=True)
class Soaked:
    """What came of it."""

    before: Figures
    after: Figures
    samples: Sequence[tuple[float, Figures]]
    lost: Sequence[str]

    @property
    def trend(self) -> Trend | None:
        """Of the resident memory."""
        return trend([(seconds, figures.rss) for seconds, figures in self.samples])

    def faults(self) -> list[str]:
        """What is wrong, besides what was lost."""
        found = []
        if self.after.threads > self.before.threads or self.after.descriptors > self.before.descriptors:
            found.append(f"threads or descriptors that did not come back: {self.before} before, {self.after} after")
        line = self.trend
        if line is not None and line.rise > MOST_RISE:
            found.append(f"memory rises: {line}; at most {MOST_RISE:g} MiB are due")
        return found


def soak(name: str, plan: Plan, say: Callable[[str], None] = print, samples: Path | None = None) -> list[str]:
    """Soak the mock of one wire; the names of what was lost or is wrong."""
    wire = WIRES[name]
    with served(*wire.words, faults=wire.faults) as server:
        before = server.figures()
        say(f"{name}: before: {before}")
        traffic = wire.work(server, plan.seed)
        _warm_up(name, traffic, plan, say)
        say(f"{name}: after the warm-up: {server.figures()}")
        seen = _keep_on(server, traffic, plan, lambda line: _note(samples, line))
        traffic.finish()
        found = Soaked(before, server.settled(before, _SETTLES), seen, traffic.lost)
        seconds, status = server.stop()
    say(f"{name}: {', '.join(f'{what} {count}' for what, count in sorted(traffic.counts.items()))}")
    say(f"{name}: after: {found.after}; stopped in {seconds:.2f} s")
    say(f"{name}: memory over the last two thirds: {found.trend or 'too few samples to say'}")
    wrong = [*found.lost, *found.faults()]
    if seconds > _STOPS or status:
        wrong.append(f"a clean stop: it took {seconds:.2f} s, status {status}")
    return [f"{name}: {words}" for words in wrong]


def _warm_up(name: str, traffic: Traffic, plan: Plan, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    while not traffic.full() and time.monotonic() - began < 60 * plan.warm_up:
        traffic.fill()
    state = "filled what remembers" if traffic.full() else "ended before what remembers was full"
    say(f"{name}: the warm-up {state}, in {time.monotonic() - began:.0f} s")


def _keep_on(server: StartedServer, traffic: Traffic, plan: Plan, note: Callable[[str], None]) -> list[tuple[float, Figures]]:
    """Lead the traffic at its rate, and look every few seconds. What falls behind is not made up for in a burst."""
    began = due = time.monotonic()
    seen: list[tuple[float, Figures]] = []
    while (now := time.monotonic()) - began < 60 * plan.minutes:
        if now - began >= len(seen) * plan.every:
            seen.append((now - began, server.figures()))
            note(f"{now - began:.1f} {seen[-1][1]}, {sum(traffic.counts.values())} operations, {len(traffic.lost)} lost")
        traffic.step()
        due = max(due + 1 / plan.rate, time.monotonic() - 1)
        time.sleep(max(0.0, due - time.monotonic()))
    return seen


def _note(samples: Path | None, line: str) -> None:
    if samples is not None:
        with samples.open("a") as file:
            print(line, file=file)


def main(words: Sequence[str] | None = None) -> int:
    """Soak, and tell."""
    parser = options("benchmarks.soak", "A soak of the mock servers.", WIRES, Plan)
    parser.add_argument("--samples", type=Path, metavar="FILE", help="write a line for each sample into this file")
    given = vars(parser.parse_args(words))
    only, samples = given.pop("only"), given.pop("samples")
    if given["rate"] <= 0:
        parser.error("--rate is more than 0")
    if samples is not None and not samples.parent.is_dir():
        parser.error(f"--samples {samples}: there is no folder {samples.parent}; make it first")
    wrong = [line for name in WIRES if only in {None, name} for line in soak(name, Plan(**given), samples=samples)]
    return conclude(wrong, "nothing was lost, nothing was left, memory is flat")


if __name__ == "__main__":
    sys.exit(main())
