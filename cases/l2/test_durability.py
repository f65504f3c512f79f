"""The plugin's process is killed, between operations and in the middle of them, and the plugin is opened again."""

from pathlib import Path
from random import Random
from typing import Final

from cases.l2.aftermath import (
    CITES,
    HEALS,
    LOST,
    OPENS,
    WRONG,
    Cites,
    check,
    heal,
    ledger,
    opening,
    plugin_case,
    report,
    store,
    watching,
)
from cases.l2.kills import POINTS, kill_at_each_call, kill_half_way, killed
from harness.case import parameters
from harness.examples import Examples
from harness.judge import Judge
from harness.l2.calls.disk import Disk
from harness.l2.crashes.ledger import Ledger, State
from harness.l2.crashes.opening import opened
from harness.l2.crashes.run import CrashRun
from harness.l2.crashes.trigger import Trigger
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession
from wire.release import Release

CLOSED: Final = "PLUG-DUR-005"
LEFTOVERS: Final = "PLUG-DUR-006"
POWER: Final = "PLUG-DUR-007"
POWER_PROMISE: Final = "PLUG-DUR-008"
WHOLE: Final[Cites] = dict.fromkeys(CITES, POWER)
KEPT: Final[Cites] = dict.fromkeys(CITES, POWER_PROMISE)
SMALL, MIDDLE, LARGE = 700, 4096, 300_000
KILLS: Final = 25
"""Of the random ones, where nobody asked for more."""
LEFT_KILLS: Final = 8


@plugin_case(WRONG, LOST, OPENS, HEALS)
def test_kill_between_operations(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """After a kill between two operations whatever was stored before is whole, and what is stored after it as well."""
    book = ledger(l2_keys, [1, SMALL, MIDDLE, LARGE, SMALL, LARGE])
    first, second = book.keys[:4], book.keys[4:]
    store(judge, plugin, book, first)
    for _ in range(2):
        plugin = killed(judge, plugin, book, "after a kill between two operations")
        check(judge, plugin, book, after="after a kill between two operations")
        store(judge, plugin, book, second, after="after a kill: ")
        check(judge, plugin, book, after="after a kill and another store", must="unhealed")
    if plugin.has_delete:
        book.deleting(first[:1])
        plugin.delete(first[:1])
    plugin = killed(judge, plugin, book, "after a kill that came after a delete")
    check(judge, plugin, book, after="after a kill that came after a delete")
    heal(judge, plugin, book, after="after a kill that came after a delete")


@plugin_case(WRONG, LOST, OPENS, HEALS, needs=("folder",), variants=parameters("before-a-call", "within-a-write"))
def test_kill_in_a_store(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, vector: str) -> None:
    """A kill before any file-system call of a store, or in the middle of a write, leaves every object whole or missing."""
    sizes = [SMALL, LARGE, MIDDLE]

    def act(plugin: Plugin, book: Ledger) -> None:
        keys = book.in_state(State.ABSENT)[:2]
        book.storing(keys)
        book.stored(keys, ok=plugin.store([book.object(key) for key in keys]).ok)

    book = ledger(l2_keys, sizes * (POINTS + 3))
    kill_at_each_call(judge, plugins, book, act, "a store", part=0.5 if vector == "within-a-write" else 0.0)


@plugin_case(WRONG, LOST, OPENS, HEALS, needs=("folder",))
def test_kill_in_a_second_store(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """A kill while an object is stored a second time, with the same bytes, does not cost it: it was stored already."""

    def act(plugin: Plugin, book: Ledger) -> None:
        keys = list(book.keys)
        if book.in_state(State.ABSENT):
            store(judge, plugin, book, keys)
            return
        plugin.store([book.object(key) for key in keys])

    book = ledger(l2_keys, [SMALL, LARGE])
    kill_at_each_call(judge, plugins, book, act, "a second store", prepare=act)


@plugin_case(WRONG, LOST, OPENS, HEALS, needs=("folder", "delete"))
def test_kill_in_a_delete(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """A kill while an object is deleted leaves it whole or missing, and all others whole."""

    def prepare(plugin: Plugin, book: Ledger) -> None:
        store(judge, plugin, book, [key for key in book.keys if book.state(key) is not State.SURE])

    def act(plugin: Plugin, book: Ledger) -> None:
        book.deleting(book.keys[:1])
        plugin.delete(book.keys[:1])

    book = ledger(l2_keys, [LARGE, SMALL, MIDDLE])
    kill_at_each_call(judge, plugins, book, act, "a delete", prepare=prepare)


@plugin_case(WRONG, LOST, OPENS, HEALS, needs=("folder",))
def test_kill_in_an_opening(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """A kill while the plugin is opened, with remains of an earlier kill in its folder, costs nothing either."""
    folder = plugins.new_folder()
    book = ledger(l2_keys, [SMALL, LARGE, LARGE, MIDDLE])
    with opened(plugins, folder, Trigger(), watched=False) as plugin:
        assert plugin is not None
        store(judge, plugin, book, book.keys[:2])
        if plugin.durability == "none":
            book.doubt()
    with watching():
        kill_half_way(judge, plugins, folder, book, book.keys[2:])
    for number in range(1, POINTS):
        trigger = Trigger()
        trigger.arm(number)
        with opening(judge, f"after {number - 1} kills in openings"), opened(plugins, folder, trigger, watched=True):
            pass
        if trigger.ended is None:
            break
    after = "after kills in openings"
    with opening(judge, after), opened(plugins, folder, Trigger(), watched=False) as plugin:
        assert plugin is not None
        check(judge, plugin, book, after=after)
        heal(judge, plugin, book, after=after)


@plugin_case(WRONG, LOST, OPENS, HEALS)
def test_random_kills(judge: Judge, plugins: PluginSession, release: Release, examples: Examples) -> None:
    """Killed again and again at points that nobody chose, while much is under way, a plugin never gives wrong bytes."""
    run = CrashRun(plugins, release, examples.count if examples.asked else KILLS, examples.seed, findings=1)
    found = run.run()
    for finding in found.findings:
        report(
            judge, [finding.fault], after=f"round {finding.round} of seed {found.seed}; the process before was {finding.ended}"
        )
    judge.holds(
        found.after_crash.whole or found.durability == "none",
        f"of {found.after_crash.checked} objects that were looked for after {found.all_kills} kills none was there",
        cite=LOST,
    )


@plugin_case(CLOSED, WRONG)
def test_close_and_open_again(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """What was stored before the plugin was closed is there when it is opened again; the rest is whole or missing."""
    book = ledger(l2_keys, [SMALL, MIDDLE, LARGE, LARGE, LARGE])
    store(judge, plugin, book, book.keys[:3])
    if plugin.kind == "native_plugin":
        book.storing(book.keys[3:])
        plugin.submit_store(book.keys[3:], plugin.buffers([book.object(key)[1] for key in book.keys[3:]]))
    plugin.close()
    if plugin.durability == "none":
        book.doubt()
    again = plugin.reopen()
    tally = book.check(again)
    for fault in tally.faults:
        judge.fail(f"after close: {fault.words}", cite=CLOSED if fault.kind == "lost" else WRONG)


@plugin_case(LEFTOVERS, needs=("folder",))
def test_leftovers(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """What killed stores leave behind does not pile up: the next opening takes it away, or most of it."""
    folder = plugins.new_folder()
    book = ledger(l2_keys, [LARGE] * LEFT_KILLS)
    with watching():
        for key in book.keys:
            kill_half_way(judge, plugins, folder, book, [key])
    before = _bytes(folder)
    with opening(judge, f"after {LEFT_KILLS} kills in stores"), opened(plugins, folder, Trigger(), watched=False) as plugin:
        assert plugin is not None
        tally = check(judge, plugin, book, after=f"after {LEFT_KILLS} kills in stores")
        store(judge, plugin, book, book.keys[:1])
        left = _bytes(folder) - LARGE * max(1, tally.whole)
    limit = 2 * LARGE
    judge.holds(
        left <= limit,
        f"{LEFT_KILLS} killed stores of {LARGE} bytes left {before} bytes in the folder, and {left} of them are there after "
        f"the next opening; at most {limit} are expected",
        cite=LEFTOVERS,
    )


@plugin_case(POWER, needs=("folder",))
def test_power_loss(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, examples: Examples) -> None:
    """When the power goes in the middle of a store, and what was not synced with it, every object is whole or missing."""
    _lose_power(judge, plugins, ledger(l2_keys, [SMALL, LARGE] * (POINTS + 3)), examples.seed)


@plugin_case(POWER_PROMISE, needs=("folder", "survives-power"))
def test_power_loss_costs_nothing(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, examples: Examples) -> None:
    """A plugin that says that its objects survive a loss of power loses none whose store had completed."""
    book = ledger(l2_keys, [SMALL, LARGE] * (POINTS + 3))
    _lose_power(judge, plugins, book, examples.seed, promised=True)


def _lose_power(judge: Judge, plugins: PluginSession, book: Ledger, seed: int, *, promised: bool = False) -> None:
    folder = plugins.new_folder().resolve()
    disk = Disk(folder, folder.with_name(f"{folder.name}-attic"))

    def act(plugin: Plugin, book: Ledger) -> None:
        keys = book.in_state(State.ABSENT)[:2]
        book.storing(keys)
        book.stored(keys, ok=plugin.store([book.object(key) for key in keys]).ok)

    chance = Random(f"power {seed}")  # a plan of a test, no secret
    kill_at_each_call(
        judge, plugins, book, act, "a store", disk=disk, chance=chance, cites=KEPT if promised else WHOLE, kept=promised
    )


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
