"""Writes a list of known failures from the results of a run."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import tomli_w

from fixturegen.corpus import captured_releases
from harness.expectations.cover import Extent, covers
from harness.expectations.entry import EXPECTABLE, Entry, today_in_utc
from harness.expectations.error_text import general, one_line, says_something, stable
from harness.expectations.file import TABLE, TODO, ExpectationsFile, is_address
from harness.usage import UsageError
from reports.expectation import OUT_OF_DATE
from reports.record import CaseRecord, RunHeader
from reports.results import Results
from reports.verdict import Verdict
from wire.release import Release

LIFETIME: Final = timedelta(days=90)
"""How long an entry holds that nobody has looked at."""
FEW: Final = 3
"""Errors of one case that get an entry each; where there are more, those that differ in numbers and quotes alone share one."""


@dataclass(frozen=True)
class Written:
    """What became of a list."""

    path: Path
    entries: int
    kept: int
    """Entries of an older list among them that still hold as they were."""
    unlisted: tuple[str, ...]
    """Ids of failures that have no error with words which an entry could name, such as those of cases that were not run."""


def require_free(path: Path, *, force: bool) -> None:
    """Find out before the run whether the list can be written after it.

    Raises:
        UsageError: it exists, or its folder cannot be written.
    """
    target = _file_to_write(path)
    if target.exists() and not force:
        raise UsageError(f"{path} exists and is not overwritten; name another file, or give --force")
    folder = target.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}: {folder}") from None


def _file_to_write(path: Path) -> Path:
    """Where the list goes, links followed.

    Raises:
        UsageError: something is there that is no file, such as a folder or a device, which a list must never replace.
    """
    try:
        target = path.resolve(strict=False)
        found = target.lstat().st_mode if os.path.lexists(target) else None
    except (OSError, RuntimeError):  # before Python 3.13 a loop of links is a RuntimeError
        raise UsageError(f"cannot write {path}: a loop of links, or a folder on the way that cannot be read") from None
    if found is not None and not stat.S_ISREG(found):
        raise UsageError(f"cannot write {path}: it is {'a folder' if stat.S_ISDIR(found) else 'no file'}; name a file")
    return target


def write_expectations(
    results: Results, path: Path, *, force: bool = False, old: ExpectationsFile | None = None, today: date | None = None
) -> Written:
    """Write a list under which the same run has no failure but known ones.

    With an older list, which the run was held against, entries that hold are kept, those that do not are narrowed to the
    cases that still fail as they say, and other failures get new entries.

    Raises:
        UsageError: the file cannot be written, or exists and ``force`` is not given.
    """
    today = today or today_in_utc()
    extent = Extent(captured_releases(), frozenset(map(Release.parse, results.header.releases)))
    executed: dict[str, list[CaseRecord]] = {}
    for record in results.cases:
        executed.setdefault(record.name, []).append(record)
    kept = _kept(results.cases, old)
    narrowed = _narrowed(results.cases, executed, extent, kept, old)
    fresh, unlisted = _fresh(results, executed, extent, today, old)
    entries = [replace(entry, number=number) for number, entry in enumerate([*kept, *narrowed, *fresh], start=1)]
    _put(path, text_of(entries, _head(results.header, today)), force=force)
    return Written(path, len(entries), len(kept), tuple(unlisted))


def text_of(entries: Iterable[Entry], head: str = "") -> str:
    """The file for entries: what :func:`read_expectations` reads back."""
    return head + tomli_w.dumps({TABLE: [_table(entry) for entry in entries]}, multiline_strings=False)


def _table(entry: Entry) -> dict[str, Any]:
    members: Mapping[str, Any] = {
        "cases": list(entry.cases),
        "releases": [str(among) for among in entry.releases],
        "targets": list(entry.targets),
        "platforms": list(entry.platforms),
        "outcome": entry.outcome,
        "verdict": [] if entry.verdicts == (Verdict.FAIL,) else [verdict.value for verdict in entry.verdicts],
        "error": entry.errors[0] if len(entry.errors) == 1 else list(entry.errors),
        "reason": entry.reason,
        "issue": entry.issue,
        "expires": entry.expires,
    }
    return {key: value for key, value in members.items() if value not in (None, [])}


def _kept(cases: Iterable[CaseRecord], old: ExpectationsFile | None) -> list[Entry]:
    broken = {case.expectation.entry for case in cases if case.expectation and case.expectation.standing in OUT_OF_DATE}
    return [entry for entry in (old.entries if old else ()) if entry.number not in broken]


def _narrowed(
    cases: Iterable[CaseRecord],
    executed: Mapping[str, Sequence[CaseRecord]],
    extent: Extent,
    kept: Sequence[Entry],
    old: ExpectationsFile | None,
) -> list[Entry]:
    whole = {entry.number for entry in kept}
    holding: dict[tuple[int, str], list[CaseRecord]] = {}
    for case in cases:
        listed = case.expectation
        if listed and listed.entry not in whole and listed.standing not in OUT_OF_DATE:
            holding.setdefault((listed.entry, case.name), []).append(case)
    entries = {entry.number: entry for entry in (old.entries if old else ())}
    return [
        replace(entries[number], cases=cover.cases, releases=cover.releases, targets=cover.targets)
        for (number, name), records in sorted(holding.items())
        for cover in covers(name, records, executed[name], extent)
    ]


def _fresh(
    results: Results, executed: Mapping[str, Sequence[CaseRecord]], extent: Extent, today: date, old: ExpectationsFile | None
) -> tuple[list[Entry], list[str]]:
    """New entries, and the ids of failures that none can be written for."""
    failed = [
        replace(case, verdict=Verdict.FAIL) if case.verdict is Verdict.SHORTFALL else case
        for case in results.cases
        if case.verdict in {*EXPECTABLE, Verdict.SHORTFALL}
    ]
    said = {case.id: stable(case.diagnosis.summary) if case.diagnosis and not case.not_run else "" for case in failed}
    errors: dict[tuple[str, Verdict], set[str]] = {}
    for case in failed:
        errors.setdefault((case.name, case.verdict), set()).add(said[case.id])
    groups: dict[tuple[str, Verdict, str, str], list[CaseRecord]] = {}
    unlisted = []
    for case in failed:
        many = len(errors[case.name, case.verdict]) > FEW
        error = general(said[case.id]) if many and says_something(general(said[case.id])) else said[case.id]
        if case.verdict is Verdict.FAIL and not says_something(error):
            unlisted.append(case.id)
            continue
        groups.setdefault((case.name, case.verdict, error, _reason(case, old)), []).append(case)
    issue = results.header.client.issues
    entries = [
        Entry(
            number=1,
            cases=cover.cases,
            releases=cover.releases,
            targets=cover.targets,
            outcome="fail",
            verdicts=(verdict,),
            errors=(error,) if says_something(error) else (),
            reason=reason,
            issue=issue if issue is not None and is_address(issue) else None,
            expires=today + LIFETIME,
        )
        for (name, verdict, error, reason), records in groups.items()
        for cover in covers(name, records, executed[name], extent)
    ]
    return entries, unlisted


def _reason(case: CaseRecord, old: ExpectationsFile | None) -> str:
    if old is None or case.expectation is None:
        return f"{TODO}: say why the {case.judges} fails here"
    return f"{TODO}: look again; the entry before said: {case.expectation.reason.removeprefix(TODO).strip(': ') or 'nothing'}"


def _head(header: RunHeader, today: date) -> str:
    name = "".join(filter(str.isprintable, one_line(f"{header.client.name} {header.client.version}")))[:200]
    lines = [
        f"Known failures of {name}",
        f"against lmcache {header.releases[0]} to {header.releases[-1]} on {', '.join(header.targets)},"
        if len(header.releases) > 1
        else f"against lmcache {header.releases[0]} on {', '.join(header.targets)},",
        f"written by lmconform {header.tool_version} on {today}.",
        "",
        f"Replace every reason that begins with {TODO}, link an issue, and choose the day on which somebody should look again.",
        "An entry whose case passes, fails in another way or has expired fails the run.",
    ]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines) + "\n"


def _put(path: Path, text: str, *, force: bool) -> None:
    """Write the whole file or nothing, and nothing over a file that is not to be replaced."""
    target = _file_to_write(path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            if force:
                Path(name).replace(target)
            else:
                target.hardlink_to(name)
        finally:
            with contextlib.suppress(FileNotFoundError):
                Path(name).unlink()
    except FileExistsError:
        raise UsageError(f"{path} was made while the run went on and is not overwritten; give --force") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
