"""All changes between two captures, and the accounting that lets none of them vanish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from fixturegen.vector import Vector
from reports.drift.aspects import answers, chunks, deployments, direct, headers, keys, numbers, readings, shapes
from reports.drift.aspects.answers import Difference, answer_words
from reports.drift.model import Aspect, Change, Drift, Example, Level, Levels, Side, in_order
from reports.drift.mp.compare import appeared, compare_mp
from reports.drift.observe.evidence import shared
from reports.drift.observe.observed import Observed
from reports.drift.words import alike, outcome
from reports.words import count, listing, verb

RELEVANT: Final[Mapping[str, frozenset[Aspect]]] = {
    "encode_request": frozenset({Aspect.REQUEST_HEADER, Aspect.NUMBERS, Aspect.SHAPES, Aspect.KEY_STRING}),
    "decode_request": frozenset({Aspect.REQUEST_HEADER, Aspect.NUMBERS, Aspect.SHAPES, Aspect.KEY_STRING, Aspect.KEY_READING}),
    "encode_reply": frozenset({Aspect.REPLY_HEADER, Aspect.NUMBERS, Aspect.SHAPES}),
    "decode_reply": frozenset({Aspect.REPLY_HEADER, Aspect.NUMBERS, Aspect.SHAPES}),
    "encode_metadata": frozenset({Aspect.METADATA, Aspect.NUMBERS, Aspect.SHAPES}),
    "decode_metadata": frozenset({Aspect.METADATA, Aspect.NUMBERS, Aspect.SHAPES}),
    "format_key": frozenset({Aspect.KEY_STRING}),
    "chain_inputs": frozenset({Aspect.CHUNK_CHAIN}),
    "chunk_keys": frozenset({Aspect.CHUNK_CHAIN, Aspect.CHUNKS, Aspect.KEY_STRING}),
    "deployment_keys": frozenset({Aspect.CHUNK_CHAIN, Aspect.CHUNKS, Aspect.KEY_STRING}),
}
"""Which changes can account for another outcome of an operation whose rules were inferred in both releases."""
_LAYOUTS: Final = frozenset({"pack_layout", "unpack_layout"})
"""They are unavailable layout by layout, which notes tell."""
LONGEST_REASON: Final = 80
"""Characters of a reason that a note repeats."""
_UNEXPLAINED_LEVELS: Final[Mapping[str, Levels]] = {
    "decode_request": Levels(Level.NONE, Level.NONE, Level.BEHAVIOURAL),
    "decode_reply": Levels(Level.NONE, Level.BEHAVIOURAL, Level.NONE),
    "decode_metadata": Levels(Level.NONE, Level.BEHAVIOURAL, Level.NONE),
    "encode_reply": Levels(Level.NONE, Level.BREAKING, Level.BREAKING),
    "encode_metadata": Levels.clients(Level.BREAKING),
    "chain_inputs": Levels.clients(Level.BREAKING),
    "chunk_keys": Levels.clients(Level.BREAKING),
    "deployment_keys": Levels.clients(Level.BREAKING),
}
"""Levels of what no rule explains; everything that is not here breaks everybody."""


def compare(one: Observed, other: Observed) -> Drift:
    """What changed from one captured release to another, on the wires that are told about."""
    drifts = [_compare_lm(one, other)] if one.lm and other.lm else []
    drifts.append(_compare_mp(one, other))
    return Drift(
        old=one.release,
        new=other.release,
        changes=in_order(change for drift in drifts for change in drift.changes),
        compared=sum(drift.compared for drift in drifts),
        only_old=sum(drift.only_old for drift in drifts),
        only_new=sum(drift.only_new for drift in drifts),
        notes=tuple(note for drift in drifts for note in drift.notes),
    )


def _compare_mp(one: Observed, other: Observed) -> Drift:
    if one.mp is not None and other.mp is not None:
        return compare_mp(one.mp, other.mp)
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    if other.mp is not None:
        changes = (appeared(other.mp),)
    elif one.mp is not None:
        advice = f"run 'lmconform capture {other.release} --protocol mp'"
        notes = (f"The multiprocess protocol of {other.release} is not captured, so that nothing is said of it; {advice}.",)
    return Drift(one.release, other.release, changes, compared=0, only_old=0, only_new=0, notes=notes)


def _compare_lm(one: Observed, other: Observed) -> Drift:
    found = [rule(one, other) for rule in (headers.compare, numbers.compare, shapes.compare, keys.compare, readings.compare)]
    found += [rule(one, other) for rule in (chunks.compare, deployments.compare, direct.compare)]
    answered, elsewhere = answers.compare(one, other)
    found.append(answered)
    changes = [change for findings in found for change in findings.changes]
    aspects = {change.aspect for change in changes if change.levels.worst or change.aspect is Aspect.NUMBERS}
    accounted = set().union(*(findings.accounted for findings in found))
    changes += _unexplained_vectors(one, other, aspects, accounted)
    changes += _unexplained_answers(elsewhere, aspects)
    changes += _lost(one, other)
    notes = [note for findings in found for note in findings.notes]
    notes += _consequences(elsewhere, aspects)
    notes += _availability(one, other)
    return Drift(
        old=one.release,
        new=other.release,
        changes=in_order(changes),
        compared=len(one.evidence.vectors.keys() & other.evidence.vectors.keys())
        + len(one.evidence.transcripts.keys() & other.evidence.transcripts.keys()),
        only_old=len(one.evidence.vectors.keys() - other.evidence.vectors.keys())
        + len(one.evidence.transcripts.keys() - other.evidence.transcripts.keys()),
        only_new=len(other.evidence.vectors.keys() - one.evidence.vectors.keys())
        + len(other.evidence.transcripts.keys() - one.evidence.transcripts.keys()),
        notes=tuple(notes),
    )


def _differs(before: Vector, after: Vector) -> bool:
    """Another outcome for the same input; two refusals are the same outcome, whatever words they use."""
    if before.args != after.args or (before.ok is None and after.ok is None):
        return False
    return not alike(dict(before.outcome), dict(after.outcome))


def _unexplained_vectors(old: Observed, new: Observed, aspects: set[Aspect], accounted: set[str]) -> Iterator[Change]:
    """Outcomes that differ and that no change accounts for, one change for each operation."""
    for op in new.evidence.corpus.vectors:
        left = [pair for pair in shared(old.evidence, new.evidence, op) if not _is_explained(old, new, pair, aspects, accounted)]
        if left:
            before, after = left[0]
            yield Change(
                Aspect.UNEXPLAINED,
                f"{count(len(left), 'outcome')} of {op} {verb(len(left), 'differs', 'differ')}, and captures do not show why",
                _UNEXPLAINED_LEVELS.get(op, Levels.all(Level.BREAKING)) if not _refused_now(left) else Levels.all(Level.BREAKING),
                f"Look at the captures yourself: {listing((vector.id for _, vector in left), 4)}.",
                (Example(after.id, outcome(before), outcome(after)),),
                evidence=len(left),
            )


def _refused_now(pairs: Sequence[tuple[Vector, Vector]]) -> bool:
    return any(before.ok is not None and after.ok is None for before, after in pairs)


def _is_explained(old: Observed, new: Observed, pair: tuple[Vector, Vector], aspects: set[Aspect], accounted: set[str]) -> bool:
    before, after = pair
    if after.id in accounted:
        return True
    unruly = before.id in old.unruly or after.id in new.unruly
    if unruly:
        return not _differs(before, after) if before.args == after.args else after.id in old.unruly and after.id in new.unruly
    if not _differs(before, after):
        return True
    return bool(RELEVANT.get(after.op, frozenset()) & aspects)


def _unexplained_answers(elsewhere: Sequence[Difference], aspects: set[Aspect]) -> Iterator[Change]:
    """Conversations that went another way although nothing that was reported makes them differ."""
    left = [difference for difference in elsewhere if not difference.causes & aspects]
    if left:
        first = left[0]
        yield Change(
            Aspect.UNEXPLAINED,
            f"{count(len(left), 'conversation')} {verb(len(left), 'goes', 'go')} another way, and captures do not show why",
            Levels.all(Level.BREAKING),
            f"Look at the transcripts yourself: {listing((difference.id for difference in left), 4)}.",
            (Example(first.id, Side(answer_words(first.before)), Side(answer_words(first.after))),),
            evidence=len(left),
        )


def _consequences(elsewhere: Sequence[Difference], aspects: set[Aspect]) -> Iterator[str]:
    explained = [difference for difference in elsewhere if difference.causes & aspects]
    if explained:
        causes = sorted({cause.value for difference in explained for cause in difference.causes & aspects})
        yield (
            f"{count(len(explained), 'conversation')} with a server {verb(len(explained), 'goes', 'go')} another way because of "
            f"the changes above ({listing(causes)}): {listing((difference.id for difference in explained), 4)}."
        )


def _availability(old: Observed, new: Observed) -> Iterator[str]:
    """What only one release was asked, what it could not be asked, and what differs in words alone."""
    for one, other in ((old, new), (new, old)):
        alone = [vector for id_, vector in one.evidence.vectors.items() if id_ not in other.evidence.vectors]
        by_op: dict[str, int] = {}
        for vector in alone:
            by_op[vector.op] = by_op.get(vector.op, 0) + 1
        scripts = len(one.evidence.transcripts.keys() - other.evidence.transcripts.keys())
        parts = [f"{number} {op}" for op, number in by_op.items()] + ([f"{scripts} conversations"] if scripts else [])
        if parts:
            yield f"Only {one.release} was asked: {listing(parts, 20)}.{_unruly_alone(one, alone)}"
    yield from _unavailable(old, new)
    words = [
        after.id
        for op in new.evidence.corpus.vectors
        for before, after in shared(old.evidence, new.evidence, op)
        if before.args == after.args and before.ok is None and after.ok is None and before.outcome != after.outcome
    ]
    if words:
        yield f"{count(len(words), 'refusal')} in other words, which nobody sees on the wire: {listing(words, 4)}."


def _unruly_alone(observed: Observed, alone: Iterable[Vector]) -> str:
    unruly = [vector.id for vector in alone if vector.id in observed.unruly]
    return f" {len(unruly)} of them follow no rule that could be inferred: {listing(unruly, 4)}." if unruly else ""


def _unavailable(old: Observed, new: Observed) -> Iterator[str]:
    """Concepts that one of the two could be asked about and the other could not."""
    before, after = old.evidence.corpus.manifest.unavailable, new.evidence.corpus.manifest.unavailable
    for release, here, there in ((old.release, before, after), (new.release, after, before)):
        alone = [subject for subject in here if subject not in there and not _part_of_a_gap(subject, there)]
        if alone:
            reasons = [f"{subject}{_reason(here[subject])}" for subject in alone]
            yield f"{release} could not be asked, the other could: {listing(reasons, 6)}."


def _part_of_a_gap(subject: str, there: Mapping[str, str]) -> bool:
    """Whether an entry about single vectors of a layout says less than the other side's entry about the whole layout."""
    layout, separator, _ = subject.partition(" ")
    return bool(separator) and f"{layout} pack" in there


def _reason(text: str) -> str:
    return f" ({text})" if len(text) <= LONGEST_REASON else ""


def _lost(old: Observed, new: Observed) -> Iterator[Change]:
    """Operations and conversations of the older release of which the newer one's capture shows nothing at all."""
    reasons = new.evidence.corpus.manifest.unavailable
    for op in old.evidence.corpus.vectors:
        named = [subject for subject in reasons if subject == op or (op in _LAYOUTS and " " in subject)]
        if new.evidence.of(op) or (named and op in _LAYOUTS):
            continue
        yield Change(
            Aspect.UNEXPLAINED,
            f"{op} could not be asked of {new.release}: {reasons.get(op, 'its capture does not say why')}",
            _UNEXPLAINED_LEVELS.get(op, Levels.all(Level.BREAKING)),
            f"Find out whether {new.release} still has it; its capture shows nothing.",
            tuple(Example(vector.id, outcome(vector), None) for vector in old.evidence.of(op)[:1]),
            evidence=len(old.evidence.of(op)),
        )
    if old.evidence.transcripts and not new.evidence.transcripts:
        yield Change(
            Aspect.UNEXPLAINED,
            f"No conversation with a server of {new.release} was captured",
            Levels.all(Level.BREAKING),
            f"Capture {new.release} again; without its server's answers nothing can be said about them.",
            (),
            evidence=len(old.evidence.transcripts),
        )
