"""The ``lm://`` mock, the real server and a bare socket server under the same load.

All three are processes of their own, and so is the client (:mod:`benchmarks.lm.load`). The floor (:mod:`benchmarks.lm.floor`) is
the least that a threaded server in Python costs. The real server comes from the cached environment of the newest release.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from benchmarks.comparison import Comparison, Contender, Target
from benchmarks.lm.load import Job
from benchmarks.loads import Load, running
from benchmarks.servers import RunningServer, started
from fixturegen.environment import open_environment
from fixturegen.listening import listener
from wire.release import KNOWN_RELEASES, Release

RELEASE: Final = Release.parse(KNOWN_RELEASES[-1])
SIZES: Final = {"4 KiB": 4 << 10, "256 KiB": 256 << 10, "8 MiB": 8 << 20, "64 MiB": 64 << 20}
CONNECTIONS: Final = (1, 8, 64)
KEYS: Final = 1000
"""Different keys that EXIST asks for in turn."""
WORKING_SET: Final = 64 << 20
"""Bytes of the values that PUT and GET go through in turn, under as many keys: 2 at least, 1,000 at most. One value alone would
stay in a cache of the processor."""
MANY_KEYS: Final = 20_000
"""More than the mock remembers."""
_STORED: Final = Job("put", 0, 0, size=8 << 20, keys=16, count=64)
"""What is stored before the peak of memory is looked at: 512 MiB are put under 16 keys, so that 128 MiB stay."""

_PUT: Final = (Target("mock", at_least=2, over="real"), Target("mock", at_least=0.9, over="floor"))
_GET: Final = (Target("mock", at_least=0.95, over="floor"),)
_EXIST: Final = (Target("mock", at_least=1.5, over="real"), Target("mock", at_least=0.8, over="floor"))
_NOTE: Final = (
    f"PUT and GET: GB/s of payload on one connection, {WORKING_SET >> 20} MiB of values under as many keys in turn (2 at least, "
    f"{KEYS:,} at most); PUTs follow each other without a pause, a GET waits for the one before. "
    f"EXIST: answers a second, one request under way on each connection, {KEYS:,} keys in turn unless said otherwise. "
    "The floor is a bare threaded socket server in Python that reuses one buffer for each key."
)


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """The comparisons, while servers and client run."""
    with contextlib.ExitStack() as ends:
        real = ends.enter_context(open_environment("venv").server(RELEASE))
        pid = listener(real.port)
        assert pid is not None
        servers = {
            "mock": ends.enter_context(started("benchmarks.lm.mock", str(RELEASE))),
            "mock, journal off": ends.enter_context(started("benchmarks.lm.mock", str(RELEASE), "off")),
            "real": RunningServer(real.port, pid),
            "floor": ends.enter_context(started("benchmarks.lm.floor", str(RELEASE))),
        }
        yield comparisons(servers, ends.enter_context(running("benchmarks.lm.load", Job, str(RELEASE))))


def comparisons(servers: Mapping[str, RunningServer], load: Load[Job]) -> list[Comparison]:
    """What is compared, with servers by the names of contenders and one load for all of them."""
    three = [name for name in servers if name != "mock, journal off"]
    found = []
    for do, targets in (("put", _PUT), ("get", _GET)):
        for size, count in SIZES.items():
            keys = max(2, min(KEYS, WORKING_SET // count))
            contenders = _contenders(servers, three, load, Job(do, 0, 0, size=count, keys=keys))
            found.append(Comparison(f"{do.upper()} {size}", "GB/s", "more", contenders, _of(targets, three), _NOTE))
    for keys, connections in [(KEYS, connections) for connections in CONNECTIONS] + [(MANY_KEYS, 1)]:
        name = f"EXIST on {connections} connection{'s' * (connections > 1)}" + f", {keys:,} keys" * (keys != KEYS)
        contenders = _contenders(servers, list(servers), load, Job("exist", 0, 0, connections=connections, keys=keys))
        found.append(Comparison(name, "1/s", "more", contenders, _of(_EXIST, servers), _NOTE))
    peaks = tuple(Contender(name, _peak(servers[name], load)) for name in three)
    found.append(Comparison("peak memory, 128 MiB stored four times", "MiB", "less", peaks, note=_NOTE, rounds=1))
    return found


def _of(targets: Sequence[Target], names: Sequence[str] | Mapping[str, RunningServer]) -> tuple[Target, ...]:
    """The targets whose contenders are there."""
    return tuple(target for target in targets if target.over in names)


def _contenders(servers: Mapping[str, RunningServer], names: Sequence[str], load: Load[Job], job: Job) -> tuple[Contender, ...]:
    return tuple(Contender(name, _measure(replace(job, port=servers[name].port), load)) for name in names)


def _measure(job: Job, load: Load[Job]) -> Callable[[float], float]:
    def measure(seconds: float) -> float:
        done = load.work(replace(job, seconds=seconds))
        return done.gigabytes if done.bytes else done.rate

    return measure


def _peak(server: RunningServer, load: Load[Job]) -> Callable[[float], float]:
    def measure(_: float) -> float:
        server.forget_peak()
        load.work(replace(_STORED, port=server.port))
        return server.peak_mib()

    return measure
