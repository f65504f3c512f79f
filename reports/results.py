"""Writes and reads ``results.jsonl``, the only source of every report."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reports.record import SCHEMA_VERSION, CaseRecord, RunFooter, RunHeader
from reports.schema import JSON_LINE, fault_in
from reports.side import Side
from reports.verdict import SHOWN, ExitCode, Verdict, count_verdicts, exit_code


class ResultsError(Exception):
    """A results file that cannot be read; the message names file, line, fault and remedy."""


@dataclass(frozen=True)
class Results:
    """A run as far as its file tells."""

    header: RunHeader
    cases: tuple[CaseRecord, ...]
    footer: RunFooter | None = None
    incomplete: str | None = None
    """Why the run is not to be trusted as a whole; ``None`` for a run that ended in order."""

    @property
    def counts(self) -> dict[Verdict, int]:
        """Verdicts counted from the cases themselves."""
        return count_verdicts(case.verdict for case in self.cases)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code that the records deserve, whatever the footer says."""
        return exit_code(
            self.counts,
            complete=self.incomplete is None,
            shown=shows_the_subject(self.cases, self.header.side),
            part=self.header.shard is not None,
        )

    @property
    def seconds(self) -> float:
        """How long the run took, or the sum over its cases if it did not end."""
        return self.footer.seconds if self.footer else sum(case.seconds for case in self.cases)


def shows_the_subject(cases: Iterable[CaseRecord], side: Side) -> bool:
    """Whether a case that judges what the run is about passed or failed as listed; true also where none was selected."""
    verdicts = {case.verdict for case in cases if case.judges == side}
    return not verdicts or bool(verdicts & SHOWN)


def utc_now() -> str:
    """This moment in the form that records use."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ResultsWriter:
    """Writes one run: the header at once, each case as it ends, the footer on close.

    Every line reaches the file in one write, so that a run that is killed leaves whole lines and no footer. The file
    replaces an older one only together with its header: a stale footer never stands behind a new run, and two runs
    never share a file. As a context manager it closes the run as incomplete when an exception passes through.
    """

    def __init__(self, path: Path, header: RunHeader) -> None:
        self.path = path
        self._began = time.monotonic()
        self._counts = count_verdicts(())
        self._seen: set[str] = set()
        self._judged = self._shown = False
        self._side = header.side
        self._part = header.shard is not None
        self._selection = header.selection
        self._footer: RunFooter | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            umask = os.umask(0)
            os.umask(umask)
            os.fchmod(self._file, 0o666 & ~umask)
            self._append(header.to_json())
            Path(name).replace(path)
        except BaseException:
            os.close(self._file)
            Path(name).unlink(missing_ok=True)
            raise

    def add(self, record: CaseRecord) -> None:
        """Append one case.

        Raises:
            ValueError: the case was recorded before, the writer is closed, or the record breaks the schema.
        """
        if self._footer:
            raise ValueError(f"{self.path}: closed, so case {record.id} cannot be recorded")
        if record.id in self._seen:
            raise ValueError(f"{self.path}: case {record.id} is recorded already; ids must be unique in a run")
        self._append(record.to_json())
        self._seen.add(record.id)
        self._counts[record.verdict] += 1
        about = record.judges == self._side
        self._judged = self._judged or about
        self._shown = self._shown or (about and record.verdict in SHOWN)

    def close(self, *, complete: bool = True, seconds: float | None = None) -> RunFooter:
        """Append the footer; a second call changes nothing and returns the first footer.

        A run that holds fewer cases than it selected is incomplete, whoever says otherwise.

        ``seconds`` is how long the run took where that is not the time since the writer was made.
        """
        if self._footer:
            return self._footer
        if self._selection is not None and not self._part and len(self._seen) != self._selection.cases:
            complete = False
        footer = RunFooter(
            counts=dict(self._counts),
            seconds=round(time.monotonic() - self._began if seconds is None else seconds, 3),
            exit_code=exit_code(self._counts, complete=complete, shown=self._shown or not self._judged, part=self._part),
            ended=utc_now(),
            complete=complete,
        )
        self._append(footer.to_json())
        os.close(self._file)
        self._footer = footer
        return footer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # A full disk must not hide the exception that is already on its way.
        with contextlib.suppress(OSError) if error else contextlib.nullcontext():
            self.close(complete=error is None)

    def _append(self, line: dict[str, Any]) -> None:
        fault = fault_in(line)
        if fault:
            raise ValueError(f"{self.path}: a record that no reader would take: {fault}")
        # ASCII on purpose: what clients say may hold lone surrogates, which no other encoding can carry.
        data = json.dumps(line, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(self._file, data) :]


def read_results(path: Path) -> Results:
    """Read a results file, complete or not.

    A missing footer, a footer that says so itself, a last line cut off in the middle and a footer whose counts
    disagree with the cases all give ``incomplete``; anything else that is wrong is an error.

    Raises:
        ResultsError: the file is missing or empty, was written by another schema version, or has a corrupt line.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ResultsError(f"{path}: no such file; run `lmconform run` first, or name the results file") from None
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from None
    lines = data.split(b"\n")
    cut_off = lines.pop()
    reading = _Reading(path)
    for number, line in enumerate(lines, start=1):
        reading.take(number, line)
    return reading.results(cut_off)


@dataclass
class _Reading:
    path: Path
    header: RunHeader | None = None
    cases: list[CaseRecord] = field(default_factory=list)
    footer: RunFooter | None = None
    line_of: dict[str, int] = field(default_factory=dict)

    def take(self, number: int, line: bytes) -> None:
        if self.footer:
            raise self._error(number, "a record after the footer", "two runs were joined; keep each in its own file")
        value = self._decode(number, line)
        self._check_version(number, value)
        fault = fault_in(value)
        if fault:
            raise self._error(number, fault, "the file was changed or damaged; run again to replace it")
        if (value["record"] == "header") != (self.header is None):
            what = "a case or footer before the header" if self.header is None else "a second header"
            raise self._error(number, what, "a file holds one run and begins with its header; run again to replace it")
        match value["record"]:
            case "header":
                self.header = RunHeader.from_json(value)
            case "case":
                self._add(number, CaseRecord.from_json(value))
            case _:
                self.footer = RunFooter.from_json(value)

    def results(self, cut_off: bytes) -> Results:
        if self.header is None:
            raise ResultsError(f"{self.path}: no header line, so this is no results file; run `lmconform run` to write one")
        return Results(self.header, tuple(self.cases), self.footer, self._incomplete(cut_off))

    def _incomplete(self, cut_off: bytes) -> str | None:
        count = count_of_cases(len(self.cases))
        if cut_off:
            return f"the last line is cut off: the run was killed while it wrote, after {count}"
        if self.footer is None:
            return f"there is no footer: the run was killed or is still going, after {count}"
        merged = self.header.merged if self.header else None
        if merged is not None and merged.faults:
            return f"{'; '.join(merged.faults)}; {count} in all"
        if not self.footer.complete:
            return f"the run was stopped before its end, after {count}"
        selection = self.header.selection if self.header and self.header.shard is None else None
        if selection is not None and len(self.cases) != selection.cases:
            return f"the run selected {count_of_cases(selection.cases)}, the file holds {count}: lines were lost"
        counted = count_of_cases(sum(self.footer.counts.values()))
        if dict(self.footer.counts) != count_verdicts(case.verdict for case in self.cases):
            return f"the footer counts {counted}, the file holds {count} or other verdicts: lines were lost or changed"
        return None

    def _add(self, number: int, record: CaseRecord) -> None:
        first = self.line_of.setdefault(record.id, number)
        if first != number:
            raise self._error(number, f"case {record.id!r} stands on line {first} already", "ids are unique in a run; run again")
        self.cases.append(record)

    def _decode(self, number: int, line: bytes) -> Any:
        try:
            return JSON_LINE.decode(line.decode(json.detect_encoding(line), "surrogatepass"))
        except ValueError as error:
            start = ascii(line[:60].decode(errors="replace"))
            raise self._error(
                number, f"not JSON ({error}); it begins {start}", "the file was changed or damaged; run again to replace it"
            ) from None
        except RecursionError:
            raise self._error(number, "nested too deeply", "the file was changed; run again to replace it") from None

    def _check_version(self, number: int, value: object) -> None:
        if not isinstance(value, dict) or value.get("record") != "header":
            return
        version = value.get("schema_version")
        if isinstance(version, int) and version != SCHEMA_VERSION:
            remedy = "update lmcache-conformance" if version > SCHEMA_VERSION else "run again with this lmconform"
            raise self._error(number, f"results of version {version}, this lmconform reads version {SCHEMA_VERSION}", remedy)

    def _error(self, number: int, fault: str, remedy: str) -> ResultsError:
        return ResultsError(f"{self.path}, line {number}: {fault}; {remedy}")


def count_of_cases(count: int) -> str:
    """``1 case`` or ``7 cases``."""
    return f"{count} case" if count == 1 else f"{count} cases"


def results_of(header: RunHeader, cases: Iterable[CaseRecord], footer: RunFooter | None) -> Results:
    """Results of a run that is still in memory, for a summary right after it."""
    incomplete = None if footer and footer.complete else "the run was stopped before its end"
    return Results(header, tuple(cases), footer, incomplete)
