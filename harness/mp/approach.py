"""Asking a server of the user whether it is of a release, without harm if it is of another.

The numbers of operations were given anew again and again: what asks one release for NOOP empties the cache of another, and a
number that a server does not know ends its message thread for good. So it is only asked what is harmless to every release that
it can still be, until NOOP itself is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockserver.mp.behaviour import UNKNOWN_OPERATION_KILLS
from wire.errors import WireError
from wire.mp.operations import UnknownOperationError, operation_table
from wire.mp.types import Scalar
from wire.mp.values import ValueRefused, pack, typed, unpack
from wire.release import KNOWN_RELEASES, Release

HARMLESS: Final = {
    "NOOP": "str",
    "GET_CHUNK_SIZE": "int",
    "PING": "bool",
    "QUERY_PREFETCH_STATUS": "int",
    "QUERY_PREFETCH_LOOKUP_HITS": "int",
    "END_SESSION": "nothing",
}
"""Operations that change nothing, if the request that they name is nobody's; and what their result is."""
OLDEST: Final = Release.parse("0.3.14")
"""Older servers are thought of only where they are named: they know so few numbers that nothing tells them apart without harm."""
SILENCE: Final = "silence"
HARM: Final = "harm"

Ask = Callable[[Sequence[bytes]], Sequence[bytes] | None]
"""Sends frames behind a uid; the frames of the reply behind its uid, or None where none comes."""


@dataclass(frozen=True)
class Question:
    """A request."""

    number: int | str
    payloads: tuple[Any, ...] = ()

    @property
    def frames(self) -> list[bytes]:
        """Behind the uid."""
        return [pack(self.number), *map(pack, self.payloads)]


def outcome(release: Release, question: Question) -> str:
    """What a server of a release does with a question: the kind of its result, or silence, or harm."""
    try:
        operation = operation_table(release).numbered(question.number)
    except UnknownOperationError:
        return HARM if UNKNOWN_OPERATION_KILLS[release] else SILENCE
    if len(operation.payloads) != len(question.payloads):
        return SILENCE
    try:
        for type_, value in zip(operation.payloads, question.payloads, strict=True):
            typed(release, type_, value)
    except ValueRefused:
        return SILENCE
    return HARMLESS.get(operation.name, HARM)


def questions(releases: Iterable[Release]) -> list[Question]:
    """What can be asked."""
    nobody = f"lmconform-{secrets.token_hex(8)}"
    tables = [operation_table(release) for release in releases]
    known = [table.named(name) for table in tables for name in HARMLESS if name in table]
    plain = [operation for operation in known if all(type_ == Scalar("str") for type_ in operation.payloads)]
    return list(dict.fromkeys(Question(operation.number, (nobody,) * len(operation.payloads)) for operation in plain))


def may_be(release: Release, ask: Ask) -> bool:
    """Whether NOOP of the release may be sent to a server, because it does no harm to any release that the server can be."""
    every = {release, *(found for text in KNOWN_RELEASES if (found := Release.parse(text)) >= OLDEST)}
    left = set(every)
    noop = Question(operation_table(release).named("NOOP").number)
    while release in left:
        if all(outcome(one, noop) != HARM for one in left):
            return True
        question = best(questions(sorted(every)), left, release)
        if question is None:
            return False
        heard = kind_of(ask(question.frames))
        left = {one for one in left if outcome(one, question) == heard}
    return False


def best(asked: Sequence[Question], left: set[Release], named: Release) -> Question | None:
    """The question that tells most of the releases apart, of those that harm none; if possible one that the named one answers."""
    found: tuple[tuple[bool, int], Question] | None = None
    for question in asked:
        outcomes = [outcome(release, question) for release in left]
        largest = max(outcomes.count(one) for one in set(outcomes))
        rank = (outcome(named, question) == SILENCE, largest)
        if HARM not in outcomes and largest < len(left) and (found is None or rank < found[0]):
            found = rank, question
    return None if found is None else found[1]


def kind_of(reply: Sequence[bytes] | None) -> str:
    """The kind of the result in a reply."""
    if reply is None:
        return SILENCE
    try:
        value = unpack(reply[1]) if len(reply) > 1 else None
    except WireError:
        return "garbage"
    return {str: "str", bool: "bool", int: "int", type(None): "nothing"}.get(type(value), "garbage")
