"""Rounds of work that end in a kill, each followed by a look at everything that was ever stored."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from harness.client import ClientCrash, ClientFailure
from harness.l2.calls.disk import Disk
from harness.l2.calls.watcher import CannotWatch, Watcher, why_not
from harness.l2.crashes.damage import damage_one_file
from harness.l2.crashes.endings import OPENING_CALLS, UNWATCHED, WATCHED, WORDS, Ending, Kind, choose
from harness.l2.crashes.ledger import FAULTS, Fault, Ledger, Tally
from harness.l2.crashes.opening import opened
from harness.l2.crashes.report import CrashReport, Finding
from harness.l2.crashes.trigger import Trigger
from harness.l2.crashes.workload import Workload
from harness.l2.host_process import HostProcess
from harness.l2.keys import L2Key
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession
from wire.release import Release

SIZES: Final = (1, 40, 4095, 4096, 4097, 20_000, 70_000, 150_000, 300_000, 600_000)
"""Bytes of the objects: with the reference plugin's fragments of 256 KiB from one fragment to three."""
OBJECTS: Final = 24
"""Keys of a folder."""
EPOCH: Final = 40
"""Rounds with one folder; the next begins with an empty one."""
STEPS: Final = (2, 10)
"""Operations of a workload, at least and at most."""
DAMAGE_EVERY: Final = 10
"""In each so many-eth round a file is damaged."""
FINDINGS: Final = 10
"""After so many the run ends."""
_SETTLED: Final = 0.2
"""A first guess of what a workload takes, in seconds, and of the changes that it makes."""
_CHANGES: Final = 30
_WEIGHT: Final = 0.3


@dataclass
class _Epoch:
    """A folder and what was stored in it."""

    folder: Path
    ledger: Ledger
    disk: Disk
    ended: str = "there was none"


@dataclass
class CrashRun:
    """A run of so many kills; the same seed makes the same plan, and with a plugin of one thread the same run.

    ``tell`` hears of every round.
    """

    session: PluginSession
    release: Release
    kills: int
    seed: int = 1
    findings: int = FINDINGS
    tell: Callable[[CrashReport], None] = lambda _: None
    _report: CrashReport = field(init=False)
    _changes: float = _CHANGES
    _seconds: float = _SETTLED

    def __post_init__(self) -> None:
        self._report = CrashReport(self.seed, without=self._unwatchable())

    def run(self) -> CrashReport:
        """All rounds, or those up to too many findings."""
        began = time.monotonic()
        number = 0
        epoch: _Epoch | None = None
        while self._report.all_kills < self.kills and len(self._report.findings) < self.findings:
            if epoch is None or number % EPOCH == 0:
                self._forget(epoch)
                epoch = self._new_epoch(number)
            number += 1
            before = len(self._report.findings)
            self._round(number, epoch, Random(f"{self.seed} {number}"))  # noqa: S311  # a plan, no secret
            if len(self._report.findings) > before:
                self._forget(epoch)
                epoch = None  # else the same fault would be found in each round to come
            self._report.seconds = time.monotonic() - began
            self.tell(self._report)
        self._forget(epoch)
        return self._report

    def _round(self, number: int, epoch: _Epoch, random: Random) -> None:
        """Open, look at everything, work, and be killed."""
        report, ending = self._report, choose(random, self._kinds)
        trigger = Trigger(epoch.disk)
        try:
            with self._opened(epoch, trigger, ending) as plugin:
                if plugin is None:
                    return
                report.durability = plugin.durability
                if self._check(number, epoch, plugin, report.after_crash):
                    return
                report.largest_leftover = max(report.largest_leftover, self._leftover(epoch))
                workload = Workload(plugin, epoch.ledger, random)
                try:
                    self._work(workload, trigger, ending, random)
                finally:
                    report.running.add(workload.tally)
                    report.refused += workload.refused
                    self._found(number, epoch, workload.tally)
        except ClientFailure as failure:
            if not (trigger.fired and isinstance(failure, ClientCrash)):
                self._found(number, epoch, _dead(failure))
                return
        finally:
            epoch.ended = self._ended(ending, trigger, epoch, random)
        if number % DAMAGE_EVERY == 0 and self.session.spec.names_folder:
            self._damage(number, epoch, random)

    @contextlib.contextmanager
    def _opened(self, epoch: _Epoch, trigger: Trigger, ending: Ending) -> Iterator[Plugin | None]:
        """The plugin in a process of its own, which is killed at the end; None if that was killed while it was opened."""
        if ending.kind == "opening":
            trigger.arm(1 + int(ending.at * OPENING_CALLS), ending.part)
        try:
            with opened(self.session, epoch.folder, trigger, watched=ending.watched) as plugin:
                yield plugin
        finally:
            self._report.kills[ending.kind] += 1

    def _check(self, number: int, epoch: _Epoch, plugin: Plugin, total: Tally) -> bool:
        """Look at everything; whether something is wrong."""
        tally = epoch.ledger.check(plugin)
        total.add(tally)
        self._found(number, epoch, tally)
        return bool(tally.faults)

    def _work(self, workload: Workload, trigger: Trigger, ending: Ending, random: Random) -> None:
        """Work until the kill; a kill that did not come by the end of the work comes after it."""
        steps = random.randint(*STEPS)
        began, changes = time.monotonic(), trigger.changes
        timer, process = None, os.pidfd_open(workload.plugin.pid)
        if ending.kind in {"call", "power"}:
            trigger.arm(1 + int(ending.at * 1.2 * self._changes), ending.part)
        elif ending.kind == "moment":
            timer = threading.Timer(ending.at * self._seconds, trigger.kill, [process])
            timer.start()
        try:
            workload.run(steps)
            if ending.watched:
                self._changes += _WEIGHT * (trigger.changes - changes - self._changes)
            else:
                self._seconds += _WEIGHT * (time.monotonic() - began - self._seconds)
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()
            os.close(process)

    def _ended(self, ending: Ending, trigger: Trigger, epoch: _Epoch, random: Random) -> str:
        """What happened at the end, in words; power is lost here."""
        report = self._report
        words = "killed after its work" if ending.watched else f"killed {WORDS[ending.kind]}"
        if report.durability == "none":
            epoch.ledger.doubt()
        if trigger.ended is not None:
            part = f", after {ending.part:.1%} of it" if ending.part and trigger.ended.size else ""
            words = f"killed before {trigger.ended}{part}"
        if ending.kind == "power":
            lost = epoch.disk.lose_power(random)
            words += f"; lost with the power: {'; '.join(lost) or 'nothing'}"
            if report.durability != "power":
                epoch.ledger.doubt()
        elif not ending.watched:
            epoch.disk.settle()  # what was not watched cannot be lost later
        return words

    def _damage(self, number: int, epoch: _Epoch, random: Random) -> None:
        words = damage_one_file(epoch.folder, random)
        if words is None:
            return
        self._report.damaged += 1
        epoch.ended += f"; then {words}"
        epoch.ledger.doubt()
        trigger = Trigger()
        try:
            with self._opened(epoch, trigger, Ending("between", 0, 0)) as plugin:
                assert plugin is not None
                self._check(number, epoch, plugin, self._report.after_damage)
        except ClientFailure as failure:
            self._found(number, epoch, _dead(failure))

    def _found(self, number: int, epoch: _Epoch, tally: Tally) -> None:
        self._report.findings.extend(Finding(number, fault, epoch.ended) for fault in tally.faults)

    def _new_epoch(self, number: int) -> _Epoch:
        random = Random(f"{self.seed} keys {number}")  # noqa: S311  # the same
        model = f"lmconform/crash-{self.seed}-{number}"
        sizes = {L2Key(model, random.randbytes(32)).text(self.release): random.choice(SIZES) for _ in range(OBJECTS)}
        folder = self.session.new_folder()
        attic = folder.with_name(f"{folder.name}-attic")
        return _Epoch(folder, Ledger(sizes), Disk(folder.resolve(), attic))

    def _forget(self, epoch: _Epoch | None) -> None:
        if epoch is not None:
            epoch.disk.settle()
            shutil.rmtree(epoch.folder, ignore_errors=True)

    def _leftover(self, epoch: _Epoch) -> int:
        if not self.session.spec.names_folder:
            return 0
        held = sum(epoch.ledger.size(key) for key in epoch.ledger.present)
        return max(0, _size(epoch.folder) - held)

    @property
    def _kinds(self) -> Sequence[Kind]:
        return tuple(WATCHED if self._report.without is None else UNWATCHED)

    def _unwatchable(self) -> str | None:
        if not self.session.spec.names_folder:
            return "the plugin's parameters name no {dir}"
        reason = why_not()
        if reason is not None:
            return reason
        watcher = Watcher(self.session.new_folder(), Trigger())
        try:
            process = HostProcess(self.session.resolved, self.session.budget, watcher=watcher)
            process.discard()
        except CannotWatch as error:
            return str(error)
        finally:
            watcher.stop()
        return None


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _dead(failure: ClientFailure) -> Tally:
    last = failure.stderr.strip().splitlines()
    said = f"; it said last: {last[-1]}" if last else ""
    return Tally(faults=[Fault("dead", f"{FAULTS['dead']}: {type(failure).__name__}: {failure}{said}")])
