"""Operations: numbers that mean something else now, new and lost operations, payloads and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reports.collisions.dialect import Dialect, table_of
from reports.collisions.fates import Fate, Pair, pair_of
from reports.collisions.harm import WORDS, Harm
from reports.drift.model import Aspect, Change, Example, Findings, Level, Levels, Side, Table
from reports.drift.mp.observed import TABLE_ID, Listed, MpObserved, Twins, record_twins, twins, with_names
from reports.words import count, listing, verb
from wire.release import Release

_SHOWN = 12
"""Operations that a sentence names."""


def compare(old: MpObserved, new: MpObserved) -> Findings:
    """Everything that the two tables show."""
    found = Findings(accounted={TABLE_ID})
    pairs = twins(old, new)
    found.add(list(_collisions(old, new)))
    found.add(list(_numbers(old, new, pairs)))
    found.add(list(_lost(old, new, pairs)))
    found.add(list(_gained(new, pairs)))
    found.add(list(_signatures(old, new, pairs)))
    renamed = [pair.name for pair in pairs if pair.old.name != pair.new.name]
    if renamed:
        found.notes.append(f"Operations with another name, which the wire does not carry: {listing(renamed, _SHOWN)}.")
    return found


def _example(before: str | None, after: str | None) -> tuple[Example, ...]:
    return (Example(TABLE_ID, None if before is None else Side(before), None if after is None else Side(after)),)


def _collisions(old: MpObserved, new: MpObserved) -> Iterator[Change]:
    """What clients of each release do at servers of the other, as far as another operation is met."""
    one, other = _dialect(old), _dialect(new)
    forth, back = pair_of(one, other), pair_of(other, one)
    rows = [row for pair in (forth, back) for row in _rows(pair)]
    met = [fate for pair in (forth, back) for fate in pair.troubles if _collides(fate)]
    if not met:
        return
    yield Change(
        Aspect.MP_COLLISIONS,
        f"NUMBERS COLLIDE: {_worst_of(forth)}; {_worst_of(back)}",
        Levels.all(Level.BREAKING),
        "Never let clients and servers of both releases meet: stop every client, update the server, start it empty, "
        f"and start updated clients. 'lmconform compat --protocol mp --clients {old.release},{new.release} "
        f"--servers {old.release},{new.release}' tells every operation.",
        _collision_example(met[0], new if met[0] in forth.fates else old, flipped=met[0] not in forth.fates),
        detail=("A client that sends the numbers of one release to the server of the other is not refused:",),
        table=Table(("client", "sends", "number", "the server executes", "harm"), tuple(rows)),
        evidence=len(met),
    )


def _dialect(observed: MpObserved) -> Dialect:
    return Dialect.of(table_of(Release.parse(observed.release), observed.evidence.vectors[TABLE_ID].answer))


def _collision_example(fate: Fate, server: MpObserved, *, flipped: bool) -> tuple[Example, ...]:
    sent, read = f"{fate.operation} is {fate.number}", f"{fate.number} is {_meaning(server, fate.number)}"
    return _example(read, sent) if flipped else _example(sent, read)


def _collides(fate: Fate) -> bool:
    """Whether an operation of plain use meets another one, or a number that ends the message thread."""
    if fate.odd or not fate.grade.plain:
        return False
    return fate.grade.harm is Harm.KILLS or (fate.meets is not None and fate.meets != fate.operation and not fate.same)


def _rows(pair: Pair) -> Iterator[tuple[str, ...]]:
    for fate in pair.troubles:
        if _collides(fate) and (fate.executed or fate.grade.harm is Harm.KILLS):
            meets = fate.meets or "nothing"
            yield pair.client, fate.operation, str(fate.number), meets, WORDS[fate.grade.harm]


def _worst_of(pair: Pair) -> str:
    """The worst that a client does, in one phrase."""
    met = [fate for fate in pair.troubles if _collides(fate)]
    where = f"a client of {pair.client} at a server of {pair.server}"
    if not met:
        return f"{where} meets no other operation"
    first = met[0]
    dropped = f"meets {first.meets} and is dropped" if first.meets else "is unknown"
    how = f"executes {first.meets}" if first.executed else dropped
    return f"{where} {WORDS[first.grade.harm]} ({first.operation} {how})"


def _numbers(old: MpObserved, new: MpObserved, pairs: Sequence[Twins]) -> Iterator[Change]:
    moved = [pair for pair in pairs if pair.old.wire != pair.new.wire]
    if not moved:
        return
    rows = [(pair.new.name, str(pair.old.wire), str(pair.new.wire), _meaning(new, pair.old.wire)) for pair in moved]
    headings = ("operation", old.release, new.release, f"its old number in {new.release}")
    first = moved[0]
    yield Change(
        Aspect.MP_OPERATIONS,
        f"{count(len(moved), 'operation')} of {len(pairs)} {verb(len(moved), 'has another number', 'have other numbers')}",
        Levels.all(Level.BREAKING),
        f"Send the numbers of {new.release} to servers of {new.release}, and to no others.",
        _example(f"{first.old.name} is {first.old.wire}", f"{first.new.name} is {first.new.wire}"),
        table=Table(headings, tuple(rows)),
        evidence=len(moved),
    )


def _meaning(observed: MpObserved, number: int | str) -> str:
    found = observed.by_number.get(number)
    if found is not None:
        return found.name
    return "retired" if number in observed.retired else "nothing"


def _lost(old: MpObserved, new: MpObserved, pairs: Sequence[Twins]) -> Iterator[Change]:
    kept = {pair.old.name for pair in pairs}
    lost = [operation for operation in old.operations.values() if operation.name not in kept]
    if not lost:
        return
    names = listing((operation.name for operation in lost), _SHOWN)
    retired = [operation.name for operation in lost if operation.wire in new.retired]
    yield Change(
        Aspect.MP_OPERATIONS,
        f"{count(len(lost), 'operation')} gone: {names}",
        Levels.clients(Level.BREAKING),
        "Do not send what is gone: nothing answers it.",
        _example(f"{lost[0].name} is {lost[0].wire}", f"no {lost[0].name}"),
        detail=(f"The numbers of {listing(retired, _SHOWN)} are kept and mean nothing.",) if retired else (),
        evidence=len(lost),
    )


def _gained(new: MpObserved, pairs: Sequence[Twins]) -> Iterator[Change]:
    known = {pair.new.name for pair in pairs}
    gained = [operation for operation in new.operations.values() if operation.name not in known]
    if not gained:
        return
    texts = [operation.name for operation in gained if isinstance(operation.wire, str)]
    yield Change(
        Aspect.MP_OPERATIONS,
        f"{count(len(gained), 'new operation')}: {listing((_with_number(operation) for operation in gained), _SHOWN)}",
        Levels.all(Level.ADDITIVE),
        f"Send none of them to servers before {new.release}: an unknown one may end their message thread.",
        _example(f"no {gained[0].name}", f"{gained[0].name} is {gained[0].wire}"),
        detail=(f"{listing(texts, _SHOWN)} {verb(len(texts), 'has', 'have')} a text in place of a number.",) if texts else (),
        evidence=len(gained),
    )


def _with_number(operation: Listed) -> str:
    return operation.name if isinstance(operation.wire, str) else f"{operation.name} ({operation.wire})"


def _signatures(old: MpObserved, new: MpObserved, pairs: Sequence[Twins]) -> Iterator[Change]:
    renamed = record_twins(old, new)
    payloads = [pair for pair in pairs if payloads_differ(pair, renamed)]
    results = [pair for pair in pairs if results_differ(pair, renamed)]
    if payloads:
        yield _signature_change(old, new, payloads, "takes other payloads", "take other payloads", Aspect.MP_PAYLOADS)
    if results:
        yield _signature_change(old, new, results, "gives another result", "give other results", Aspect.MP_PAYLOADS)


def _signature_change(old: MpObserved, new: MpObserved, pairs: Sequence[Twins], one: str, many: str, aspect: Aspect) -> Change:
    rows = tuple((pair.new.name, pair.old.signature, pair.new.signature) for pair in pairs)
    names = listing((pair.new.name for pair in pairs), 4)
    return Change(
        aspect,
        f"{count(len(pairs), 'operation')} {verb(len(pairs), one, many)}: {names}",
        Levels.all(Level.BREAKING),
        f"Write and read them as {new.release} does: a message with other payloads is dropped, and nobody answers.",
        _example(f"{pairs[0].old.name} {pairs[0].old.signature}", f"{pairs[0].new.name} {pairs[0].new.signature}"),
        table=Table(("operation", old.release, new.release), rows),
        evidence=len(pairs),
    )


def payloads_differ(pair: Twins, renamed: Mapping[str, str]) -> bool:
    """Whether an operation takes other payloads, apart from the names of records."""
    return tuple(with_names(type_, renamed) for type_ in pair.old.payloads) != pair.new.payloads


def results_differ(pair: Twins, renamed: Mapping[str, str]) -> bool:
    """Whether an operation gives another result, apart from the names of records."""
    before = None if pair.old.response is None else with_names(pair.old.response, renamed)
    return before != pair.new.response
