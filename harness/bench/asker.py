"""Asks the client, times it, and tells three ends apart: it cannot, it failed, and it answered wrongly."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from harness.bench.place import Place
from harness.client import ClientFailure, Error, Miss, Ok, Unsupported
from harness.clients.session import ClientSession
from wire.release import Release

NOTHING: Final = "lmconform_bench_nothing"
"""An operation that no client has."""


class MeasureEnded(Exception):
    """A measure cannot go on; the message says why."""

    def __init__(self, state: Literal["unsupported", "failed"], why: str) -> None:
        super().__init__(why)
        self.state = state


class WrongAnswer(Exception):
    """The client answered what is not so, and how fast it does that is of no interest; the message says what was wrong."""


@dataclass(frozen=True)
class Asked:
    """A result and the nanoseconds that it took: of the client itself if it says so, and as a whole."""

    values: Mapping[str, Any]
    own: int | None
    whole: int


class Asker:
    """One client on one server."""

    _numbers = itertools.count(1)

    def __init__(self, session: ClientSession, place: Place, release: Release, deadline: float) -> None:
        self._session = session
        self._place = place
        self.release = release
        self._deadline = deadline

    def declares(self, op: str) -> bool:
        """Whether the client has an operation."""
        return op in self._session.description.operations

    def ask(self, op: str, **args: Any) -> Asked:
        """One operation.

        Raises:
            MeasureEnded: there is no result.
            WrongAnswer: what should be there was missed, or took longer than from question to answer.
        """
        began = time.perf_counter_ns()
        try:
            answer = self._session.call(op, args, deadline=self._deadline)
        except ClientFailure as failure:
            raise MeasureEnded("failed", str(failure).partition("\n")[0]) from None
        whole = time.perf_counter_ns() - began
        if isinstance(answer, Unsupported):
            raise MeasureEnded("unsupported", f"{op}: {answer.reason}")
        if isinstance(answer, Error):
            raise MeasureEnded("failed", f"{op}: error {answer.kind}: {answer.message}")
        if isinstance(answer, Miss):
            raise WrongAnswer(f"{op}: expected the value that was stored, got a miss")
        assert isinstance(answer, Ok)
        if answer.took_ns is not None and answer.took_ns > whole:
            raise WrongAnswer(
                f"{op}: took_ns: expected nanoseconds around the call of the client, got {answer.took_ns}; "
                f"from question to answer it took {whole}"
            )
        return Asked(answer.values, answer.took_ns, whole)

    def nothing(self) -> int | None:
        """Nanoseconds of a call that does nothing; None where it was not answered."""
        began = time.perf_counter_ns()
        try:
            self._session.call_undeclared(NOTHING, {}, deadline=self._deadline)
        except ClientFailure:
            return None
        return time.perf_counter_ns() - began

    @contextlib.contextmanager
    def connected(self) -> Iterator[str]:
        """A connection of the client for one turn; its name."""
        name = f"bench-{next(self._numbers)}"
        where = {"protocol": "lm", "host": self._place.host, "port": self._place.port}
        self.ask("connect", connection=name, **where, release=self.release.text, timeout_ms=round(self._deadline * 1000))
        starts = self._session.starts
        try:
            yield name
        finally:
            if self._session.starts == starts:
                with contextlib.suppress(ClientFailure):
                    self._session.call("close", {"connection": name}, deadline=self._deadline)
