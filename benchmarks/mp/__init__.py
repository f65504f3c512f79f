"""The multiprocess mock and the real multiprocess server under the same load (:mod:`benchmarks.mp.load`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.comparison import Comparison, Contender
from benchmarks.loads import Load, running
from benchmarks.mp.load import CHUNK_BYTES, CHUNKS, Job
from benchmarks.servers import RunningServer, started
from fixturegen.environment import open_environment
from wire.release import KNOWN_RELEASES, Release

RELEASE: Final = Release.parse(KNOWN_RELEASES[-1])
_NOTE: Final = (
    "One connection, each request waits for its reply. A lookup is LOOKUP, QUERY_PREFETCH_STATUS until there is a result, and "
    f"END_SESSION, for {CHUNKS} chunks that are not stored. Engine-driven: {CHUNKS} chunks of {CHUNK_BYTES >> 10} KiB are "
    "stored, looked up and loaded over shared memory; each byte counts twice."
)


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """The comparisons, while servers and client run."""
    with contextlib.ExitStack() as ends:
        real = ends.enter_context(open_environment("venv").mp_server(RELEASE))
        assert real.pid is not None
        servers = {
            "mock": ends.enter_context(started("benchmarks.mp.mock", str(RELEASE))),
            "real": RunningServer(real.port, real.pid),
        }
        yield comparisons(servers, ends.enter_context(running("benchmarks.mp.load", Job, str(RELEASE))))


def comparisons(servers: Mapping[str, RunningServer], load: Load[Job]) -> list[Comparison]:
    """What is compared, with servers by the names of contenders and one load for all of them."""
    found = [
        Comparison(name, unit, "more", _contenders(servers, load, do), note=_NOTE)
        for name, do, unit in (("NOOP", "noop", "1/s"), ("LOOKUP", "lookup", "1/s"), ("engine-driven", "move", "GB/s"))
    ]
    peaks = tuple(Contender(name, _peak(server, load)) for name, server in servers.items())
    return [*found, Comparison("peak memory while chunks are moved", "MiB", "less", peaks, note=_NOTE, rounds=1)]


def _contenders(servers: Mapping[str, RunningServer], load: Load[Job], do: str) -> tuple[Contender, ...]:
    return tuple(Contender(name, _measure(server.port, load, do)) for name, server in servers.items())


def _measure(port: int, load: Load[Job], do: str) -> Callable[[float], float]:
    def measure(seconds: float) -> float:
        done = load.work(Job(do, port, seconds))
        return done.gigabytes if done.bytes else done.rate

    return measure


def _peak(server: RunningServer, load: Load[Job]) -> Callable[[float], float]:
    def measure(seconds: float) -> float:
        server.forget_peak()
        load.work(Job("move", server.port, seconds))
        return server.peak_mib()

    return measure
