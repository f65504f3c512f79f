"""Several requests under way at once: who waits for which answer, and how lines go out and come in without a deadlock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Final

from harness.client import IN_FLIGHT, Answer, Call
from harness.supervise import SupervisedProcess

_NAMED: Final = 3
"""Operations without an answer that a message names; of more it gives the number."""
_SLICE: Final = 0.5
"""Seconds of one wait: a signal that arrives just before a wait is seen only after it."""

ReadOne = Callable[[bytes, Mapping[int, str]], tuple[int, Answer]]
"""Reads a line that answers one of the requests that wait, operations by id."""


class Flight:
    """Calls and the answers that came, in whatever order. Every call has a number; :meth:`number_from` chooses the first."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._first = 0
        self._answers: dict[int, Answer] = {}

    def number_from(self, first: int) -> None:
        """The number of the first call; the others follow it."""
        self._first = first

    def waiting(self, sent: int | None = None) -> dict[int, str]:
        """The operations without an answer by number, among the first ``sent`` calls."""
        numbered = enumerate(self._calls[:sent], start=self._first)
        return {number: call.op for number, call in numbered if number not in self._answers}

    def answered(self, number: int, answer: Answer) -> None:
        """Take the answer to a call."""
        self._answers[number] = answer

    def missing(self) -> str:
        """The calls without an answer, in words."""
        found = [f"{op} ({number - self._first + 1} of {len(self._calls)})" for number, op in self.waiting().items()]
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        return (", ".join(found[:_NAMED]) + more) or "after the last answer"

    def answers(self) -> list[Answer]:
        """All answers, in the order of the calls."""
        return [self._answers[number] for number in sorted(self._answers)]


def fly(process: SupervisedProcess, lines: Sequence[bytes], flight: Flight, read_one: ReadOne, until: float) -> None:
    """Write all lines and read an answer to each, whatever their order; ``until`` is a moment of ``time.monotonic``.

    No more than ``IN_FLIGHT`` requests wait at a time. Answers are taken between lines, and the process takes what comes while
    it writes one, so that a client which answers before it reads on does not stop both.

    Raises:
        TimeoutError, ProcessEnded, PipeClosed, LineTooLong: as the process does.
        ContractViolation: as ``read_one`` does.
    """
    for sent, line in enumerate(lines):
        while len(flight.waiting(sent)) >= IN_FLIGHT:
            flight.answered(*read_one(process.receive(until), flight.waiting(sent)))
        process.send(line, until)
        while b"\n" in process.unread():
            flight.answered(*read_one(process.receive(until), flight.waiting(sent + 1)))
    while waiting := flight.waiting():
        flight.answered(*read_one(process.receive(until), waiting))


def fly_in_threads(
    flight: Flight, perform: Callable[[Call], Answer], calls: Sequence[Call], until: float
) -> BaseException | None:
    """Ask for all calls at once, each in a daemon thread of its own that nobody waits for after ``until``.

    Returns:
        What ended a call that must not be ended so (``SystemExit`` and the like), or None when all have their answer.

    Raises:
        TimeoutError: some have none at that moment.
    """
    outcomes: SimpleQueue[tuple[int, Answer | BaseException]] = SimpleQueue()

    def run(number: int, call: Call) -> None:
        try:
            outcomes.put((number, perform(call)))
        except BaseException as error:  # noqa: BLE001  # handed to the caller, SystemExit included
            outcomes.put((number, error))

    begun = 0
    while waiting := flight.waiting():
        while begun < len(calls) and len(flight.waiting(begun)) < IN_FLIGHT:
            threading.Thread(target=run, args=(begun, calls[begun]), name="lmconform-client", daemon=True).start()
            begun += 1
        left = until - time.monotonic()
        try:
            number, outcome = outcomes.get(timeout=max(0.0, min(left, _SLICE)))
        except Empty:
            if left <= _SLICE:
                raise TimeoutError(f"{len(waiting)} calls have no answer") from None
            continue
        if isinstance(outcome, BaseException):
            return outcome
        flight.answered(number, outcome)
    return None
