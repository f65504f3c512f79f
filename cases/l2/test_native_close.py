"""The end of an instance, and two at once."""

import time
from collections import Counter

from cases.l2.native import LONG, SOON, contract, native, objects, stored
from harness.judge import Judge
from harness.l2.answers import Resources
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

LIMIT = 10.0
"""Seconds of ``close``."""
SIZE = 256 * 1024
CYCLES = 5
SETTLE = 5.0
"""Seconds for what ends by itself after ``close``."""
MOMENT = 0.05
WATCHED = 0.5
"""Seconds for which memory is watched after ``close``."""


@native("PLUG-NAT-031")
def test_close_idle(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """An instance that has nothing to do closes at once."""
    stored(judge, plugin, objects([l2_keys.one()], SIZE))
    _closes(judge, plugin)


@native("PLUG-NAT-031")
def test_close_under_way(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """An instance closes in time while operations are under way, drained or not."""
    batch = objects(l2_keys.some(64), SIZE)
    keys = [key for key, _ in batch]
    stored(judge, plugin, batch[:4])
    sources = plugin.buffers([data for _, data in batch])
    targets = plugin.blank([SIZE] * 4)
    steps = [plugin.step("submit_store", keys=[key], buffers=[source]) for key, source in zip(keys, sources, strict=True)]
    steps += [plugin.step("submit_load", keys=keys[:4], buffers=targets), plugin.step("submit_lookup", keys=keys)]
    plugin.together({"server": steps}, timeout=LONG)
    _closes(judge, plugin)
    judge.holds(plugin.alive, "the process died over close")


@contract("PLUG-NAT-032", needs=("native_plugin", "folder"))
def test_nothing_read_after_close(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """What is written to the memory of a store after the plugin was closed is never stored."""
    batches = [objects(l2_keys.some(8), SIZE) for _ in range(6)]
    memory = [plugin.buffers([data for _, data in batch]) for batch in batches]
    for batch, sources in zip(batches, memory, strict=True):
        plugin.submit_store([key for key, _ in batch], sources)
    plugin.close()
    for sources in memory:
        plugin.spend(sources)
    plugin.idle(WATCHED)
    again = plugin.reopen()
    for batch in batches:
        loaded = again.load([key for key, _ in batch], SIZE, timeout=LONG)
        for (_, data), came in zip(batch, loaded.data, strict=True):
            judge.holds(
                came is None or came == data, "an object was stored from memory that was given back when the plugin was closed"
            )


@native("PLUG-NAT-032")
def test_nothing_written_after_close(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Memory of loads that were under way is not written to after the plugin was closed."""
    batch = objects(l2_keys.some(16), SIZE)
    keys = [key for key, _ in batch]
    stored(judge, plugin, batch)
    memory = [plugin.blank([SIZE] * len(keys)) for _ in range(8)]
    for targets in memory:
        plugin.submit_load(keys, targets)
    plugin.close()
    for targets in memory:
        plugin.spend(targets)
    plugin.idle(WATCHED)
    late = plugin.disturbed()
    judge.holds(late == 0, f"the memory of {late} objects was written to after close had returned")


@contract("PLUG-NAT-033", needs=("native_plugin", "folder"))
def test_nothing_left(judge: Judge, plugin: Plugin, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """Instances that come and go leave no thread, descriptor or process behind."""
    _cycle(plugin, plugins, l2_keys)
    before = plugin.resources()
    for _ in range(CYCLES):
        _cycle(plugin, plugins, l2_keys)
    until = time.monotonic() + SETTLE
    left = _more(before, plugin.resources())
    while left and time.monotonic() < until:
        plugin.idle(MOMENT)
        left = _more(before, plugin.resources())
    judge.holds(not left, f"{CYCLES} instances were opened, used and closed, and left {', '.join(left)}", got=left)


@native("PLUG-NAT-034")
def test_closed_twice(judge: Judge, plugin: Plugin) -> None:
    """A second close does nothing."""
    _closes(judge, plugin, cite="PLUG-NAT-031")
    _closes(judge, plugin)


@contract("PLUG-NAT-035", needs=("native_plugin", "folder"))
def test_two_instances(judge: Judge, plugin: Plugin, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """Two instances of one process have their own objects, completions and descriptors."""
    other = plugin.sibling(plugins.new_folder())
    judge.holds(plugin.event_fd() != other.event_fd(), "two instances have the same descriptor")
    key = l2_keys.one()
    (_, mine), (_, theirs) = objects([key, key], 1000)
    stored(judge, plugin, [(key, mine)])
    judge.holds(other.lookup([key]) == [False], "an object of one instance is found by another, which stores in another folder")
    stored(judge, other, [(key, theirs)])
    for one, data in ((plugin, mine), (other, theirs)):
        judge.holds(
            one.load([key], 1000).data[0] == data, "an instance loads the object that another one stored under the same key"
        )
    submitted = [plugin.submit_lookup([key]), plugin.submit_lookup([key])]
    came = plugin.collect(2, timeout=SOON)
    judge.holds(
        sorted(one.id or 0 for one in came) == sorted(one.id for one in submitted) and not other.drain().completions,
        "completions of one instance were given by another",
    )
    other.close()
    judge.holds(plugin.load([key], 1000).data[0] == mine, "an instance does not load any more once another one was closed")


def _closes(judge: Judge, plugin: Plugin, *, cite: str | None = None) -> None:
    took = plugin.close(timeout=2 * LIMIT)
    judge.holds(took < LIMIT, f"close took {took:.1f} s; the limit is {LIMIT:g} s", cite=cite)


def _cycle(plugin: Plugin, plugins: PluginSession, l2_keys: L2Keys) -> None:
    one = plugin.sibling(plugins.new_folder())
    batch = objects(l2_keys.some(2), 1000)
    one.store(batch)
    one.load([key for key, _ in batch], 1000)
    one.close()


def _more(before: Resources, after: Resources) -> list[str]:
    """What there is now and was not before."""
    places = Counter(map(_kind, after.descriptors)) - Counter(map(_kind, before.descriptors))
    left = [f"{count} descriptors of {place}" for place, count in places.items()]
    if after.tasks > before.tasks:
        left.append(f"{after.tasks - before.tasks} threads")
    if after.children > before.children:
        left.append(f"{after.children - before.children} processes")
    return left


def _kind(place: str) -> str:
    """``socket:[12345]`` and the like without the number."""
    return place.partition(":[")[0]
