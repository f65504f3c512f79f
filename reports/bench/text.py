"""A bench as a table on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.table import Table
from rich.text import Text

from reports.bench.limits import Shortfall
from reports.bench.model import FLOORS, Bench, Measure
from reports.bench.numbers import duration, memory, rate, ratio
from reports.escape import escape
from reports.words import listing

LOW: Final = 0.5
"""A ratio below which a path is worth a look."""
_COLUMNS: Final = ("measure", "client", "floor", "ratio", "p50", "p90", "p99", "max", "pipe", "peak")


def table(bench: Bench) -> Table:
    """The measures that have figures."""
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for name in _COLUMNS:
        made.add_column(name, justify="left" if name == "measure" else "right", no_wrap=True)
    for one in bench.of("measured"):
        made.add_row(*_cells(one))
    return made


def _cells(one: Measure) -> Iterator[Text | str]:
    assert one.client is not None
    assert one.floor is not None
    yield one.name
    yield rate(one.client.rate, one.unit)
    yield rate(one.floor.rate, one.unit)
    yield Text(ratio(one.ratio), style="" if one.ratio is None or one.ratio >= LOW else "bold red")
    yield from map(duration, (one.client.p50, one.client.p90, one.client.p99, one.client.longest))
    yield "included" if one.pipe is None else duration(one.pipe)
    yield memory(one.peak_bytes)


def head(bench: Bench) -> str:
    """What was measured, above the table."""
    subject, conditions = bench.subject, bench.conditions
    client = f"{escape(subject.name)} {escape(subject.version)} ({escape(subject.language)})"
    return f"{client}, lmcache {conditions.release}, against {conditions.server}"


def foot(bench: Bench) -> Iterator[str]:
    """What the table leaves open, below it."""
    for one in bench.measures:
        if one.state != "measured":
            yield f"{one.name}: {one.state}: {escape(one.why)}"
    floors = f"that of GB/s and EXIST is {FLOORS['get']} on the same server, that of keys {FLOORS['chunk_keys']}"
    yield f"ratio: client to floor, call by call in turns; {floors}"
    included = [one.name for one in bench.of("measured") if one.timed_by == "harness"]
    if included:
        yield (
            f"{listing(included)}: the adapter does not say how long the client took (took_ns), so that its figures include "
            "adapter and pipe"
        )
    if bench.empty_call is not None:
        yield f"a call that does nothing takes {duration(bench.empty_call.p50)} through adapter and pipe"
    if bench.peak_bytes is not None:
        yield f"memory of the client's processes: {memory(bench.idle_bytes)} before, {memory(bench.peak_bytes)} at most"
    load, processors = bench.conditions.load, bench.conditions.processors
    if load is not None and load > processors / 2:
        yield f"the machine was busy (load {load:g} on {processors} processors): ratios say more than the other figures"
    if bench.conditions.live:
        yield f"what was stored stays on the server, under keys whose model begins with {bench.conditions.model}/"


def complaints(shortfalls: list[Shortfall]) -> Iterator[str]:
    """Ratios that fell too low."""
    for one in shortfalls:
        yield f"{one.name}: {escape(one.words)}"
