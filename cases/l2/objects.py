"""Objects that cases store, and what a load of them has to bring."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from harness.judge import Judge
from harness.l2.answers import Stored
from harness.l2.plugin_process import Plugin

KIB: Final = 2**10
MIB: Final = 2**20
Objects = Mapping[str, bytes]


def content(seed: object, size: int) -> bytes:
    """Bytes that nothing else holds: no part of them comes again, in them or in those of another seed."""
    return hashlib.shake_128(repr(seed).encode()).digest(size)


def store(plugin: Plugin, judge: Judge, objects: Objects, *, cite: str | None = None) -> Stored:
    """Store a batch, which has to succeed."""
    stored = plugin.store(list(objects.items()))
    judge.holds(
        stored.ok,
        f"a store of {_amount(list(objects.values()))} failed, though nothing stood in its way",
        cite=cite,
        client_answered=f"not ok: {stored.error or 'without a reason'}",
        conformant_answer="ok",
    )
    return stored


def holds(
    plugin: Plugin, judge: Judge, objects: Objects, *, when: str, absent: Objects | None = None, cite: str | None = None
) -> None:
    """A load in one batch finds all of some objects, with their bytes, and none of the absent ones.

    ``absent`` has the sizes of the buffers for those in its values. Keys of both are mixed, so that a shifted answer is seen.
    """
    missing = absent or {}
    keys = mixed([*objects], [*missing])
    sizes = [len(objects[key] if key in objects else missing[key]) for key in keys]
    loaded = plugin.load(keys, sizes)
    judge.same_value([key in objects for key in keys], list(loaded.found), what=f"what a load finds {when}", cite=cite)
    for place, key in enumerate(keys):
        if key in objects:
            judge.same_bytes(
                objects[key],
                loaded.data[place] or b"",
                what=f"object {place + 1} of {len(keys)} in one load, {when}",
                cite=cite,
            )


def looks(
    plugin: Plugin, judge: Judge, keys: Sequence[str], expected: Sequence[bool], *, when: str, cite: str | None = None
) -> None:
    """A lookup says exactly which of some keys are there."""
    judge.same_value(list(expected), plugin.lookup(keys), what=f"what a lookup finds {when}", cite=cite)


def mixed(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Two lists as one, their members taking turns as long as both have some."""
    both = min(len(first), len(second))
    turns = [key for pair in zip(first[:both], second[:both], strict=True) for key in pair]
    return [*turns, *first[both:], *second[both:]]


def _amount(contents: Sequence[bytes]) -> str:
    size = sum(map(len, contents))
    return f"{len(contents)} object{'s' if len(contents) > 1 else ''} of {size} bytes{' in all' if len(contents) > 1 else ''}"
