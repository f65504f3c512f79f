"""Asking a client in a smoke test, and explaining an answer that is wrong: what was sent, what came, what was expected."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from harness.client import AdapterFault, Answer, ClientCrash, ClientFailure, ClientHang, ClientTooLarge, Error, Miss, Ok
from harness.clients.answers import answer_members
from harness.clients.contract import shorten
from harness.clients.session import ClientSession
from harness.smoke.advice import advice
from harness.smoke.sketch import answer_shape
from wire.release import KNOWN_RELEASES

DEADLINE: Final = 10.0
"""Seconds that any answer of a smoke test may take."""
_AFTER_A_HANG: Final = 2.0
"""Seconds of patience with a client that has hung once."""
_NOTHING: Final = "nothing"
_DECLINE: Final = '"error": {"class": "refused", "message": "..."}'
_WORDS: Final[Mapping[type[ClientFailure], str]] = {
    ClientHang: "hang",
    ClientCrash: "crash",
    ClientTooLarge: "too large",
    AdapterFault: "broken contract",
}


class CheckFailed(Exception):
    """A check failed; the message is its detail, line by line."""


class NotApplicable(Exception):
    """A check says nothing about this client; the message is why."""


@contextmanager
def seen_by(server: Callable[[], str]) -> Iterator[None]:
    """Add to a failure what the server saw, which ``server`` tells in words."""
    try:
        yield
    except CheckFailed as failed:
        raise CheckFailed(f"{failed}\n{server()}") from None
    except ClientFailure as failure:
        failure.args = (f"{failure}\n  {server()}",)
        raise


class Asker:
    """Asks one client, and remembers which answer took longest."""

    def __init__(self, session: ClientSession, deadline: float) -> None:
        self.session = session
        self.deadline = deadline
        self.slowest = ("nothing", 0.0)

    @property
    def declared(self) -> frozenset[str]:
        """The operations that the client declares."""
        return frozenset(self.session.description.operations)

    @property
    def release(self) -> str:
        """The newest release that the client declares."""
        declared = self.session.description.releases
        return next((text for text in reversed(KNOWN_RELEASES) if text in declared), KNOWN_RELEASES[-1])

    def ask(self, op: str, args: Mapping[str, Any], *, deadline: float | None = None) -> Answer:
        """One operation, whether declared or not."""
        begin = time.monotonic()
        answer = self.session.call_undeclared(op, args, deadline=self.deadline if deadline is None else deadline)
        self.slowest = max(self.slowest, (op, time.monotonic() - begin), key=lambda timed: timed[1])
        return answer

    def expect_ok(self, op: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The members of a result.

        Raises:
            CheckFailed: the answer is something else.
        """
        answer = self.ask(op, args)
        if not isinstance(answer, Ok):
            raise self.wrong(answer, self.line(ok=answer_shape(op)), f"{op} is declared and its arguments make sense: answer ok")
        return answer.values

    def expect_decline(self, op: str, args: Mapping[str, Any], why: str) -> str:
        """The answer, which must be an error or ``unsupported``.

        Raises:
            CheckFailed: it is something else.
        """
        answer = self.ask(op, args)
        if isinstance(answer, Ok | Miss):
            raise self.wrong(answer, f'{{"id": {self.id}, {_DECLINE}}}, or unsupported', why)
        if isinstance(answer, Error) and answer.kind == "internal":
            return f"{op}: declined, though class internal reads like a bug in the client: {answer.message}"
        return f"{op}: {shorten(answer_members(answer))}"

    @property
    def id(self) -> str:
        """The id of the last request, or N where a client without lines was asked."""
        found = re.match(r'\{"id":\s*(\d+)', self.session.last_sent)
        return found[1] if found else "N"

    def line(self, **members: Any) -> str:
        """An answer line to the last request."""
        return f'{{"id": {self.id}, {json.dumps(members)[1:]}'

    def wrong(self, answer: Answer, expected: str, todo: str, *, what: str = "") -> CheckFailed:
        """The failure of a check because of an answer."""
        received = self.session.last_received or shorten(answer_members(answer))
        return CheckFailed(explanation(what, self.session.last_sent, received, expected, todo))

    def explained(self, failure: ClientFailure, expected: str | None = None) -> str:
        """A failure of the client itself, and less patience with it from now on."""
        if isinstance(failure, ClientHang):
            self.deadline = min(self.deadline, _AFTER_A_HANG)
        op = _operation(self.session.last_sent)
        return failure_explained(failure, self.session.last_sent, expected or expected_answer(op, self.id))


def expected_answer(op: str, number: str) -> str:
    """A good answer line of an operation of the contract; one that it lacks is unsupported."""
    shape = answer_shape(op)
    if shape == {} and op.startswith("lmconform_"):
        return f'{{"id": {number}, "unsupported": {{"reason": "..."}}}}'
    return f'{{"id": {number}, "ok": {json.dumps(shape)}}}'


def explanation(what: str, sent: str, received: str, expected: str, todo: str, *more: str) -> str:
    """The lines that explain a failed check."""
    lines = [
        *([what] if what else []),
        f"line sent:     {sent}",
        f"line received: {received or _NOTHING}",
        f"line expected: {expected}",
        *more,
        *([f"what to do:    {todo}"] if todo else []),
    ]
    return "\n".join(lines)


def failure_explained(failure: ClientFailure, sent: str, expected: str) -> str:
    """The same for a client that did not answer as the contract demands."""
    what, *details = str(failure).split("\n")
    received, more = _NOTHING, []
    for detail in details:
        name, _, text = detail.strip().partition(": ")
        if name in {"line received", "answer received"}:
            received = text
        elif name == "line received, unfinished":
            received = f"{text} (and no line feed)"
        else:
            more.append(detail.strip())
    kind = next((word for kind, word in _WORDS.items() if isinstance(failure, kind)), "no client")
    return explanation(f"{kind}: {what}", sent, received, expected, advice(failure), *more)


def _operation(sent: str) -> str:
    found = re.search(r'"op":\s*"(\w+)"', sent)
    return found[1] if found else ""
