"""What a plugin tells of itself: outcomes told apart."""

import time
from collections.abc import Mapping
from typing import Final

from cases.l2.aftermath import CITES, Cites, ledger, plugin_case, store
from cases.l2.outage import outage, stores_until_one_is_refused
from harness.case import parameters
from harness.client import ClientFailure
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2.crashes.ledger import Ledger
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession
from harness.l2.words import WORDS, counts

APART: Final = "PLUG-STAT-001"
LEAST: Final = "PLUG-STAT-002"
AT_ONCE: Final = "PLUG-STAT-003"
SMALL, LARGE = 700, 300_000
QUICK: Final = 2.0
"""Seconds for the statistics."""


@plugin_case(LEAST, needs=("statistics",))
def test_words(judge: Judge, plugin: Plugin) -> None:
    """The statistics have the words without which there is no hit rate."""
    told = _told(plugin)
    lacking = [word for word in ("stored", "loaded", "missed") if word not in told]
    judge.holds(not lacking, f"the statistics do not count what was {', '.join(lacking)}", cite=LEAST)


@plugin_case(APART, needs=("statistics",), variants=parameters("stored", "deduplicated", "loaded", "missed", "damaged"))
def test_outcomes(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: str) -> None:
    """Each act is counted under its own word, once for each object, and under no other."""
    book = ledger(l2_keys, [SMALL, LARGE, SMALL])
    before = _needs(plugin, vector)
    if vector != "missed":
        store(judge, plugin, book, book.keys, cites=_CITES)
        if vector != "stored":
            before = _told(plugin)
    moved: Mapping[str, int]
    match vector:
        case "stored":
            moved = {"stored": 3}
        case "deduplicated":
            store(judge, plugin, book, book.keys, cites=_CITES)
            moved = {"deduplicated": 3}
        case "loaded" | "missed":
            plugin.load(book.keys, [book.size(key) for key in book.keys])
            moved = {vector: 3}
        case _:
            moved = _damage_one(plugin, book)
    _moved(judge, before, _told(plugin), moved, f"3 objects were {vector}" if vector != "damaged" else "one of 3 was damaged")


@plugin_case(APART, needs=("statistics", "backend"), variants=parameters("dropped-or-skipped", "unavailable", "rejected"))
def test_outcomes_of_an_outage(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, vector: str) -> None:
    """What could not be done because of the backend is counted under words of its own."""
    with outage(judge, plugins, l2_keys) as out:
        book = out.ledger(SMALL, LARGE)
        plugin = out.open()
        before = _needs(plugin, *vector.split("-or-"))
        if vector == "rejected":
            if plugin.kind != "native_plugin":
                raise UnsupportedByClient("native_plugin", "it is a plugin of another type")
            out.can("slow")
            out.backend.slow(0.7 * out.wait)
            _reject(judge, plugin, l2_keys, before, out.wait)
            return
        out.backend.stop()
        if vector == "unavailable":
            plugin.load(book.keys, [book.size(key) for key in book.keys], timeout=out.in_time)
            expected, what = (("unavailable", "missed"), "2 objects could not be loaded")
        else:
            plugin.store([book.object(key) for key in book.keys], timeout=out.in_time)
            expected, what = (("dropped", "skipped"), "2 objects could not be stored")
        after = _told(plugin)
        change = {word: after[word] - before.get(word, 0) for word in after if after[word] != before.get(word, 0)}
        judge.holds(
            set(change) <= set(expected) and sum(change.values()) == 2,
            f"{what} because the backend is down, and the statistics changed by {change or 'nothing'}",
            cite=APART,
            conformant_answer=f"{' and '.join(expected)} are 2 more together",
        )


@plugin_case(AT_ONCE, needs=("statistics", "backend"))
def test_during_an_outage(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """The statistics are given at once while the backend is down and operations wait for it."""
    with outage(judge, plugins, l2_keys) as out:
        plugin = out.open()
        if out.backend.can("slow"):
            out.backend.slow(out.wait * 5)
        if plugin.kind == "native_plugin":
            for key in l2_keys.some(8):
                plugin.submit_load([key], plugin.blank([LARGE]))
        began = time.monotonic()
        try:
            plugin.statistics()
        except ClientFailure as failure:
            judge.fail(f"the statistics were not given while the backend hangs: {failure}", cite=AT_ONCE)
        seconds = time.monotonic() - began
        judge.holds(seconds < QUICK, f"the statistics took {seconds:.1f} s while the backend hangs", cite=AT_ONCE)


_CITES: Final[Cites] = dict.fromkeys(CITES, APART)


def _damage_one(plugin: Plugin, book: Ledger) -> Mapping[str, int]:
    """Damage one object by the plugin's own hook, and load all; what should be counted."""
    if "corrupt" not in plugin.offers:
        raise UnsupportedByClient("corrupt", "stored bytes cannot be damaged: it has no lmconform_corrupt")
    if plugin.corrupt(book.keys[1], "flip") is False:
        raise UnsupportedByClient("corrupt", "lmconform_corrupt says that there is nothing of a stored object to damage")
    plugin.load(book.keys, [book.size(key) for key in book.keys])
    return {"damaged": 1, "loaded": 2}


def _reject(judge: Judge, plugin: Plugin, keys: L2Keys, before: Mapping[str, int], wait: float) -> None:
    """Submit until stores are refused at once; as many are counted."""
    sent, refused = stores_until_one_is_refused(plugin, keys, wait)
    if not refused:
        raise UnsupportedByClient("backend", f"none of {sent} stores was refused at once")
    counted = _told(plugin)["rejected"] - before["rejected"]
    judge.holds(
        counted >= refused,
        f"at least {refused} stores were refused when they were submitted, and the statistics count {counted} as rejected",
        cite=APART,
    )


def _told(plugin: Plugin) -> Mapping[str, int]:
    """The words that the statistics have, with their numbers."""
    return counts(plugin.statistics() or {})


def _needs(plugin: Plugin, *words: str) -> Mapping[str, int]:
    """The statistics, which have these words.

    Raises:
        UnsupportedByClient: they do not.
    """
    told = _told(plugin)
    lacking = [word for word in words if word not in told]
    if lacking:
        raise UnsupportedByClient("statistics", f"its statistics have no word {' or '.join(lacking)}")
    return told


def _moved(judge: Judge, before: Mapping[str, int], after: Mapping[str, int], expected: Mapping[str, int], what: str) -> None:
    """Exactly the expected counters moved."""
    change = {word: after[word] - before.get(word, 0) for word in WORDS if word in after}
    judge.same_value(
        {word: expected.get(word, 0) for word in change},
        change,
        what=f"what the statistics count when {what}",
        cite=APART,
    )
