"""A load on the mocks, each in a process of its own: a crowd of connections, churn, volume, and slow peers beside fast ones.

Every value is checksummed. Prints what was done, what the mock holds of the machine before and after, and what was lost; ends
with the names of that and one line that says whether all passed; status 1 where anything was.

.venv/bin/python -m benchmarks.load [--only lm|mp] [--connections N] [--churn N] [--bytes N] [--slow N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.endurance import lm_load, mp_load
from benchmarks.endurance.part import Part
from benchmarks.endurance.program import Wire, conclude, options, setting
from benchmarks.servers import StartedServer, served

_SETTLES: Final = 10.0
_STOPS: Final = 1.0
"""Seconds in which a mock ends, whatever its connections do."""


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    connections: int = setting(1000, "that stand at once; a fifth on mp")
    rounds: int = setting(3, "exchanges of each connection")
    churn: int = setting(6000, "connections that end soon; a quarter on mp")
    bytes: int = setting(10_000_000_000, "put and got in all; a tenth on mp")
    value: int = setting(8 << 20, "bytes of a value of the volume, lm alone")
    slow: int = setting(8, "slow readers, and as many slow writers")
    exchanges: int = setting(300, "fast ones beside them")


Parts = tuple[Callable[[StartedServer, Size], Part], ...]

WIRES: Final[dict[str, Wire[Parts]]] = {
    "lm": Wire(
        ("--protocol", "lm"),
        (
            lambda server, size: lm_load.crowd(server, size.connections, size.rounds),
            lambda server, size: lm_load.churn(server, size.churn),
            lambda server, size: lm_load.volume(server, size.bytes, 4, size.value),
            lambda server, size: lm_load.slow(server, size.slow, size.exchanges),
        ),
    ),
    "mp": Wire(
        ("--protocol", "mp", "--pool-size", str(mp_load.POOL)),
        (
            lambda server, size: mp_load.crowd(server, max(2, size.connections // 5), size.rounds),
            lambda server, size: mp_load.churn(server, max(2, size.churn // 4)),
            lambda server, size: mp_load.volume(server, size.bytes // 10),
            lambda server, size: mp_load.slow(server, size.slow, size.exchanges),
        ),
    ),
}


def load(name: str, size: Size, say: Callable[[str], None] = print) -> list[str]:
    """Put the load on the mock of one wire; the names of what was lost."""
    wire = WIRES[name]
    lost: list[str] = []
    with served(*wire.words, faults=wire.faults) as server:
        before = server.figures()
        say(f"{name}: before: {before}")
        for part in wire.work:
            done = part(server, size)
            say(f"{name}: {done.name}: {done.told}; {f'LOST {len(done.lost)}' if done.lost else 'nothing lost'}")
            lost += [f"{name}: {words}" for words in done.lost]
        after = server.settled(before, _SETTLES)
        say(f"{name}: after: {after}")
        if after.threads > before.threads or after.descriptors > before.descriptors:
            lost.append(f"{name}: threads or descriptors that did not come back: {before} before, {after} after")
        seconds, status = server.stop()
        say(f"{name}: stopped in {seconds:.2f} s with status {status}")
        if seconds > _STOPS or status:
            lost.append(f"{name}: a clean stop: it took {seconds:.2f} s, status {status}")
    return lost


def main(words: Sequence[str] | None = None) -> int:
    """Put the load on, and tell."""
    given = vars(options("benchmarks.load", "A load on the mock servers.", WIRES, Size).parse_args(words))
    only = given.pop("only")
    return conclude([line for name in WIRES if only in {None, name} for line in load(name, Size(**given))], "nothing was lost")


if __name__ == "__main__":
    sys.exit(main())
