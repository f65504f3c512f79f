"""The figures of one bench: a client, measure by measure, beside the floor of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

State = Literal["measured", "unsupported", "failed"]
Unit = Literal["GB/s", "calls/s", "keys/s"]
TimedBy = Literal["client", "harness"]
Operation = Literal["put", "get", "exist", "chunk_keys"]

FLOORS: Final = {
    "put": "a plain Python socket",
    "get": "a plain Python socket",
    "exist": "a plain Python socket",
    "chunk_keys": "lmconform's own module wire",
}
"""What each operation is compared with."""


@dataclass(frozen=True)
class Figures:
    """Percentiles of the time of a call in microseconds, and the rate of the p50, in the unit of the measure."""

    rate: float
    calls: int
    p50: float
    p90: float
    p99: float
    longest: float


@dataclass(frozen=True)
class Measure:
    """One operation, with values of one size or keys of one algorithm."""

    name: str
    """Such as ``get-8MiB``."""
    operation: Operation
    size: int | None
    """Bytes of a value, of PUT and GET."""
    algorithm: str | None
    """Of chunk keys."""
    unit: Unit
    state: State
    why: str = ""
    """Why there are no figures."""
    timed_by: TimedBy = "client"
    """``client``: its adapter says with ``took_ns`` how long the client took. ``harness``: adapter and pipe are included."""
    client: Figures | None = None
    floor: Figures | None = None
    whole: Figures | None = None
    """The calls as the harness sees them, with adapter and pipe."""
    ratio: float | None = None
    """Client to floor: the median over all pairs of calls, one of each side after the other; 1 is as fast as the floor."""
    peak_bytes: int | None = None
    """The most memory that the client's processes held during the measure."""

    @property
    def pipe(self) -> float | None:
        """Microseconds of a usual call that adapter and pipe cost; None where the client does not tell its own time."""
        if self.timed_by == "harness" or self.client is None or self.whole is None:
            return None
        return max(0.0, self.whole.p50 - self.client.p50)


@dataclass(frozen=True)
class Subject:
    """The client, as users name it and as it names itself."""

    spec: str
    name: str
    version: str
    language: str


@dataclass(frozen=True)
class Conditions:
    """How it was measured."""

    release: str
    server: str
    """In words."""
    live: bool
    """The server is one of the user, which keeps what was stored."""
    model: str
    """With what the model name of every key begins."""
    seconds: float
    """Of each round, for client and floor together."""
    rounds: int
    deadline: float
    processors: int
    load: float | None
    """Processes that ran or wanted to, on average over the minute before; None where nobody counts."""
    python: str
    platform: str


@dataclass(frozen=True)
class Bench:
    """One bench."""

    tool_version: str
    started: str
    took: float
    """Seconds."""
    subject: Subject
    conditions: Conditions
    empty_call: Figures | None
    """Calls of an operation that does not exist: what adapter and pipe cost at least."""
    idle_bytes: int | None
    """Memory of the client's processes before the first measure."""
    measures: Sequence[Measure]

    @property
    def peak_bytes(self) -> int | None:
        """The most memory in any measure."""
        return max((one.peak_bytes for one in self.measures if one.peak_bytes is not None), default=None)

    def of(self, state: State) -> list[Measure]:
        """The measures of one state."""
        return [one for one in self.measures if one.state == state]
