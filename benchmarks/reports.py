"""Writing the HTML report of runs of 5,000 and 50,000 results: seconds, bytes, memory."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.comparison import Comparison, Contender
from benchmarks.programs import Remembered, spent
from harness.interpreter import program
from reports.diagnosis import Diagnosis, FieldDifference, FrameDump
from reports.record import CaseRecord, ClientInfo, RunHeader
from reports.results import ResultsWriter
from reports.verdict import Verdict

COUNTS: Final = (5_000, 50_000)
_FAILS: Final = 25
"""One in so many fails, with a difference to be shown."""
_NAMES: Final = 120
_RELEASES: Final = ("0.3.1", "0.3.15", "0.4.5", "0.5.6")
_TARGETS: Final = ("fixtures", "mock")
_NOTE: Final = (
    f"`lmconform report --format html` of made results, one in {_FAILS} a failure that is explained with fields and bytes; from "
    "the start of the program to its end."
)


@contextlib.contextmanager
def opened() -> Iterator[Sequence[Comparison]]:
    """Files of results."""
    with tempfile.TemporaryDirectory(prefix="lmconform-benchmarks-") as folder:
        yield [one for count in COUNTS for one in _comparisons(count, Path(folder))]


def _comparisons(count: int, folder: Path) -> Iterator[Comparison]:
    results, page = folder / f"{count}.jsonl", folder / f"{count}.html"
    write_results(results, count)
    written = Remembered(
        lambda: spent(program("harness.cli.main", ["report", str(results), "--format", "html", "--out", str(page)]))
    )

    def size(seconds: float) -> float:
        del seconds
        assert written.last
        return page.stat().st_size / (1 << 20)

    name = f"report of {count:,} results"
    yield Comparison(name, "s", "less", (Contender("html", written.seconds),), note=_NOTE, rounds=3)
    yield Comparison(f"{name}: size", "MiB", "less", (Contender("html", size),), rounds=1)
    yield Comparison(f"{name}: peak memory", "MiB", "less", (Contender("html", written.peak_mib),), rounds=1)


def write_results(path: Path, count: int) -> None:
    """A file of results with so many cases."""
    client = ClientInfo("stdio:./mine", "mine", "1.2", "Rust", ("get", "put"), _RELEASES)
    header = RunHeader(
        tool_version="0.1.0",
        started="2026-01-02T03:04:05Z",
        client=client,
        releases=_RELEASES,
        targets=_TARGETS,
        command_line=("lmconform", "run"),
        seed=0,
        python="3.11",
        platform="linux",
        corpus="sha256:0",
    )
    columns = [(release, target) for target in _TARGETS for release in _RELEASES]
    with ResultsWriter(path, header) as writer:
        for place in range(count):
            turn, name = divmod(place, _NAMES)
            variant, column = divmod(turn, len(columns))
            writer.add(_record(name, *columns[column], str(variant), fails=place % _FAILS == 0))
        writer.close(seconds=60.0)


def _record(name: int, release: str, target: str, variant: str, *, fails: bool) -> CaseRecord:
    topic, case = f"lm.topic{name % 30}", f"case-{name}"
    return CaseRecord(
        id=f"{topic}.{case}[{release}-{target}-{variant}]",
        topic=topic,
        case=case,
        release=release,
        target=target,
        verdict=Verdict.FAIL if fails else Verdict.PASS,
        seconds=0.01,
        title="A client waits until all of a reply has come.",
        variant=variant,
        requirements=("LM-REPLY-003",),
        diagnosis=_diagnosis() if fails else None,
    )


def _diagnosis() -> Diagnosis:
    return Diagnosis(
        summary="2 of 36 bytes differ in the reply, the first at 0x4",
        requirement="LM-REPLY-003",
        level="MUST",
        statement="A client waits for all of it, however long it takes and however it is cut.",
        fields=(FieldDifference(4, 4, "length", "65536", "0"), FieldDifference(12, 4, "dtype", "2 (float16)", "1 (float16)")),
        frames=(FrameDump("expected", bytes(36), marks=((4, 1), (12, 1))), FrameDump("got", bytes(36), marks=((4, 1), (12, 1)))),
        client_answered="error internal: buffer of 36 bytes needed",
        conformant_answer="exists = true",
    )
