"""Puts the shards of a run together: do they belong together, is one missing, and what is the whole run then?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reports.parts import Merged, Part, Selection, Shard, ids_digest
from reports.plain import clip
from reports.record import CaseRecord, RunHeader
from reports.results import Results, ResultsError
from reports.words import count, listing

_OWN = frozenset({"record", "started", "command_line", "python", "platform", "shard", "merged"})
"""Members of a header in which the shards of one run may differ."""


class MergeError(ResultsError):
    """Files that cannot be put together; the message names them, what is wrong and what to do."""


@dataclass(frozen=True)
class MergedRun:
    """What becomes of shards."""

    header: RunHeader
    cases: tuple[CaseRecord, ...]
    """In the order of the whole run."""
    seconds: float
    """Of all shards together."""
    notes: tuple[str, ...] = ()
    """What was passed over, such as a shard that was given twice."""

    @property
    def complete(self) -> bool:
        """Whether it is the whole run."""
        return self.header.merged is not None and not self.header.merged.faults


@dataclass(frozen=True)
class _Source:
    path: Path
    results: Results
    shard: Shard
    selection: Selection


def merge(files: Sequence[tuple[Path, Results]], command_line: Sequence[str]) -> MergedRun:
    """The run that the shards are parts of; ``command_line`` is how the merge was called.

    Shards that are missing or did not end make it incomplete.

    Raises:
        MergeError: there is no file, one is no shard or belongs to another run, or two hold the same case.
    """
    if not files:
        raise MergeError("there is no results file to merge")
    sources = [_source(path, results) for path, results in files]
    for other in sources[1:]:
        _require_same_run(sources[0], other)
    by_index, notes = _by_index(sources)
    chosen = [by_index[index] for index in sorted(by_index)]
    first, total = chosen[0], chosen[0].shard.count
    cases = _in_order(chosen)
    faults = tuple(_faults(chosen, cases))
    header = replace(
        first.results.header,
        started=min(one.results.header.started for one in chosen),
        command_line=tuple(command_line),
        shard=None,
        merged=Merged(total, tuple(map(_part, chosen)), faults),
    )
    seconds = round(sum(one.results.seconds for one in chosen), 3)
    return MergedRun(header, tuple(replace(case, place=None) for case in cases), seconds, tuple(notes))


def _source(path: Path, results: Results) -> _Source:
    header = results.header
    if header.merged is not None:
        raise MergeError(f"{path}: was merged already; name the files of the shards")
    if header.shard is None or header.selection is None:
        raise MergeError(f"{path}: holds a whole run and no shard; 'lmconform run --shard 1/4' makes shards")
    if not 1 <= header.shard.index <= header.shard.count:
        raise MergeError(
            f"{path}: says that it is shard {header.shard}, which does not exist; the file was changed, run it again"
        )
    for case in results.cases:
        if case.place is None or case.place >= header.selection.cases:
            raise MergeError(f"{path}: case {case.id} has no place in the run; the file was changed, run the shard again")
    return _Source(path, results, header.shard, header.selection)


def _require_same_run(one: _Source, other: _Source) -> None:
    if one.shard.count != other.shard.count:
        raise MergeError(
            f"{other.path}: shard {other.shard}, but {one.path} is shard {one.shard}: the runs were cut differently; "
            "merge the shards of one run"
        )
    for name, ours, theirs in _differences(_identity(one.results.header), _identity(other.results.header)):
        raise MergeError(
            f"{other.path}: belongs to another run than {one.path}: the member {name} of its header is {_shown(theirs)}, there "
            f"{_shown(ours)}; merge the shards of one run"
        )


def _identity(header: RunHeader) -> dict[str, Any]:
    members = {name: value for name, value in header.to_json().items() if name not in _OWN}
    if header.expectations is not None:  # machines may keep the list in different places
        members["expectations"] = {"sha256": header.expectations.sha256}
    # What a client declares is a set: some languages list one in another order each time.
    declared = {name: sorted(members["client"][name]) for name in ("operations", "releases") if members["client"].get(name)}
    return {**members, "client": {**members["client"], **declared}}


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(name), theirs.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _differences(one, other, f"{prefix}{name}.")
        elif one != other:
            yield f"{prefix}{name}", one, other


def _shown(value: object) -> str:
    return clip(ascii(value), 100)


def _by_index(sources: Sequence[_Source]) -> tuple[dict[int, _Source], list[str]]:
    found: dict[int, _Source] = {}
    notes = []
    for source in sources:
        first = found.setdefault(source.shard.index, source)
        if first is source:
            continue
        if first.results != source.results:
            raise MergeError(
                f"{source.path}: shard {source.shard}, which {first.path} holds with other records; keep the one that counts"
            )
        notes.append(f"{source.path} is the same as {first.path} and was passed over")
    return found, notes


def _in_order(sources: Sequence[_Source]) -> list[CaseRecord]:
    holders: dict[int, tuple[_Source, CaseRecord]] = {}
    by_id: dict[str, _Source] = {}
    for source in sources:
        for case in source.results.cases:
            assert case.place is not None
            if by_id.setdefault(case.id, source) is not source:
                raise MergeError(
                    f"{source.path}: case {case.id} stands in {by_id[case.id].path} too; "
                    "one of the files was changed, run that shard again"
                )
            other = holders.setdefault(case.place, (source, case))
            if other[1] is not case:
                raise MergeError(
                    f"{source.path}: case {case.id} stands where {other[1].id} of {other[0].path} stands; "
                    "one of the files was changed, run that shard again"
                )
    return [holders[place][1] for place in sorted(holders)]


def _faults(sources: Sequence[_Source], cases: Sequence[CaseRecord]) -> Iterator[str]:
    total, selection = sources[0].shard.count, sources[0].selection
    missing = sorted(set(range(1, total + 1)) - {source.shard.index for source in sources})
    if missing:
        names = listing((f"{index}/{total}" for index in missing), limit=20)
        yield f"{'shard' if len(missing) == 1 else 'shards'} {names} {'is' if len(missing) == 1 else 'are'} missing"
    broken = [source for source in sources if source.results.incomplete is not None]
    yield from (f"shard {source.shard} did not end: {source.results.incomplete}" for source in broken)
    if missing or broken:
        return
    if len(cases) != selection.cases:
        yield f"all shards together hold {count(len(cases), 'case')}, but the run selected {selection.cases}: lines were lost"
    elif ids_digest(case.id for case in cases) != selection.ids:
        yield "the shards together hold other cases than the run selected: lines were changed"


def _part(source: _Source) -> Part:
    header = source.results.header
    return Part(
        index=source.shard.index,
        started=header.started,
        seconds=source.results.seconds,
        python=header.python,
        platform=header.platform,
        command_line=header.command_line,
    )
