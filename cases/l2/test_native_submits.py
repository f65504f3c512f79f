"""Submits return at once and raise nothing, and the interpreter stays free."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from cases.l2.native import LONG, SOON, contract, native, objects, raising_nothing, stored
from harness.case import parameters
from harness.judge import Judge
from harness.l2.answers import Submitted
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

LIMIT = 0.1
"""Seconds of a submit that nobody minds."""
MIB = 1024 * 1024
SHAPES = {"store": (200, 4096), "load": (4, 8 * MIB), "lookup": (100, 64)}
"""Objects of a batch that takes a while, and their size."""
SIZE = 600
ODD = ("..", "/a/b/../c", "", "m" * 300, "\u6a21" * 120, "two\nlines", "a%2Fb%", "organisation/" * 80)
"""Names of models that file systems, and what is made of them, do not like."""


@native("PLUG-NAT-016", variants=parameters("store", "load", "lookup"))
def test_returns_at_once(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: str) -> None:
    """A submit of a large batch returns long before the batch is complete."""
    count, size = SHAPES[vector]
    batch = objects(l2_keys.some(count), size)
    keys = [key for key, _ in batch]
    if vector != "store":
        stored(judge, plugin, batch)
    if vector == "lookup":
        submitted = plugin.submit_lookup(keys * 10)
    elif vector == "load":
        submitted = plugin.submit_load(keys, plugin.blank([size] * count))
    else:
        submitted = plugin.submit_store(keys, plugin.buffers([data for _, data in batch]))
    (completion,) = plugin.wait([submitted], timeout=LONG)
    whole = completion.at - submitted.at + submitted.seconds
    judge.holds(
        submitted.seconds < max(LIMIT, whole / 2),
        f"the submit of a {vector} took {submitted.seconds:.2f} s, of {whole:.2f} s until it was complete",
        conformant_answer="a number at once, while the work is done by somebody else",
    )


@native("PLUG-NAT-016")
def test_with_a_backlog(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Submits return at once also while much is waiting to be stored."""
    batches = [objects(l2_keys.some(2), 3 * MIB) for _ in range(12)]
    memory = [plugin.buffers([data for _, data in batch]) for batch in batches]
    submitted = [plugin.submit_store([key for key, _ in batch], sources) for batch, sources in zip(batches, memory, strict=True)]
    submitted += [plugin.submit_lookup([batch[0][0]]) for batch in batches]
    completions = plugin.wait(submitted, timeout=LONG)
    whole = max(one.at for one in completions) - submitted[0].at
    inside = sum(one.seconds for one in submitted)
    judge.holds(
        inside < max(LIMIT, whole / 2),
        f"{len(submitted)} submits took {inside:.2f} s together, of {whole:.2f} s until all was complete",
        conformant_answer="a number at once; what is more than the plugin wants to hold is refused by a completion that failed",
    )


@native("PLUG-NAT-016")
def test_large_object(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """The submit of an object of 64 MiB returns long before the object is stored, and before it is loaded."""
    key, data = l2_keys.one(), secrets.token_bytes(MIB) * 64
    for what, memory in (("store", plugin.buffers([data])), ("load", plugin.blank([len(data)]))):
        submitted = plugin.submit_store([key], memory) if what == "store" else plugin.submit_load([key], memory)
        (completion,) = plugin.wait([submitted], timeout=LONG)
        whole = completion.at - submitted.at + submitted.seconds
        judge.holds(
            submitted.seconds < max(LIMIT, whole / 2),
            f"the submit of a {what} of 64 MiB took {submitted.seconds:.2f} s, of {whole:.2f} s until it was complete",
        )
    judge.holds(plugin.read(memory)[0] == data, "the object of 64 MiB came back with other bytes", cite="PLUG-NAT-014")


@native("PLUG-NAT-036", "PLUG-NAT-009", variants=parameters("odd-keys", "missing", "other-size", "key-twice"))
def test_raises_nothing(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: str) -> None:
    """Whatever is asked, the calls raise nothing: what fails is told by a completion."""
    there, *others = l2_keys.some(4)
    size = SIZE - 100 if vector == "other-size" else SIZE
    stored(judge, plugin, objects([there], SIZE))
    keys = {
        "odd-keys": [l2_keys.one(model=model) for model in ODD],
        "missing": others,
        "other-size": [there, others[0]],
        "key-twice": [there, others[0], there],
    }[vector]
    _asks_everything(judge, plugin, keys, size, twice=1)


@contract("PLUG-NAT-036", "PLUG-NAT-009", needs=("native_plugin", "folder"))
def test_raises_nothing_without_storage(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """When the folder has gone, and something else is in its place, the calls raise nothing."""
    there, other = l2_keys.some(2)
    stored(judge, plugin, objects([there], SIZE))
    with _gone(plugin):
        _asks_everything(judge, plugin, [there, other], SIZE, twice=2)


@native("PLUG-NAT-017")
def test_interpreter_stays_free(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Other threads of the interpreter go on while the plugin works."""
    batch = objects(l2_keys.some(4), 8 * MIB)
    keys = [key for key, _ in batch]
    sources, targets = plugin.buffers([data for _, data in batch]), plugin.blank([8 * MIB] * len(keys))
    work = [
        plugin.step("submit_store", keys=keys, buffers=sources),
        plugin.step("collect", count=1, timeout=SOON),
        plugin.step("submit_load", keys=keys, buffers=targets),
        plugin.step("collect", count=1, timeout=SOON),
        plugin.step("rest"),
    ]
    answers = plugin.together({"server": work, "engines": [plugin.step("beat", timeout=LONG)]}, timeout=LONG)
    longest = answers["engines"][0]["longest"]
    judge.holds(
        longest < 0.5,
        f"while 32 MiB were stored and loaded, no other thread of the interpreter ran for {longest:.2f} s",
        conformant_answer="native code that waits or works for long without the interpreter's lock",
    )


def _asks_everything(judge: Judge, plugin: Plugin, keys: list[str], size: int, *, twice: int) -> None:
    """Every submit with these keys, so many times, the first ones' failures being known by then; nothing raises."""
    with raising_nothing(judge):
        for _ in range(twice):
            plugin.event_fd()
            submitted: list[Submitted] = [
                plugin.submit_lookup(keys),
                plugin.submit_load(keys, plugin.blank([size] * len(keys))),
                plugin.submit_store(keys, plugin.buffers([secrets.token_bytes(size) for _ in keys])),
            ]
            if plugin.has_delete:
                submitted.append(plugin.submit_delete(keys))
            came = {one.id for one in plugin.collect(len(submitted), timeout=LONG)}
            judge.holds(
                came >= {one.id for one in submitted},
                f"{len(came)} of {len(submitted)} operations completed within {LONG:g} s",
                cite="PLUG-NAT-009",
            )
            plugin.drain()


@contextmanager
def _gone(plugin: Plugin) -> Iterator[None]:
    """The plugin's folder is moved away, and a file has its place."""
    away = plugin.folder.with_name(f"{plugin.folder.name}-away")
    plugin.folder.rename(away)
    plugin.folder.touch()
    try:
        yield
    finally:
        plugin.folder.unlink()
        away.rename(plugin.folder)
