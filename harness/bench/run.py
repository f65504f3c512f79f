"""Takes the measures: client and floor in turns, in several rounds, each measure in whole before the next."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from harness.bench.asker import Asked, Asker, MeasureEnded, WrongAnswer
from harness.bench.place import Place
from harness.bench.plain import PlainConnection
from harness.bench.plan import Effort, Planned
from harness.bench.works import WORKS, Work
from harness.clients.session import ClientSession
from harness.clients.stdio import StdioSession
from harness.failure import TargetUnavailable
from harness.machine import processors
from harness.memory import forget_peak, peak
from harness.values import Keys
from harness.version import TOOL_VERSION
from reports.bench.model import Bench, Conditions, Figures, Measure, Subject, TimedBy
from wire.release import Release

EMPTY_CALLS: Final = 50
_PAIR: Final = 2
"""So often one side comes first, and then the other: as EXIST asks for a key that is there and then for one that is not."""
LEAST: Final = 3
"""Calls of each side in a round, however long they take."""
MOST: Final = 4
"""So many times longer than it should may a round take for those."""

Tell = Callable[[Planned], None]
"""Hears which measure begins."""


@dataclass(frozen=True)
class Round:
    """What was answered in a round."""

    client: list[Asked]
    floor: list[Asked]


def bench(
    session: ClientSession,
    floor: ClientSession,
    place: Place,
    release: Release,
    plan: Sequence[Planned],
    effort: Effort,
    *,
    spec: str,
    tell: Tell,
) -> Bench:
    """Take all measures of a client; ``floor`` is the plain one.

    Raises:
        WrongAnswer: the client answers what is not so.
        TargetUnavailable: the server was lost.
    """
    started, began = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    keys = Keys(release)
    asker, beside = (Asker(one, place, release, effort.deadline) for one in (session, floor))
    empty = [took for took in (asker.nothing() for _ in range(EMPTY_CALLS)) if took is not None]
    idle = _peak(session)
    with _server_lost(place):
        plain = PlainConnection(place.host, place.port, release, effort.deadline)
    try:
        measures = []
        for one in plan:
            tell(one)
            measures.append(_measure(one, asker, beside, plain, effort, session, place))
    finally:
        plain.close()
    about = session.description
    return Bench(
        tool_version=TOOL_VERSION,
        started=started,
        took=round(time.monotonic() - began, 3),
        subject=Subject(spec, about.name, about.version, about.language),
        conditions=Conditions(
            release=release.text,
            server=place.about,
            live=place.live,
            model=keys.model.rpartition("/")[0],
            seconds=effort.seconds,
            rounds=effort.rounds,
            deadline=effort.deadline,
            processors=processors(),
            load=None if load is None else round(load, 2),
            python=platform.python_version(),
            platform=f"{platform.system()} {platform.machine()}",
        ),
        empty_call=_figures(empty, 1) if empty else None,
        idle_bytes=idle,
        measures=tuple(measures),
    )


def _measure(
    one: Planned,
    asker: Asker,
    beside: Asker,
    plain: PlainConnection,
    effort: Effort,
    session: ClientSession,
    place: Place,
) -> Measure:
    about: dict[str, Any] = {
        "name": one.name, "operation": one.operation, "size": one.size, "algorithm": one.algorithm, "unit": one.unit
    }  # fmt: skip
    if not asker.declares(one.operation):
        return Measure(**about, state="unsupported", why="the client does not declare it")
    rounds: list[Round] = []
    memory: list[int] = []
    try:
        with _server_lost(place):
            client, floor = (WORKS[one.operation](one, side, plain, Keys(asker.release)) for side in (asker, beside))
            for number in range(effort.rounds):
                client.begin(number)
                with _floor_failed():
                    floor.begin(number)
                _forget_peak(session)
                rounds.append(_round(client, floor, effort))
                client.check()
                held = _peak(session)
                memory += [] if held is None else [held]
    except MeasureEnded as ended:
        return Measure(**about, state=ended.state, why=str(ended))
    told = all(call.own is not None for part in rounds for call in part.client)
    timed_by: TimedBy = "client" if told else "harness"
    # Where the client's time has adapter and pipe in it, that of the floor has them as well.
    mine = [_time(call, timed_by) for part in rounds for call in part.client]
    theirs = [_time(call, timed_by) for part in rounds for call in part.floor]
    return Measure(
        **about,
        state="measured",
        timed_by=timed_by,
        client=_figures(mine, client.amount),
        floor=_figures(theirs, client.amount),
        whole=_figures([call.whole for part in rounds for call in part.client], client.amount),
        ratio=_rounded(statistics.median(beside / max(1, took) for took, beside in zip(mine, theirs, strict=True))),
        peak_bytes=max(memory, default=None),
    )


def _round(client: Work, floor: Work, effort: Effort) -> Round:
    """Calls of client and floor in turns, for about the time of a round. The first count only where there are no others."""
    made = Round([], [])
    with contextlib.ExitStack() as stack:
        mine = stack.enter_context(client.connected())
        with _floor_failed():
            theirs = stack.enter_context(floor.connected())
        began = time.monotonic()
        for number in itertools.count():
            # Whoever comes second finds the machine warm, so each comes first as often.
            if number % 4 < _PAIR:
                made.client.append(client.call(mine))
            with _floor_failed():
                made.floor.append(floor.call(theirs))
            if number % 4 >= _PAIR:
                made.client.append(client.call(mine))
            spent = time.monotonic() - began
            if spent > effort.seconds and (number >= LEAST or spent > MOST * effort.seconds):
                break
    return Round(made.client[1:], made.floor[1:]) if len(made.client) > 1 else made


@contextlib.contextmanager
def _floor_failed() -> Iterator[None]:
    """What goes wrong with the floor is no fault of the client."""
    try:
        yield
    except (MeasureEnded, WrongAnswer) as problem:
        raise TargetUnavailable(f"the floor cannot be measured on this server: {problem}") from None


@contextlib.contextmanager
def _server_lost(place: Place) -> Iterator[None]:
    """The same for the connection that looks after both."""
    try:
        yield
    except OSError as error:
        where = f"the server at {place.host}:{place.port}"
        raise TargetUnavailable(f"{where} does not answer a plain connection: {error.strerror or error}") from None


def _time(call: Asked, timed_by: TimedBy) -> int:
    return call.whole if timed_by == "harness" or call.own is None else call.own


def _forget_peak(session: ClientSession) -> None:
    if isinstance(session, StdioSession) and session.pid is not None:
        forget_peak(session.pid)


def _peak(session: ClientSession) -> int | None:
    pid = session.pid if isinstance(session, StdioSession) else None
    return None if pid is None else peak(pid)


def _figures(took: Sequence[int], amount: float) -> Figures:
    """Of calls in nanoseconds, each of which moved so much."""
    ranked = sorted(took)
    p50, p90, p99, longest = (ranked[max(0, math.ceil(part * len(ranked)) - 1)] for part in (0.5, 0.9, 0.99, 1))
    micro = [round(value / 1000, 1) for value in (p50, p90, p99, longest)]
    return Figures(_rounded(amount * 1e9 / max(1, p50)), len(ranked), *micro)


def _rounded(rate: float) -> float:
    """Four digits that count."""
    return float(f"{rate:.4g}")
