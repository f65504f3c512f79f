"""Phrases that every form of the report has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reports.collisions.demonstration import Act
from reports.collisions.effects import UNASKED
from reports.collisions.fates import Fate, Pair
from reports.collisions.matrix import Collision, Collisions
from reports.compat.grouping import spans
from reports.words import count, listing

SHOWN_BYTES: Final = 24
"""Bytes of a frame that are written out."""
FEW_PAIRS: Final = 4
"""So many pairs are told operation by operation."""


def summary(result: Collisions) -> str:
    """One line about the whole."""
    tables = len(result.sources)
    uncaptured = sum(source != "captured" for source in result.sources.values())
    parts = [
        f"{count(len(result.clients), 'client')} x {count(len(result.servers), 'server')}",
        count(len(result.generations), "generation"),
        f"operation tables of {count(tables, 'release')}" + (f", {uncaptured} of them not captured yet" if uncaptured else ""),
    ]
    return ", ".join(parts)


def where(collision: Collision, result: Collisions) -> str:
    """Generations of clients and servers that a collision holds for: ``a -> d-f; b c -> g``."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for client in result.client_generations:
        held = tuple(server.label for server in result.server_generations if (client.newest, server.newest) in collision.pairs)
        if held:
            rows.setdefault(held, []).append(client.label)
    known = [found.label for found in result.client_generations], [found.label for found in result.server_generations]
    return "; ".join(f"{spans(asking, known[0])} -> {spans(held, known[1])}" for held, asking in rows.items())


def met(fate: Fate) -> str:
    """What an operation meets."""
    if fate.meets is None:
        return "nothing"
    return "itself" if fate.meets == fate.operation else fate.meets


def told(fate: Fate) -> str:
    """What happens, with everything that is known of it."""
    parts = [fate.what, fate.detail, f"only with {fate.odd}" if fate.odd else ""]
    return "; ".join(filter(None, parts))


def unasked(fate: Fate) -> str:
    """That nobody has to ask for it; empty for most."""
    return UNASKED.get(fate.operation, "")


def names(operations: Sequence[str]) -> str:
    """Operations, all of them."""
    return listing(operations, len(operations) or 1)


def survival(pair: Pair) -> str:
    """How many operations of plain use work, and the shorter list of those that do or do not."""
    works, broken = pair.survivors, pair.casualties
    counted = f"{len(works)} of {count(len(works) + len(broken), 'operation')} work"
    if not broken:
        return counted
    return f"{counted}: {names(works)}" if len(works) < len(broken) else f"{counted}; not {names(broken)}"


def _frame(frame: bytes) -> str:
    return frame.hex() if len(frame) <= SHOWN_BYTES else f"{frame[:SHOWN_BYTES].hex()}... ({len(frame)} bytes)"


def act_lines(act: Act) -> list[str]:
    """What was sent and what came, in up to two lines."""
    frames = " | ".join(map(_frame, act.sent))
    return [f"{act.did}: {act.came}", *([f"  frames behind the uid: {frames}"] if act.sent else [])]
