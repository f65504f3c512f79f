"""The backend of a plugin is down, slow, restarted, empty or full, and comes back."""

import time
from functools import partial
from typing import Final

from cases.l2.aftermath import ALONE_AFFECTED, HEALS, SPOILED, Cites, check, heal, opening
from cases.l2.native import raising_nothing
from cases.l2.outage import (
    AFTER_OUTAGE,
    AHEAD,
    BEAT,
    BOUNDED,
    EMPTY,
    FAR,
    FULL,
    LIMIT,
    RAISES,
    RECOVERS,
    RIGHT,
    STARTS,
    SUBMITS,
    backend_case,
    native_backend_case,
    outage,
    stores_until_one_is_refused,
)
from harness.case import parameters
from harness.client import ClientHang
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2.answers import Loaded
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

SMALL, LARGE = 700, 100_000
SHAPES: Final = {"one-size": (LARGE, LARGE), "two-sizes": (SMALL, LARGE)}
"""Objects of a batch; some plugins take only those of one size together, and would show nothing else."""
QUICK: Final = 0.25
"""Seconds that no submit may take."""
BURST: Final = 40
"""Stores that wait in a queue."""


@backend_case(STARTS, BOUNDED, RECOVERS)
def test_down_at_start(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """A plugin that is opened before its backend is up misses, and works when the backend has come."""
    with outage(judge, plugins, l2_keys) as out:
        book = out.ledger(SMALL, LARGE)
        out.backend.stop()
        with opening(judge, "while the backend is down", cites=dict.fromkeys(AFTER_OUTAGE, STARTS)):
            plugin = out.open()
        why = "the backend is not up yet"
        out.misses(plugin, book, book.keys, why=why)
        out.refuses(plugin, book, book.keys, why=why)
        out.backend.start()
        out.recovers(plugin, book)


@backend_case(BOUNDED, RECOVERS, RIGHT)
def test_goes_down(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """When the backend goes down loads miss and stores fail, in time, and all works again when it is back."""
    with outage(judge, plugins, l2_keys) as out:
        book = out.ledger(SMALL, LARGE, SMALL, LARGE)
        plugin = out.open()
        out.prepare(plugin, book, book.keys[:2])
        out.backend.stop()
        for _ in range(2):
            out.misses(plugin, book, book.keys[:2], why="the backend is down")
            out.refuses(plugin, book, book.keys[2:], why="the backend is down")
        out.backend.start()
        book.doubt()
        out.recovers(plugin, book)


@native_backend_case(BOUNDED, RECOVERS, RIGHT)
def test_goes_down_under_way(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """When the backend goes down while operations are under way each of them ends in time, and none with wrong bytes."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("slow")
        book = out.ledger(*[LARGE] * 4, *[LARGE] * 4)
        there, late = book.keys[:4], book.keys[4:]
        plugin = out.open()
        out.prepare(plugin, book, there)
        out.backend.slow(out.wait / 4)
        targets = [plugin.blank([book.size(key)]) for key in there]
        loads = [plugin.submit_load([key], target) for key, target in zip(there, targets, strict=True)]
        book.storing(late)
        stores = [plugin.submit_store([key], plugin.buffers([book.object(key)[1]])) for key in late]
        time.sleep(out.wait / 8)
        out.backend.stop()
        completions = out.bounded(
            "an operation that was under way when the backend went down",
            lambda limit: plugin.wait([*loads, *stores], timeout=limit),
        )
        for key, target, completion in zip(there, targets, completions, strict=False):
            found = completion.results[0] if completion.results else completion.ok
            tally = book.judge(key, plugin.read(target)[0] if found else None, sure=False)
            judge.holds(not tally.faults, "a load that was under way when the backend went down brought wrong bytes", cite=RIGHT)
        out.backend.start()
        book.doubt()
        out.recovers(plugin, book)


@backend_case(BOUNDED, RECOVERS, RIGHT)
def test_slow(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """When the backend takes longer than the wait loads miss and stores fail, in time, and all works again when it is quick."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("slow")
        book = out.ledger(LARGE, *[SMALL] * 8)
        there, late = book.keys[:6], book.keys[6:]
        plugin = out.open()
        out.prepare(plugin, book, there)
        out.backend.slow(FAR)
        out.misses(plugin, book, there, why=f"the backend takes {FAR:g} s for an answer")
        out.refuses(plugin, book, late, why=f"the backend takes {FAR:g} s for an answer")
        out.backend.slow(0)
        book.doubt()
        out.recovers(plugin, book)


@backend_case(RIGHT, BOUNDED)
def test_late_answers(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """An answer that comes after the wait is not taken for the answer to a later request."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("slow")
        book = out.ledger(*[SMALL] * 6)
        plugin = out.open()
        out.prepare(plugin, book, book.keys)
        first, *others = book.keys
        out.backend.slow(1.5 * out.wait)
        out.bounded("a load of a slow backend", lambda limit: plugin.load([first], SMALL, timeout=limit))
        out.backend.slow(0)
        until = time.monotonic() + 2 * out.wait
        while time.monotonic() < until:
            for key in others:
                data = out.bounded("a load", partial(_load, plugin, key)).data[0]
                tally = book.judge(key, data, sure=False)
                judge.holds(
                    not tally.faults,
                    f"after a load that was not answered in time: {tally.faults[0].words if tally.faults else ''}",
                    cite=RIGHT,
                )
            time.sleep(BEAT)


@backend_case(RECOVERS, RIGHT, variants=parameters(*SHAPES))
def test_restarted(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, vector: str) -> None:
    """When the backend is restarted between two operations the plugin goes on without being opened anew."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("restart")
        book = out.ledger(*SHAPES[vector])
        plugin = out.open()
        out.prepare(plugin, book, book.keys)
        for _ in range(2):
            out.backend.restart()
            book.doubt()
            out.recovers(plugin, book)


@backend_case(EMPTY, RIGHT)
def test_restarted_empty(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """When the backend comes back without what it kept all of it is missing, and can be stored again."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("restart_empty")
        book = out.ledger(SMALL, LARGE)
        plugin = out.open()
        out.prepare(plugin, book, book.keys)
        out.backend.restart_empty()
        book.doubt()
        out.recovers(plugin, book, cites={**AFTER_OUTAGE, "unhealed": EMPTY})


@backend_case(FULL, RIGHT)
def test_full(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """When the backend refuses stores they fail, what is there is loaded, and stores succeed once there is room."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("refuse")
        book = out.ledger(SMALL, LARGE, SMALL)
        plugin = out.open()
        out.prepare(plugin, book, book.keys[:2])
        out.backend.refuse(on=True)
        out.refuses(plugin, book, book.keys[2:], why="the backend is full", cite=FULL)
        check(judge, plugin, book, after="while the backend is full", cites={**AFTER_OUTAGE, "lost": FULL})
        out.backend.refuse(on=False)
        out.recovers(plugin, book, cites={**AFTER_OUTAGE, "unhealed": FULL})


@backend_case(SPOILED, ALONE_AFFECTED, HEALS, variants=parameters("flip", "truncate", "delete"))
def test_damaged(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, vector: str) -> None:
    """Damage to what the backend keeps makes that object missing and no other, and a store heals it."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("corrupt")
        book = out.ledger(SMALL, LARGE, SMALL)
        plugin = out.open()
        out.prepare(plugin, book, book.keys)
        if out.backend.corrupt(book.keys[1], vector) is False:
            raise UnsupportedByClient("backend", "it says that it keeps nothing of a stored object that could be damaged")
        book.deleting(book.keys[1:2])
        after = f"after damage to what the backend keeps ({vector})"
        cites: Cites = {"wrong": SPOILED, "lost": ALONE_AFFECTED, "dead": ALONE_AFFECTED, "unhealed": HEALS}
        with opening(judge, after, cites=cites):
            check(judge, plugin, book, after=after, cites=cites)
            heal(judge, plugin, book, after=after, cites=cites)


@native_backend_case(SUBMITS, RAISES, variants=parameters("down", "hanging"))
def test_submits_do_not_wait(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, vector: str) -> None:
    """Submits come back at once, whether the backend is down or hangs."""
    with outage(judge, plugins, l2_keys) as out:
        book = out.ledger(*[LARGE] * 4)
        plugin = out.open()
        memory = plugin.buffers([book.object(key)[1] for key in book.keys])
        targets = plugin.blank([LARGE] * 4)
        if vector == "down":
            out.backend.stop()
        else:
            out.can("slow")
            out.backend.slow(FAR)
        longest = 0.0
        for _ in range(3):
            with raising_nothing(judge):
                submitted = (
                    plugin.submit_store(book.keys, memory),
                    plugin.submit_lookup(book.keys),
                    plugin.submit_load(book.keys, targets),
                )
            longest = max(longest, *(one.seconds for one in submitted))
        judge.holds(longest < QUICK, f"a submit took {longest:.2f} s while the backend was {vector}", cite=SUBMITS)


@native_backend_case(LIMIT, RAISES)
def test_backlog(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """While the backend takes stores slowly those beyond some number are refused at once, and are not queued."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("slow")
        plugin = out.open()
        out.backend.slow(0.7 * out.wait)
        with raising_nothing(judge):
            sent, refused = stores_until_one_is_refused(plugin, l2_keys, out.wait)
        judge.holds(
            refused,
            f"{sent} stores were taken and none refused while the backend needs {0.7 * out.wait:.1f} s for each",
            cite=LIMIT,
        )


@native_backend_case(AHEAD)
def test_loads_ahead_of_stores(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """While the backend is slow a load is complete before most of the stores that were submitted before it."""
    with outage(judge, plugins, l2_keys) as out:
        out.can("slow")
        book = out.ledger(SMALL, *[SMALL] * BURST)
        wanted, *others = book.keys
        plugin = out.open()
        out.prepare(plugin, book, [wanted])
        out.backend.slow(out.wait / 5)
        memory = plugin.buffers([book.object(key)[1] for key in others])
        stores = {plugin.submit_store([key], [one]).id for key, one in zip(others, memory, strict=True)}
        target = plugin.blank([SMALL])
        load = plugin.submit_load([wanted], target)
        try:
            order = plugin.collect(BURST + 1, timeout=FAR)
        except ClientHang:
            order = []
        done = [one.id for one in order if one.id == load.id or (one.ok and one.id in stores)]
        judge.holds(load.id in done, "a load behind many stores never ended", cite=AHEAD)
        before, all_stores = done.index(load.id), len(done) - 1
        judge.holds(
            before <= all_stores / 2,
            f"{before} of {all_stores} stores that were waiting when a load was submitted were complete before it",
            cite=AHEAD,
        )
        (loaded,) = plugin.read(target)
        judge.same_bytes(book.object(wanted)[1], loaded, what="an object that a load brought ahead of stores", cite=AHEAD)


def _load(plugin: Plugin, key: str, limit: float) -> Loaded:
    return plugin.load([key], SMALL, timeout=limit)
