"""What must be known before two runs are compared: in what else they differ, and why nothing can be concluded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from reports.diff.kinds import Kind
from reports.diff.model import Change, Releases, Run
from reports.plain import clip
from reports.record import RunHeader
from reports.words import count, listing, span, verb

TEXT: Final = 200
"""Characters of one text from a header."""


def facts(run: Run) -> list[tuple[str, str]]:
    """What a run was, as labels and texts; the same labels for every run."""
    header, results = run.results.header, run.results
    client, listed = header.client, header.expectations
    return [
        (header.side, f"{clip(client.called, TEXT)}{clip(client.written_in, TEXT)}"),
        ("started as", clip(client.spec, TEXT)),
        ("releases", span(header.releases)),
        ("targets", ", ".join(header.targets)),
        ("part", _part(header)),
        ("cases", str(len(results.cases))),
        (
            "known failures",
            "no list" if listed is None else f"{clip(listed.file, TEXT)}, {count(listed.entries, 'entry', 'entries')}",
        ),
        ("run", header.started),
        ("lmconform", f"{clip(header.tool_version, TEXT)}, corpus {header.corpus[:19]}, seed {header.seed}"),
        ("on", f"{clip(header.python, TEXT)}, {clip(header.platform, TEXT)}"),
    ]


def notes(old: Run, new: Run, releases: Releases | None) -> Iterator[str]:
    """In what the runs differ besides what is judged, and what follows for whoever reads the changes."""
    one, other = old.results.header, new.results.header
    if one == other and old.results.cases == new.results.cases:
        yield "OLD and NEW are the same run." if releases is None else "OLD and NEW are two releases of the same run."
    elif releases is None and other.started < one.started:
        yield f"NEW began before OLD ({other.started}, {one.started}): are they in the right order?"
    if (one.client.name, one.client.language) != (other.client.name, other.client.language):
        yield f"Another {other.side} is judged in NEW: what differs need not be a change of either."
    if releases is None:
        yield from _only_in_one("lmcache", one.releases, other.releases)
    yield from _only_in_one("the target", one.targets, other.targets)
    if one.tool_version != other.tool_version:
        yield "Another lmconform: cases may have been added, changed or renamed."
    if one.corpus != other.corpus and set(one.releases) == set(other.releases):
        yield "Another corpus: expected values may have changed."
    if one.seed != other.seed:
        yield f"Other seeds ({one.seed}, {other.seed}): cases that draw examples drew other ones."
    yield from _settings(one, other)
    before, after = one.expectations, other.expectations
    if (before and before.sha256) != (after and after.sha256):
        yield "Another list of known failures: what became known or unexpected may be a change of the list."


def faults(old: Run, new: Run, changes: Sequence[Change], unchanged: int) -> Iterator[str]:
    """Why nothing can be concluded from the comparison as a whole."""
    for name, run in (("OLD", old), ("NEW", new)):
        if run.results.incomplete is not None:
            yield f"{name} is incomplete: {run.results.incomplete}"
        elif not run.results.cases and run.results.header.shard is None:
            yield f"{name} has no case"
    if old.results.cases and new.results.cases and not unchanged and not any(one.old and one.new for one in changes):
        yield "OLD and NEW have no case in common"
    first = sum(change.kind is Kind.NEW_FAILURES for change in changes)
    part = old.results.header.shard
    if first and part is not None and not _same_part(old.results.header, new.results.header):
        yield f"OLD is shard {part} alone: whether {count(first, 'failure')} of NEW {verb(first, 'is', 'are')} new is not known"
    undecided = sum(change.kind is Kind.UNDECIDED for change in changes)
    if undecided:
        yield f"NEW has {count(undecided, 'case')} in which harness, mock or environment failed"


def _part(header: RunHeader) -> str:
    if header.shard is not None:
        return f"shard {header.shard}"
    if header.merged is not None:
        return f"{len(header.merged.parts)} of {count(header.merged.count, 'shard')}, merged"
    return "whole run"


def _same_part(one: RunHeader, other: RunHeader) -> bool:
    """Whether two shards were dealt the same cases."""
    if one.selection is None or other.selection is None:
        return False
    return one.shard == other.shard and one.selection.ids == other.selection.ids


def _named_part(header: RunHeader) -> str:
    return _part(header) if header.shard is not None else "the whole run"


def _only_in_one(what: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for name, mine, others in (("OLD", old, new), ("NEW", new, old)):
        left = [one for one in mine if one not in others]
        if left:
            yield f"Only {name} has {what} {listing(left)}."


def _settings(one: RunHeader, other: RunHeader) -> Iterator[str]:
    if one.shard is not None and one.shard == other.shard:
        yield f"OLD and NEW are shard {one.shard} alone: nothing is said of the cases of other shards."
    elif one.shard != other.shard:
        yield f"OLD is {_named_part(one)}, NEW is {_named_part(other)}."
    before, after = one.selection, other.selection
    if before is None or after is None:
        return
    if before.examples != after.examples:
        yield f"Other numbers of examples of each property ({before.examples or 'the usual'}, {after.examples or 'the usual'})."
    if before.deadline != after.deadline:
        yield f"Other deadlines ({before.deadline:g} s, {after.deadline:g} s): a hang in one may be slow in the other."
    if before.runtime != after.runtime:
        yield f"Live servers ran elsewhere ({before.runtime}, {after.runtime})."
    if before.require and after.require and before.require != after.require:
        yield f"Failures of a SHOULD count in one and not in the other (--require {before.require}, {after.require})."
