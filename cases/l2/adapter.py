"""What cases about the contract of a ``plugin`` have in common."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from typing import Final

from harness.case import ALONE, case
from harness.judge import Judge
from harness.l2.adapter_calls import AdapterCalls
from harness.l2.answers import Submitted

FIRST: Final = "0.4.2 and later"
QUIET: Final = 0.15
"""Seconds for which nothing may happen."""
SOON: Final = 10.0
"""Seconds within which what was begun must be complete."""
SIZE: Final = 10_000
"""Bytes of an object; no multiple of anything that memory is aligned to."""

adapter_case = partial(case, targets=ALONE, judges="plugin", releases=FIRST, once_for="contract")
about_adapters = partial(adapter_case, needs=("plugin",))
"""Makes a case of a function that needs an adapter and nothing more."""
about_eviction = partial(adapter_case, needs=("plugin", "delete", "listeners"))
about_deleting = partial(adapter_case, needs=("plugin", "delete"), releases="0.4.3 and later")


def content(size: int = SIZE) -> bytes:
    """Bytes of an object."""
    return secrets.token_bytes(size)


def stored(judge: Judge, adapter: AdapterCalls, keys: Sequence[str], size: int = SIZE) -> list[bytes]:
    """Store an object under each key, which must succeed; their bytes."""
    objects = [content(size) for _ in keys]
    buffers = adapter.plugin.buffers(objects)
    verdict = adapter.finish_store(adapter.submit_store(keys, buffers), timeout=SOON)
    adapter.plugin.spend(buffers)
    judge.holds(verdict.ok, f"a store of {len(keys)} objects of {size} bytes failed: {verdict.shown}")
    return objects


def locked(adapter: AdapterCalls, keys: Sequence[str]) -> list[bool]:
    """Look up and lock; what was found."""
    return adapter.finish("lookup", adapter.submit_lookup(keys), timeout=SOON)


def found(adapter: AdapterCalls, keys: Sequence[str]) -> list[bool]:
    """Look up, and take the locks back."""
    bits = locked(adapter, keys)
    held = [key for key, one in zip(keys, bits, strict=False) if one]
    if held:
        adapter.unlock(held)
    return bits


def loaded(adapter: AdapterCalls, keys: Sequence[str], size: int = SIZE) -> tuple[list[bool], list[bytes]]:
    """Load, as it is after a lookup; the bits, and what the buffers hold."""
    buffers = adapter.plugin.blank([size] * len(keys))
    bits = adapter.finish("load", adapter.submit_load(keys, buffers), timeout=SOON)
    held = adapter.plugin.read(buffers)
    adapter.plugin.spend(buffers)
    return bits, held


def settled(adapter: AdapterCalls, lookups: Sequence[Submitted]) -> None:
    """Wait until some lookups are complete, and forget them."""
    for one in lookups:
        adapter.finish("lookup", one, timeout=SOON)
