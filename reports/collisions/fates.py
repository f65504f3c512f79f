"""What becomes of each operation of a client at a server of another release, and of the answer on its way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from msgspec.msgpack import Ext

from reports.collisions.dialect import Dialect
from reports.collisions.effects import (
    EFFECTS,
    ENDS,
    PLAIN,
    READERS_WANTED,
    READERS_WANTED_BY,
    REPLY_KILLS,
    UNKNOWN,
    UNKNOWN_KILLS,
    WRAPPER_FORMS,
    family,
)
from reports.collisions.harm import Grade, Harm, worst, worst_harm
from reports.collisions.samples import Sample, payload_samples, result_samples, wrapper
from wire.errors import WireError
from wire.mp.frames import decode_reply, decode_request, encode_reply, encode_request
from wire.mp.operations import RENAMED, Operation, OperationNumber, UnknownOperationError
from wire.mp.values import Value

WORKS: Final = "the same operation"
ANSWERED: Final = "the same operation, with an answer that means something else"
DROPPED: Final = "the message is dropped"
REFUSED: Final = "number and types fit, but it is refused, and no answer comes"
KILLED: Final = "the number is unknown, which ends the message thread"
_LONGEST: Final = 40


@dataclass(frozen=True)
class Fate:
    """What becomes of one operation of the client, as it is sent day by day or with one odd payload."""

    operation: str
    """The client's name for it."""
    number: OperationNumber
    """What its frame holds."""
    meets: str | None
    """The server's name for that number; None if it knows no such."""
    executed: bool
    """Whether the server reads the payloads and executes what it meets."""
    grade: Grade
    what: str
    """What happens, without names of releases, so that it reads the same for many pairs."""
    detail: str = ""
    """What does not fit, or what the client makes of the answer."""
    odd: str = ""
    """The odd payload, or what the server must have been started with; empty for day by day."""

    @property
    def same(self) -> bool:
        """Whether it works as it is meant to."""
        return self.grade.harm is Harm.SAME

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for fates that are told together."""
        return self.operation, self.grade, self.what, self.odd


@dataclass(frozen=True)
class Pair:
    """A client of one release at a server of another."""

    client: str
    server: str
    fates: tuple[Fate, ...]
    """One for each operation of the client, and more for what odd payloads do worse; in the order of the client's numbers."""

    @cached_property
    def grade(self) -> Grade:
        """The worst of all."""
        return worst(fate.grade for fate in self.fates)

    @property
    def troubles(self) -> list[Fate]:
        """All that is not the same, the worst first."""
        found = [fate for fate in self.fates if not fate.same]
        return sorted(found, key=lambda fate: fate.grade.rank)

    @property
    def survivors(self) -> list[str]:
        """Operations of plain use that work, whatever odd payloads do."""
        return [fate.operation for fate in self.fates if not fate.odd and fate.grade.plain and fate.same]

    @property
    def casualties(self) -> list[str]:
        """Operations of plain use that do not work."""
        return [fate.operation for fate in self.fates if not fate.odd and fate.grade.plain and not fate.same]


_PLAYED: Final[dict[tuple[str, str], tuple[Fate, ...]]] = {}
"""Seals of a client and of a server, and what becomes of the operations."""


def pair_of(client: Dialect, server: Dialect) -> Pair:
    """Every operation of a client at a server; those of releases that speak alike are played once a process."""
    both = client.seal, server.seal
    if both not in _PLAYED:
        fates = [fate for operation in client.table.operations for fate in _fates(client, server, operation)]
        _PLAYED[both] = tuple(_with_locks(fates))
    return Pair(str(client.release), str(server.release), _PLAYED[both])


@dataclass(frozen=True)
class _Outcome:
    """What becomes of one message."""

    harm: Harm
    executed: bool
    what: str
    detail: str = ""


def _fates(client: Dialect, server: Dialect, operation: Operation) -> list[Fate]:
    """The fate of plain payloads, and those of odd ones that are worse than it."""
    try:
        met = server.table.numbered(operation.number)
    except UnknownOperationError:
        return [_unknown(server, operation)]
    samples = payload_samples(client.release, operation.payloads, lookup="LOOKUP" in operation.name)
    outcomes = [(sample, _outcome(client, server, operation, met, sample)) for sample in samples]
    plain = _worst([outcome for sample, outcome in outcomes if not sample.odd])
    known = family(operation.meaning) in PLAIN
    served = family(met.meaning) in PLAIN or met.meaning == operation.meaning
    found = []
    if known and not served and plain.executed:
        dropped = _Outcome(Harm.HANGS, False, DROPPED, f"only a server with {family(met.meaning)} executes {met.name}")
        found.append(_fate(operation, met, dropped, Grade(Harm.HANGS)))
        found.append(_fate(operation, met, plain, Grade(plain.harm, False), f"a server with {family(met.meaning)}"))
    else:
        found.append(_fate(operation, met, plain, Grade(plain.harm, known)))
    for sample, outcome in outcomes:
        if sample.odd and worst_harm([plain.harm, outcome.harm]) is not plain.harm:
            found.append(_fate(operation, met, outcome, Grade(outcome.harm, False), sample.odd))
            break
    return found


def _fate(operation: Operation, met: Operation, outcome: _Outcome, grade: Grade, odd: str = "") -> Fate:
    return Fate(operation.name, operation.number, met.name, outcome.executed, grade, outcome.what, outcome.detail, odd)


def _unknown(server: Dialect, operation: Operation) -> Fate:
    known = family(operation.meaning) in PLAIN
    if UNKNOWN_KILLS[server.release]:
        return Fate(operation.name, operation.number, None, False, Grade(Harm.KILLS, known), KILLED)
    return Fate(operation.name, operation.number, None, False, Grade(Harm.HANGS, known), DROPPED, "the number is unknown")


def _worst(outcomes: Sequence[_Outcome]) -> _Outcome:
    harm = worst_harm(outcome.harm for outcome in outcomes)
    return next(outcome for outcome in outcomes if outcome.harm is harm)


def _outcome(client: Dialect, server: Dialect, operation: Operation, met: Operation, sample: Sample) -> _Outcome:
    frames = encode_request(client.table, operation.name, sample.values)
    try:
        request = decode_request(server.table, frames)
    except WireError as error:
        return _Outcome(Harm.HANGS, False, DROPPED, str(error))
    refusal = _refusal(server, met, request.payloads)
    if refusal:
        return _Outcome(Harm.HANGS, False, REFUSED, refusal)
    harm, answer = _answered(client, server, operation, met, frames[0])
    if met.meaning == operation.meaning:
        return _Outcome(harm, True, WORKS if harm is Harm.SAME else ANSWERED, answer)
    effect = EFFECTS.get(met.meaning, UNKNOWN)
    if harm is Harm.SAME:
        harm, answer = Harm.MISLEADS, "the answer has the type that is expected"
    what = f"executes {met.name}, which {effect.words}"
    return _Outcome(effect.harm or harm, True, what, answer)


def _refusal(server: Dialect, met: Operation, payloads: Sequence[Value]) -> str | None:
    """What a server refuses although its types allow it."""
    other = next(filter(None, (_other_form(server, payload) for payload in payloads)), None)
    if other is not None:
        return f"a KV tensor comes as {other}, and only {WRAPPER_FORMS[server.release]} is loaded"
    if READERS_WANTED[server.release] and met.meaning in READERS_WANTED_BY:
        counts = [payload["num_kv_readers"] for payload in payloads if isinstance(payload, dict) and "num_kv_readers" in payload]
        if any(count < 1 for count in counts):
            return "num_kv_readers is missing, which lookups of a registered model want"
    return None


def _other_form(server: Dialect, value: Value) -> str | None:
    """The form of a KV tensor in a payload, if the server does not load it."""
    if isinstance(value, list):
        return next(filter(None, (_other_form(server, member) for member in value)), None)
    if not isinstance(value, Ext) or bytes(value.data) == wrapper(server.release):
        return None
    return bytes(value.data).decode()


def _answered(client: Dialect, server: Dialect, operation: Operation, met: Operation, sent: bytes) -> tuple[Harm, str]:
    """What the client makes of the answer; the worst over what the server may answer."""
    found: list[tuple[Harm, str]] = []
    for result in result_samples(server.release, met.result):
        frames = [sent, *encode_reply(server.table, met.name, result)[1:]]
        try:
            read = decode_reply(client.table, operation.name, frames)
        except WireError as error:
            dies = REPLY_KILLS[client.release]
            lost = "the client's message thread dies of it" if dies else "the client drops it and waits on"
            found.append((Harm.STRANDS if dies else Harm.HANGS, f"the answer cannot be read: {error}; {lost}"))
            continue
        if met.result == operation.result:
            found.append((Harm.SAME, ""))
        else:
            expected = "nothing" if operation.result is None else str(operation.result)
            found.append((Harm.MISLEADS, f"the answer {_word(result)} reads as {_word(read)}, where {expected} was expected"))
    harm = worst_harm(harm for harm, _ in found)
    return next(answer for answer in found if answer[0] is harm)


def _with_locks(fates: Sequence[Fate]) -> list[Fate]:
    """The fates, those that keep a lock from being given back as leaks."""
    plain: Mapping[str, Fate] = {fate.operation: fate for fate in reversed(fates) if not fate.odd}
    return [_leaking(fate, plain) for fate in fates]


_KEEPS: Final = (Harm.MISLEADS, Harm.STRANDS, Harm.HANGS)


def _leaking(fate: Fate, plain: Mapping[str, Fate]) -> Fate:
    if fate.odd or fate.grade.harm not in _KEEPS:
        return fate
    if fate.operation in ENDS.values() and fate.executed and _itself(fate):
        what = f"{fate.what}, so that nobody gives back the locks that it took"
        return replace(fate, grade=Grade(Harm.LEAKS, fate.grade.plain), what=what)
    taker = plain.get(ENDS.get(fate.operation, ""))
    if taker is not None and taker.executed and _itself(taker):
        what = f"{fate.what}, and the locks that {taker.operation} took stay until they run out"
        return replace(fate, grade=Grade(Harm.LEAKS, fate.grade.plain), what=what)
    return fate


def _itself(fate: Fate) -> bool:
    return fate.meets is not None and _meaning(fate.meets) == _meaning(fate.operation)


def _meaning(name: str) -> str:
    return RENAMED.get(name, name)


def _word(value: Value) -> str:
    if value is None:
        return "nil"
    words = {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else repr(value)
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 4]} ..."
