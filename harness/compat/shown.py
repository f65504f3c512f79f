"""The collisions that are played, step by step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fixturegen.mp.launch import NO_DATA_PATH, NO_SERVER, STATUS_PATH
from harness.compat.stage import CHUNKS, INSTANCE, PATIENCE, NoAnswer, Stage, key_of
from reports.collisions.fates import Fate, Pair
from reports.collisions.harm import Harm
from wire.errors import WireError
from wire.mp.frames import encode_request
from wire.mp.operations import operation_table
from wire.mp.values import pack
from wire.release import Release

Verdict = tuple[bool, str]
"""Whether what was derived happened, and one sentence."""


@dataclass(frozen=True)
class Kind:
    """One kind of collision that can be played."""

    title: str
    """With ``{operation}`` and ``{client}``."""
    fits: Callable[[Pair, Fate], bool]
    play: Callable[[Stage, Release, Fate], Verdict]


def empties(stage: Stage, client: Release, fate: Fate) -> Verdict:
    """Store, look up, send the one message, look up again."""
    stage.store()
    before = stage.lookup("before")
    stage.free("before", before)
    stage.told(f"an engine of {stage.release} looks its {CHUNKS} chunks up", f"{before} hits")
    stage.try_as(client, fate.operation, [], waits=True)
    after = stage.lookup("after")
    stage.free("after", after)
    stage.told(f"the engine of {stage.release} looks them up again", f"{after} hits")
    if before == CHUNKS and after == 0:
        return True, f"{before} hits before it, {after} after it: the server executed {fate.meets}"
    return False, f"{before} hits before it, {after} after it: nothing was lost"


def unlocks(stage: Stage, client: Release, fate: Fate) -> Verdict:
    """A lookup of the engine holds locks; one of the client takes them away, and the engine cannot retrieve."""
    stage.store()
    hits = stage.lookup("held")
    before = stage.running.read_locked()
    stage.told(f"an engine of {stage.release} looks its {CHUNKS} chunks up", f"{hits} hits, {before} objects under read locks")
    stage.try_as(client, fate.operation, [key_of(client, "other", worker=None), 1], waits=True)
    after = stage.running.read_locked()
    stage.told("the state of the server is asked", f"{after} objects under read locks")
    success = stage.ask("PREPARE_RETRIEVE", [key_of(stage.release, "held", worker=0), INSTANCE])["success"]
    stage.told(f"the engine of {stage.release} retrieves what it found", "it gets it" if success else "it fails")
    if before == CHUNKS and after == 0 and not success:
        return True, "the locks of the engine are gone, and what it found cannot be retrieved"
    return False, f"{before} locks before it, {after} after it: nothing was lost"


def leaks(stage: Stage, client: Release, fate: Fate) -> Verdict:
    """A lookup of the client takes locks, and its attempt to give them back is dropped."""
    stage.store()
    key = key_of(client, "older", worker=None)
    stage.try_as(client, "LOOKUP", [key, 1], waits=True)
    for _ in range(5):
        if not stage.try_as(client, "QUERY_PREFETCH_STATUS", [key["request_id"]], waits=True).endswith("nil"):
            break
        stage.acts.pop()
    stage.try_as(client, fate.operation, [key, 1])
    left = stage.running.read_locked()
    stage.told("the state of the server is asked", f"{left} objects under read locks")
    if left == CHUNKS:
        return True, "the locks stay, and their objects cannot be evicted until the locks run out"
    return False, f"{left} objects are locked: the locks were given back"


def ends(stage: Stage, client: Release, fate: Fate) -> Verdict:
    """A number that the server does not know."""
    frames = [pack(fate.number)]
    with contextlib.suppress(WireError):
        frames = encode_request(operation_table(client), fate.operation, [])
    return _kills(stage, f"a client of {client} sends {fate.operation}", frames)


def short(stage: Stage) -> Verdict:
    """A message of its uid alone."""
    return _kills(stage, "anybody sends one message of one frame, a uid alone", [])


def _kills(stage: Stage, did: str, frames: Sequence[bytes]) -> Verdict:
    lived = stage.lives()
    stage.told(f"a client of {stage.release} sends NOOP", "answered" if lived else "no answer")
    if not lived:
        raise NoAnswer(f"the server of lmcache {stage.release} does not answer NOOP from the start")
    stage.dealers.connect("other")
    reply = stage.send("other", frames, PATIENCE[stage.target])
    stage.told(did, "no answer" if reply is None else "an answer", frames)
    lives = stage.lives()
    stage.told(f"another client of {stage.release} sends NOOP", "answered" if lives else "no answer")
    stage.told("the health check is asked", stage.running.health())
    if lives:
        return False, "the server answers others still"
    return True, "the message thread is dead: no client gets an answer until the server is started again"


def _moves_data(pair: Pair) -> bool:
    return NO_DATA_PATH[Release.parse(pair.server)] is None


def _counts_locks(pair: Pair) -> bool:
    return _moves_data(pair) and STATUS_PATH[Release.parse(pair.server)] is not None


def _lookup_works(pair: Pair) -> bool:
    return all(fate.same for fate in pair.fates if fate.operation in {"LOOKUP", "QUERY_PREFETCH_STATUS"} and not fate.odd)


KINDS: Final[Mapping[str, Kind]] = {
    "empties": Kind(
        "{operation} of a client of {client} clears the cache",
        lambda pair, fate: fate.grade.harm is Harm.DESTROYS and _moves_data(pair),
        empties,
    ),
    "unlocks": Kind(
        "{operation} of a client of {client} takes away the locks of an engine",
        lambda pair, fate: (
            (fate.operation, fate.meets, fate.executed) == ("LOOKUP", "FREE_LOOKUP_LOCKS", True) and _counts_locks(pair)
        ),
        unlocks,
    ),
    "leaks": Kind(
        "locks of a client of {client} stay",
        lambda pair, fate: (
            fate.operation == "FREE_LOOKUP_LOCKS"
            and fate.grade.harm is Harm.LEAKS
            and not fate.executed
            and _lookup_works(pair)
            and _counts_locks(pair)
        ),
        leaks,
    ),
    "ends": Kind(
        "{operation} of a client of {client} ends the message thread",
        lambda pair, fate: fate.grade.harm is Harm.KILLS and NO_SERVER[Release.parse(pair.server)] is None,
        ends,
    ),
}
"""The worst first."""
SHORT_TITLE: Final = "one message of one frame ends the message thread"
