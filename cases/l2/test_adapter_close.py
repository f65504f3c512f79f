"""The end of a ``plugin``."""

import time

from cases.l2.adapter import QUIET, about_adapters, content, found, stored
from harness.judge import Judge
from harness.l2.adapter_calls import AdapterCalls
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

CLOSE_BOUND = 10.0
MEGABYTE = 1024 * 1024
HEAVY = 24
TIMES = 5


@about_adapters("PLUG-ADP-029", "PLUG-ADP-030")
def test_closed_at_work(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """An adapter that is closed while it stores and loads ends in time, and touches no memory afterwards."""
    there = l2_keys.some(HEAVY)
    stored(judge, adapter, there, MEGABYTE)
    keys = l2_keys.some(HEAVY)
    sources = adapter.plugin.buffers([content(MEGABYTE)] * HEAVY)
    targets = adapter.plugin.blank([MEGABYTE] * HEAVY)
    adapter.submit_store(keys, sources)
    adapter.submit_lookup(there)
    adapter.submit_load(there, targets)
    seconds = adapter.plugin.close(timeout=CLOSE_BOUND)
    judge.holds(seconds <= CLOSE_BOUND, f"close took {seconds:.1f} s; {CLOSE_BOUND:g} s are allowed", cite="PLUG-ADP-029")
    adapter.plugin.spend([*sources, *targets])
    time.sleep(2 * QUIET)
    judge.holds(not adapter.plugin.disturbed(), "memory was written to after the adapter was closed", cite="PLUG-ADP-030")


@about_adapters("PLUG-ADP-031")
def test_nothing_left(judge: Judge, plugins: PluginSession, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Adapters that come and go leave no threads and no descriptors."""

    def once() -> None:
        instance = plugin.sibling(plugins.new_folder())
        adapter = AdapterCalls(instance)
        stored(judge, adapter, [key := l2_keys.one()])
        found(adapter, [key])
        instance.close()

    once()
    before = plugin.resources()
    for _ in range(TIMES):
        once()
    after = plugin.resources()
    for what, one, other in (
        ("descriptors", len(before.descriptors), len(after.descriptors)),
        ("threads", before.tasks, after.tasks),
    ):
        judge.holds(other < one + TIMES, f"{TIMES} adapters that were opened and closed left {other - one} {what}")


@about_adapters("PLUG-ADP-032")
def test_closed_twice(judge: Judge, adapter: AdapterCalls, l2_keys: L2Keys) -> None:
    """A second close does nothing."""
    stored(judge, adapter, [l2_keys.one()])
    adapter.plugin.close()
    adapter.plugin.close()
    judge.holds(adapter.plugin.alive, "the process ended over a second close")
