"""A load on the mocks, each in a process of its own: a crowd of connections, churn, volume, and slow peers beside fast ones.

Every value is checksummed. Prints what was done, what the mock holds of the machine before and after, and what was lost; ends
with status 1 where anything was, with the names of it.

.venv/bin/python -m benchmarks.load [--only lm|mp] [--connections N] [--churn N] [--bytes N] [--slow N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.endurance import lm_load, mp_load
from benchmarks.endurance.part import Part
from benchmarks.servers import StartedServer, served

_OPTIONS: Final = {
    "connections": "that stand at once (default: 1000; a fifth on mp)",
    "rounds": "exchanges of each connection (default: 3)",
    "churn": "connections that end soon (default: 6000; a quarter on mp)",
    "bytes": "put and got in all (default: 10000000000; a tenth on mp)",
    "value": "bytes of a value of the volume, lm alone (default: 8388608)",
    "slow": "slow readers, and as many slow writers (default: 8)",
    "exchanges": "fast ones beside them (default: 300)",
}
_SETTLES: Final = 10.0
_STOPS: Final = 1.0
"""Seconds in which a mock ends, whatever its connections do."""


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    connections: int = 1000
    rounds: int = 3
    churn: int = 6000
    bytes: int = 10_000_000_000
    value: int = 8 << 20
    slow: int = 8
    exchanges: int = 300
    """Fast ones, beside the slow peers."""


@dataclass(frozen=True)
class Wire:
    """The options of the mock, and the parts of its load."""

    words: tuple[str, ...]
    parts: tuple[Callable[[StartedServer, Size], Part], ...]


WIRES: Final = {
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
    with served(*wire.words) as server:
        before = server.figures()
        say(f"{name}: before: {before}")
        for part in wire.parts:
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description="A load on the mock servers.")
    parser.add_argument("--only", choices=sorted(WIRES), help="the mock of one wire (default: both)")
    for name, default in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=_OPTIONS[name])
    given = vars(parser.parse_args(words))
    only = given.pop("only")
    lost = [words for name in WIRES if only in {None, name} for words in load(name, Size(**given))]
    for line in lost:
        print(f"lost: {line}")
    print(f"{len(lost)} lost" if lost else "nothing lost")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
