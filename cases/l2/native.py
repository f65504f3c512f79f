"""What cases about the contract of a ``native_plugin`` have in common."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from harness.case import case
from harness.client import ClientHang
from harness.judge import Judge
from harness.l2.answers import Completion, Loaded, Stored, Submitted
from harness.l2.host_process import PluginRaised
from harness.l2.plugin_process import Plugin

FIRST: Final = "0.4.3 and later"
QUIET: Final = 0.2
"""Seconds for which nothing may happen."""
SOON: Final = 10.0
"""Seconds within which what was begun must be complete."""

LONG: Final = 30.0
"""The same for what is a lot of work, on a machine that has other work."""

contract = partial(case, targets=("alone",), judges="plugin", releases=FIRST, once_for="contract")
native = partial(contract, needs=("native_plugin",))
"""Makes a case of a function that needs a native plugin and nothing more."""


def objects(keys: Sequence[str], size: int) -> list[tuple[str, bytes]]:
    """An object of random bytes for each key."""
    return [(key, secrets.token_bytes(size)) for key in keys]


def reason(outcome: Stored | Loaded | Completion) -> str:
    """Why something did not succeed, as the plugin says it."""
    return outcome.error or "no reason given"


def stored(judge: Judge, plugin: Plugin, batch: Sequence[tuple[str, bytes]], **more: str) -> None:
    """Store a batch, which must succeed."""
    verdict = plugin.store(batch, timeout=LONG)
    judge.holds(verdict.ok, f"a store of {len(batch)} objects was refused: {reason(verdict)}", **more)


def completed(judge: Judge, plugin: Plugin, submitted: Submitted, what: str, *, limit: float = LONG) -> Completion:
    """The completion of a submit, which the server must be able to read."""
    try:
        (completion,) = plugin.wait([submitted], timeout=limit)
    except ClientHang as hang:
        judge.fail(f"{what} never completed", client_answered=str(hang).removeprefix("wait: "))
    readable(judge, completion, what)
    return completion


def readable(judge: Judge, completion: Completion, what: str) -> None:
    """The server can read a completion."""
    if completion.broken is not None:
        judge.fail(f"{what}: {completion.broken}", cite="PLUG-NAT-011", client_answered=completion.shown)


@contextmanager
def raising_nothing(judge: Judge) -> Iterator[None]:
    """No call of the plugin raises."""
    try:
        yield
    except PluginRaised as raised:
        judge.fail(
            "a call raised an exception",
            cite="PLUG-NAT-036",
            client_answered=str(raised),
            conformant_answer="a number, and a completion that says what failed",
        )
