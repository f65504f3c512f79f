"""What a server of a release makes of a request, and what that does where the client meant something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness.tap.mp.candidates import Wrong, operation_in
from harness.tap.mp.parts import Parts
from reports.collisions.effects import EFFECTS, READERS_WANTED, READERS_WANTED_BY, UNASKED, UNKNOWN, UNKNOWN_KILLS
from reports.collisions.harm import Harm
from wire.mp.operations import Operation, OperationTable, operation_table
from wire.release import Release

Fate = Literal["executed", "dropped", "killed"]


@dataclass(frozen=True)
class Dealt:
    """What becomes of one request at a server of one release."""

    fate: Fate
    met: Operation | None
    """The operation that its number names there."""
    wrong: Wrong | None = None
    """Why it is not executed."""


def dealt(release: Release, parts: Parts, wrong: Wrong | None) -> Dealt:
    """What becomes of a request, given what :func:`harness.tap.mp.candidates.wrong_request` found in the loose reading."""
    table = operation_table(release)
    if len(parts.parts) < 2:
        return Dealt("killed", None, wrong)  # the one message that ends every server
    if parts.of_stream or parts.operation == b"":
        return (
            Dealt("dropped" if wrong else "executed", None, wrong)
            if UNKNOWN_KILLS[release] is False
            else Dealt("killed", None, wrong)
        )
    met = operation_in(table, parts)
    if met is None:
        return Dealt("killed" if UNKNOWN_KILLS[release] else "dropped", None, wrong)
    return Dealt("dropped" if wrong is not None else "executed", met, wrong)


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a request of a client of one release at a server of another."""

    rule: str
    harm: Harm
    wrong: Wrong
    what: str
    """What the server does with it."""
    meant: str
    met: str | None


def trouble(client: Release, server: Release, outcome: Dealt, meant: Operation | None, place: int) -> Trouble | None:
    """What becomes of a request that does not mean the same to both; None where it does.

    ``place`` is where the body of the operation's frame stands in the stream.
    """
    name = next((known.name for known in (meant, outcome.met) if known is not None), "a message that is no request")
    if meant is not None and outcome.met is not None and outcome.met.meaning != meant.meaning:
        wrong = number_wrong(client, server, place, meant, outcome.met)
        if outcome.fate == "executed":
            effect = EFFECTS.get(outcome.met.meaning, UNKNOWN)
            return Trouble(
                "mp.operation.other", effect.harm or Harm.MISLEADS, wrong,
                f"the server executes {outcome.met.name}, which {effect.words}", name, outcome.met.name,
            )  # fmt: skip
        words = f"the server takes it for {outcome.met.name} and drops it ({outcome.wrong.what if outcome.wrong else ''})"
        return Trouble("mp.operation.dropped", Harm.HANGS, wrong, f"{words}; no answer comes", name, outcome.met.name)
    if outcome.fate == "executed" or outcome.wrong is None:
        return None
    if outcome.fate == "killed":
        wrong = outcome.wrong if meant is None else number_wrong(client, server, place, meant, None)
        words = "ends the server's message thread: all clients wait until it is started again, and its health check stays green"
        return Trouble("mp.operation.kills", Harm.KILLS, wrong, words, name, None)
    if outcome.met is None:
        wrong = outcome.wrong if meant is None else number_wrong(client, server, place, meant, None)
        return Trouble("mp.operation.unknown", Harm.HANGS, wrong, "the server drops it, and no answer comes", name, None)
    rule = "mp.payload.count" if outcome.wrong.what.startswith("number of payloads") else "mp.payload.type"
    return Trouble(rule, Harm.HANGS, outcome.wrong, "the server drops it, and no answer comes", name, outcome.met.name)


def number_wrong(client: Release, server: Release, place: int, meant: Operation, met: Operation | None) -> Wrong:
    """That the operation's frame holds another number than the server has for what is meant."""
    table = operation_table(server)
    due = meaning_in(table, meant.meaning)
    expected = (
        f"{due.number!r}, {due.name} of lmcache {server}" if due is not None else f"nothing: lmcache {server} has no {meant.name}"
    )
    got = f"{meant.number!r}, {meant.name} of lmcache {client}"
    if met is not None:
        got += f"; to the server {met.name}"
    return Wrong(1, 0, place, "operation", expected, got)


def meaning_in(table: OperationTable, meaning: str) -> Operation | None:
    """The operation of a meaning in a table; None where it is not there."""
    return next((operation for operation in table.operations if operation.meaning == meaning), None)


LOOKUPS: Final = READERS_WANTED_BY


def readers_missing(server: Release, operation: Operation, values: Iterable[object]) -> bool:
    """Whether a lookup counts no readers at a server that wants them: it drops it as soon as the model is registered."""
    if not READERS_WANTED[server] or operation.meaning not in READERS_WANTED_BY:
        return False
    keys = (value for value in values if isinstance(value, Mapping) and "model_name" in value)
    return any(not isinstance(count := key.get("num_kv_readers", 0), int) or count < 1 for key in keys)


def unasked(meaning: str) -> str:
    """That nobody has to ask for an operation; empty for most."""
    return UNASKED.get(meaning, "")
