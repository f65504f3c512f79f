"""All changes of the multiprocess protocol between two captures, and the accounting that lets none of them vanish."""

from __future__ import annotations

from collections.abc import Iterator

from reports.drift.model import Aspect, Change, Drift, Example, Level, Levels, Side, in_order
from reports.drift.mp import conversations, frames, objects, operations, records, registrations
from reports.drift.mp.conversations import transcripts
from reports.drift.mp.frames import side
from reports.drift.mp.observed import TABLE_ID, MpObserved
from reports.drift.observe.evidence import shared
from reports.drift.words import alike
from reports.words import count, listing, verb


def compare_mp(one: MpObserved, other: MpObserved) -> Drift:
    """What changed in the multiprocess protocol from one captured release to another."""
    rules = (
        operations.compare, records.compare, frames.compare, registrations.compare, objects.compare, conversations.compare,
    )  # fmt: skip
    found = [rule(one, other) for rule in rules]
    accounted = set().union(*(findings.accounted for findings in found))
    changes = [change for findings in found for change in findings.changes]
    changes += _unexplained(one, other, accounted)
    notes = [note for findings in found for note in findings.notes]
    notes += _availability(one, other)
    notes += _conversations(one, other)
    before = one.evidence.vectors.keys() | transcripts(one).keys()
    after = other.evidence.vectors.keys() | transcripts(other).keys()
    return Drift(
        old=one.release,
        new=other.release,
        changes=in_order(changes),
        compared=len(before & after),
        only_old=len(before - after),
        only_new=len(after - before),
        notes=tuple(f"Multiprocess protocol: {note}" for note in notes),
    )


def appeared(other: MpObserved) -> Change:
    """That a release has the protocol, or its capture, and the one before it has not."""
    names = listing(other.operations, 12)
    return Change(
        Aspect.MP_OPERATIONS,
        f"The multiprocess protocol is captured from here on: {count(len(other.operations), 'operation')}",
        Levels.all(Level.ADDITIVE),
        f"Nothing, unless you speak it: {names}.",
        (Example(TABLE_ID, None, Side(names)),),
    )


def _unexplained(old: MpObserved, new: MpObserved, accounted: set[str]) -> Iterator[Change]:
    """Outcomes of operations that nothing here understands, and operations of which nothing was captured any more."""
    for op in new.evidence.corpus.vectors:
        left = [
            (before, after)
            for before, after in shared(old.evidence, new.evidence, op)
            if after.id not in accounted and before.args == after.args and not alike(dict(before.outcome), dict(after.outcome))
        ]
        if left:
            before, after = left[0]
            yield Change(
                Aspect.UNEXPLAINED,
                f"{count(len(left), 'outcome')} of {op} {verb(len(left), 'differs', 'differ')}, and captures do not show why",
                Levels.all(Level.BREAKING),
                f"Look at the captures yourself: {listing((vector.id for _, vector in left), 4)}.",
                (Example(after.id, side(before), side(after)),),
                evidence=len(left),
            )
    for op in old.evidence.corpus.vectors:
        if not new.evidence.of(op):
            reason = new.evidence.corpus.manifest.unavailable.get(op, "its capture does not say why")
            yield Change(
                Aspect.UNEXPLAINED,
                f"{op} could not be asked of {new.release}: {reason}",
                Levels.all(Level.BREAKING),
                f"Find out whether {new.release} still has it; its capture shows nothing.",
                tuple(Example(vector.id, side(vector), None) for vector in old.evidence.of(op)[:1]),
                evidence=len(old.evidence.of(op)),
            )


def _conversations(old: MpObserved, new: MpObserved) -> Iterator[str]:
    """That nothing can be said of answers."""
    for one, other in ((old, new), (new, old)):
        if transcripts(one) and not transcripts(other):
            yield f"no conversation with a server of {other.release} is captured, so that its answers are not compared."


def _availability(old: MpObserved, new: MpObserved) -> Iterator[str]:
    for one, other in ((old, new), (new, old)):
        by_op: dict[str, int] = {}
        for id_, vector in one.evidence.vectors.items():
            if id_ not in other.evidence.vectors:
                by_op[vector.op] = by_op.get(vector.op, 0) + 1
        talks = len(transcripts(one).keys() - transcripts(other).keys())
        if talks and transcripts(other):
            yield f"only {one.release} was held {count(talks, 'conversation')}."
        if by_op:
            yield f"only {one.release} was asked: {listing((f'{number} {op}' for op, number in by_op.items()), 20)}."
