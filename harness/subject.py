"""The client under test as a case sees it: calls with the release filled in, connections that are closed afterwards."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from harness.case import CaseSpec, Cell
from harness.client import ALWAYS, CONCURRENT, MP_PURE, PURE, Answer, Budget, Call, ClientFailure, Error, Ok, Session
from harness.failure import CaseEnded, UnsupportedByClient
from harness.judge import Judge, in_words
from harness.mp.targets import MpTarget, seen_last
from harness.targets import Server

DEFAULT_TIMEOUT_MS: Final = 5000
GRACE: Final = 5.0
"""Seconds that a client may overrun its own time limit before the harness calls it a hang."""
SLACK: Final = 3.0
"""Seconds that a client may overrun the timeout of a connection before that is a failure; machines are slow at times."""


class Subject:
    """One client for the length of one case."""

    _names = itertools.count(1)

    def __init__(self, session: Session, cell: Cell, judge: Judge, budget: Budget) -> None:
        self._session = session
        self._release = str(cell.release)
        self._judge = judge
        self._budget = budget
        self._open: dict[str, int] = {}
        self._servers: dict[str, Server | MpTarget] = {}
        self.took = 0.0
        """Seconds that the last operation took."""

    def call(self, op: str, **args: Any) -> Answer:
        """One operation and its answer, whatever it is."""
        call = self._completed(Call(op, args))
        limit = self._limit(call)
        began = time.monotonic()
        with _past_hypothesis():
            answer = self._session.call(op, call.args, deadline=self._deadline(limit))
        self.took = time.monotonic() - began
        if limit and not isinstance(answer, Ok) and self.took > limit + SLACK:
            self._judge.fail(
                f"{op} gave up after {self.took:.1f} s; the timeout of the connection is {limit:g} s",
                cite="MP-CONN-001" if isinstance(self._servers.get(_name(call)), MpTarget) else "LM-CONN-001",
                client_answered=in_words(answer),
            )
        return answer

    def call_all(self, calls: Sequence[Call]) -> Sequence[Answer]:
        """Several operations at once and their answers in the order of the calls; the case needs ``CONCURRENT``."""
        completed = [self._completed(call) for call in calls]
        deadline = self._deadline(max(map(self._limit, completed), default=0))
        began = time.monotonic()
        with _past_hypothesis():
            answers = self._session.call_all(completed, deadline=deadline)
        self.took = time.monotonic() - began
        return answers

    def ok_all(self, calls: Sequence[Call]) -> Sequence[Mapping[str, Any]]:
        """Several operations at once that must all succeed; the members of their results."""
        return [
            self._judge.ok(f"{call.op} ({number} of {len(calls)} at once)", answer, **self._last_words(_name(call), answer))
            for number, (call, answer) in enumerate(zip(calls, self.call_all(calls), strict=True), start=1)
        ]

    def _completed(self, call: Call) -> Call:
        if call.op not in {*PURE, *MP_PURE} and call.op != "connect":
            return call
        if call.op == "connect":
            self._open[call.args["connection"]] = call.args["timeout_ms"]
        return Call(call.op, {**call.args, "release": self._release})

    def _limit(self, call: Call) -> float:
        """The timeout of the connection of a call, in seconds; 0 where it has none."""
        return self._open.get(_name(call), 0) / 1000

    def _deadline(self, limit: float) -> float:
        return max(self._budget.call, limit + GRACE if limit else 0)

    def needs(self, op: str) -> None:
        """Leave the case unless the client declares an operation that only some of its variants need.

        Raises:
            UnsupportedByClient: it does not.
        """
        if op not in self._session.description.operations:
            raise UnsupportedByClient(op, "not declared")

    def state(self, member: str) -> int:
        """A number that the client tells of itself.

        Raises:
            UnsupportedByClient: it does not tell it.
        """
        values = self.ok("state")
        if member not in values:
            raise UnsupportedByClient("state", f"it does not tell {member}")
        return int(values[member])

    @property
    def exit_status(self) -> int | None:
        """What the process ended with after ``bye``: 0 for a client without one, None for a client that had to be killed."""
        return self._session.exit_status if self._session.has_process else 0

    def ok(self, op: str, **args: Any) -> Mapping[str, Any]:
        """One operation that must succeed; the members of its result."""
        answer = self.call(op, **args)
        return self._judge.ok(op, answer, **self._last_words(args.get("connection", ""), answer))

    def connect(self, server: Server | MpTarget, *, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> str:
        """Open a connection to the target; its name."""
        name = self.new_connection()
        self._servers[name] = server
        self.ok("connect", connection=name, protocol=server.protocol, host=server.host, port=server.port, timeout_ms=timeout_ms)
        return name

    def _last_words(self, connection: str, answer: Answer) -> dict[str, Any]:
        """What the mock says about the connection that it ended last, where the client says that one broke."""
        server = self._servers.get(connection)
        if isinstance(server, MpTarget):
            return {} if isinstance(answer, Ok) else seen_last(server)
        if not isinstance(server, Server) or server.mock is None or not isinstance(answer, Error) or answer.kind != "connection":
            return {}
        ended = [record for record in server.journal.connections() if record.ending is not None]
        return {"exchange": f"the mock ended connection {ended[-1].number}: {ended[-1].ending}"} if ended else {}

    def new_connection(self) -> str:
        """A name that no connection has."""
        return f"c{next(self._names)}"

    def release_connections(self) -> None:
        """Close what the case opened; whatever goes wrong here belongs to no case."""
        for name in self._open:
            with contextlib.suppress(ClientFailure):
                self._session.call("close", {"connection": name}, deadline=self._budget.call)
        self._open.clear()


@contextlib.contextmanager
def _past_hypothesis() -> Iterator[None]:
    """Inside an example of a property, let a failure of the client end the whole case."""
    try:
        yield
    except ClientFailure as failure:
        hypothesis = sys.modules.get("hypothesis")
        if hypothesis is not None and hypothesis.currently_in_test_context():
            raise CaseEnded(failure) from None
        raise


def require(session: Session, cell: Cell, spec: CaseSpec) -> None:
    """The client declares the release and every operation that the case needs.

    Raises:
        UnsupportedByClient: it does not.
    """
    declared = session.description
    if "*" not in declared.releases and str(cell.release) not in declared.releases:
        raise UnsupportedByClient(None, f"the client does not declare lmcache {cell.release}")
    for op in spec.needs:
        if op not in {*ALWAYS, *declared.operations, *([CONCURRENT] if declared.concurrent else [])}:
            raise UnsupportedByClient(op, "not declared")


def _name(call: Call) -> str:
    """The connection of a call, empty where it has none."""
    return str(call.args.get("connection", ""))
