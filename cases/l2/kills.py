"""Kills of a plugin's process: between operations, at each call of the file system, and in the middle of a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Final

from cases.l2.aftermath import CITES, Cites, check, heal, opening, watching
from harness.client import ClientCrash
from harness.judge import Judge
from harness.l2.calls.call import FileCall
from harness.l2.calls.disk import Disk
from harness.l2.crashes.ledger import Ledger
from harness.l2.crashes.opening import opened
from harness.l2.crashes.trigger import Trigger
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

POINTS: Final = 10
"""Kills of one case; of more calls than that some are chosen, the first and the last among them."""
BEHIND: Final = 0
"""Not at a call, but when all is done."""
Act = Callable[[Plugin, Ledger], None]


def killed(judge: Judge, plugin: Plugin, book: Ledger, after: str) -> Plugin:
    """Kill and open again."""
    plugin.kill()
    if plugin.durability == "none":
        book.doubt()
    with opening(judge, after):
        return plugin.reopen()


def kill_at_each_call(
    judge: Judge,
    plugins: PluginSession,
    book: Ledger,
    act: Act,
    what: str,
    *,
    prepare: Act | None = None,
    part: float = 0.0,
    disk: Disk | None = None,
    chance: Random | None = None,
    cites: Cites = CITES,
    kept: bool = True,
) -> None:
    """Kill at one call of an act after the other, and once behind it; after each kill look at everything, and heal it.

    With a disk the power goes with the process, and unless objects are ``kept`` they may be lost then.
    """
    folder = disk.folder if disk is not None else plugins.new_folder()
    after = f"before {what}"
    calls = _calls_of(plugins, book, act, prepare, writes_only=part > 0)
    for number in [*_spread(calls), BEHIND, None]:
        trigger = Trigger(disk)
        with opening(judge, after, cites=cites), watching(), opened(plugins, folder, trigger, watched=True) as plugin:
            assert plugin is not None
            if plugin.durability == "none" or not kept:
                book.doubt()
            check(judge, plugin, book, after=after, cites=cites)
            heal(judge, plugin, book, after=after, cites=cites)
            if number is None:
                return
            if prepare is not None:
                prepare(plugin, book)
            if number != BEHIND:
                trigger.arm(number, part)
            try:
                act(plugin, book)
            except ClientCrash:
                if not trigger.fired:
                    raise
        after = f"after {what} that was killed {_where(trigger, part)}"
        if disk is not None:
            assert chance is not None
            after += f", when the power was lost ({'; '.join(disk.lose_power(chance)) or 'which took nothing'})"


def _calls_of(plugins: PluginSession, book: Ledger, act: Act, prepare: Act | None, *, writes_only: bool) -> list[int]:
    """The numbers of the calls that change something while something is done, found by doing it once, in a folder of its own."""
    seen: list[int] = []
    trigger = Trigger(hear=lambda call, number: seen.append(number) if not writes_only or (call.size or 0) > 1 else None)
    with watching(), opened(plugins, plugins.new_folder(), trigger, watched=True) as plugin:
        assert plugin is not None
        if prepare is not None:
            prepare(plugin, book)
        seen.clear()
        before = trigger.changes
        act(plugin, book)
    book.forget()
    return [number - before for number in seen]


def _spread(numbers: list[int]) -> list[int]:
    """All of them, or some that lie evenly between the first and the last."""
    if len(numbers) <= POINTS:
        return numbers
    return [numbers[round(place * (len(numbers) - 1) / (POINTS - 1))] for place in range(POINTS)]


def kill_half_way(judge: Judge, plugins: PluginSession, folder: Path, book: Ledger, keys: Sequence[str]) -> None:
    """Kill a store when about half of its bytes are written."""
    wanted = sum(book.size(key) for key in keys) / 2
    written = 0
    storing = False

    def hear(call: FileCall, number: int) -> None:
        nonlocal written
        written += (call.size or 0) if storing else 0
        if written > wanted and not trigger.armed:
            trigger.arm(1)

    trigger = Trigger(hear=hear)
    with opening(judge, "after kills in stores"), opened(plugins, folder, trigger, watched=True) as plugin:
        assert plugin is not None
        storing = True  # a database may write as much while it is opened
        book.storing(keys)
        try:
            book.stored(keys, ok=plugin.store([book.object(key) for key in keys]).ok)
        except ClientCrash:
            if not trigger.fired:
                raise
        if plugin.durability == "none":
            book.doubt()


def _where(trigger: Trigger, part: float) -> str:
    """The moment of a kill, in words."""
    if trigger.ended is None:
        return "when it was done"
    return f"in the middle of {trigger.ended}" if part else f"before {trigger.ended}"
