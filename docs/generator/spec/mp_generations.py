"""What each release changed in the messages of the multiprocess server, by comparing it with the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from docs.generator.spec.mp_operations import tables
from docs.generator.spec.mp_records import releases_of
from docs.generator.spec.words import code, spans
from docs.generator.table import table
from wire.mp.frames import COERCED
from wire.mp.objects import HASHES_NOTHING, LOOKUP_HEEDS_END, OBJECT_GROUPS, SALTS, TOKEN_MODE
from wire.mp.operations import RENAMED, TEXT_ACCEPTED, OperationTable
from wire.mp.records import RECORDS
from wire.mp.registration import DATA_ONLY
from wire.release import RangeTable, Release

_RULES: tuple[tuple[RangeTable[bool], str], ...] = (
    (TOKEN_MODE, "keys hold tokens, no longer hashes"),
    (SALTS, "names of objects end with the salt, if there is one"),
    (OBJECT_GROUPS, "names of objects have a group"),
    (COERCED, "integers and booleans are converted"),
    (LOOKUP_HEEDS_END, "a lookup ends at `end`"),
    (HASHES_NOTHING, "a range beyond the tokens is refused"),
    (TEXT_ACCEPTED, "numbers are frozen, names are taken as well"),
    (DATA_ONLY, "KV tensors cross as maps, no longer as pickles"),
)

_RENAMED_RECORDS: Final = {
    "IPCCacheEngineKey": "IPCCacheServerKey",
    "RegisterNonGpuContextPayload": "RegisterEngineDrivenContextPayload",
    "RegisterNonGpuContextResponse": "RegisterEngineDrivenContextResponse",
}


def generations() -> str:
    """One row for each release that changed something."""
    head = ("releases", "operations", "new", "gone", "renumbered", "other payloads or result", "records", "rules")
    return table(head, _generations())


def _generations() -> Iterator[tuple[str, ...]]:
    held = tables()
    names = list(held)
    changes = [(names[0], ("all of them", "", "", "", "", ""))]
    changes += [(after, _changes(held[before], held[after])) for before, after in pairwise(names)]
    begins = [name for name, change in changes if any(change)]
    for (name, change), releases in zip([pair for pair in changes if any(pair[1])], _until_next(begins, names), strict=True):
        yield spans(releases), str(len(held[name].operations)), *(part or "-" for part in change)


def _until_next(begins: Sequence[str], names: Sequence[str]) -> Iterator[list[str]]:
    for first, group in groupby(names, key=lambda name: [each for each in begins if names.index(each) <= names.index(name)][-1]):
        del first
        yield list(group)


def _changes(old: OperationTable, new: OperationTable) -> tuple[str, str, str, str, str, str]:
    before = {operation.name: operation for operation in old.operations}
    after = {operation.name: operation for operation in new.operations}
    renamed = {name: later for name, later in RENAMED.items() if name in before and later in after and later not in before}
    added = [code(name) for name in after if name not in before and name not in renamed.values()]
    added += [f"{code(later)} for {code(name)}" for name, later in renamed.items()]
    gone = [code(name) for name in before if name not in after and name not in renamed]
    shared = [(before[name], after[renamed.get(name, name)]) for name in before if renamed.get(name, name) in after]
    moved = sum(one.number != other.number for one, other in shared)
    changed = [
        code(other.name)
        for one, other in shared
        if _unnamed([*one.payloads, one.result]) != _unnamed([*other.payloads, other.result])
    ]
    return (
        ", ".join(added),
        ", ".join(gone),
        f"{moved} of {len(shared)}" if moved else "",
        ", ".join(changed),
        "; ".join(_records(old.release, new.release)),
        "; ".join(text for rule, text in _RULES if rule[old.release] != rule[new.release]),
    )


def _unnamed(types: Sequence[object]) -> list[str]:
    """Types with one name for records that were renamed, which is no change on the wire."""
    found = [str(each) for each in types]
    for old, new in _RENAMED_RECORDS.items():
        found = [each.replace(old, new) for each in found]
    return found


def _records(old: Release, new: Release) -> Iterator[str]:
    for name, rows in RECORDS.items():
        existing = releases_of(name)
        if str(new) in existing and str(old) in existing and rows[old] != rows[new]:
            before = {field.name: field for field in rows[old]}
            after = {field.name: field for field in rows[new]}
            parts = [f"{code(each)} is new" for each in after if each not in before]
            parts += [f"{code(each)} is gone" for each in before if each not in after]
            parts += [
                f"{code(each)} is {code(after[each].type)}" for each in after if each in before and before[each] != after[each]
            ]
            yield f"{code(name)}: {', '.join(parts)}"
