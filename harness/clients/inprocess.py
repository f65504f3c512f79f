"""A client that is a Python class of this process; each call runs in a worker thread that can be abandoned."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from harness.client import (
    AdapterFault,
    Answer,
    Budget,
    Call,
    ClientCrash,
    ClientFailure,
    ClientHang,
    ClientUnavailable,
    Miss,
    Ok,
)
from harness.clients import blackbox
from harness.clients.answers import answer_members, check_miss
from harness.clients.contract import ContractViolation, check_python
from harness.clients.dispatch import Factory, describe, perform
from harness.clients.flight import Flight, fly_in_threads
from harness.clients.scratch import Scratch
from harness.clients.session import ClientSession

T = TypeVar("T")
SLICE: Final = 0.5
"""Seconds of one wait for a client."""
STARTING: Final = "starting"
"""What the client does before ``hello``: it is imported and made."""
_Outcome = tuple[object, BaseException | None]


class InProcessSession(ClientSession):
    """A session over instances of a class, which are made afresh after a hang, a crash or a broken answer."""

    def __init__(self, factory: Factory, *, budget: Budget | None = None, scratch_parent: Path | None = None) -> None:
        super().__init__(budget or Budget())
        self._factory = factory
        self._scratch = Scratch(scratch_parent)
        self._worker: _Worker | None = None
        self._client: object = None
        self._stopped = False
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    @property
    def stderr(self) -> str:
        """Empty: what the client writes goes where everything of this process goes."""
        return ""

    def mark(self) -> None:
        """Nothing to do."""

    def stop(self) -> None:
        """Call ``bye`` if the class has it, and let go of the instance."""
        self._stopped = True
        if self._worker is not None:
            with contextlib.suppress(ClientFailure):
                self._run("bye", lambda: perform(self._client, "bye", {}), self.budget.stop)
            self._discard()
        self._scratch.remove()

    def _start(self) -> None:
        self._worker = _Worker()
        self.starts += 1
        until = time.monotonic() + self.budget.start
        self._client = self._run(STARTING, self._make, self.budget.start)
        self._introduce(self._ask("hello", self._hello(str(self._scratch.path)), until - time.monotonic()))

    def _make(self) -> object:
        try:
            return self._factory()
        except Exception as error:
            raise ClientUnavailable(f"cannot make the client: {describe(error)}") from error

    def _exchange(self, op: str, args: Mapping[str, Any], deadline: float) -> Answer:
        if self._stopped:
            raise ClientUnavailable("the session was stopped")
        if self._worker is None:
            self._start_again()
        answer = self._ask(op, args, deadline)
        if op == "bye" and isinstance(answer, Ok):
            self._discard()
        return answer

    def _exchange_all(self, calls: Sequence[Call], deadline: float) -> Sequence[Answer]:
        if self._stopped:
            raise ClientUnavailable("the session was stopped")
        if self._worker is None:
            self._start_again()
        asked = [{"op": call.op, "args": call.args} for call in calls]
        self._note(asked)
        flight, client = Flight(calls), self._client
        blackbox.note(flight.missing())
        try:
            ended = fly_in_threads(flight, lambda call: perform(client, call.op, call.args), calls, time.monotonic() + deadline)
        except TimeoutError:
            self._discard()
            raise ClientHang(f"{flight.missing()}: no answer within {deadline:g} s") from None
        except BaseException:
            self._discard()
            raise
        blackbox.note("")
        if ended is not None:
            self._discard()
            raise ClientCrash(f"{flight.missing()}: the client ended its process: {describe(ended)}") from ended
        return [self._checked(call.op, answer, asked) for call, answer in zip(calls, flight.answers(), strict=True)]

    def _ask(self, op: str, args: Mapping[str, Any], deadline: float) -> Answer:
        asked = {"op": op, "args": args}
        self._note(asked)
        answer = self._run(op, lambda: perform(self._client, op, args), deadline)
        return self._checked(op, answer, asked)

    def _checked(self, op: str, answer: Answer, asked: object) -> Answer:
        self._note(asked, {"ok": answer.values} if isinstance(answer, Ok) else answer_members(answer))
        try:
            if isinstance(answer, Miss):
                check_miss(op)
            return Ok(check_python(op, "ok", answer.values), answer.took_ns) if isinstance(answer, Ok) else answer
        except ContractViolation as violation:
            self._discard()
            raise AdapterFault(f"{op}: {violation}\n  answer received: {self.last_received}") from None

    def _run(self, what: str, work: Callable[[], T], deadline: float) -> T:
        assert self._worker is not None
        blackbox.note(what)
        try:
            result, error = self._worker.run(work, deadline)
            blackbox.note("")
        except queue.Empty:
            self._discard()
            raise ClientHang(f"{what}: no answer within {deadline:g} s") from None
        except BaseException:
            self._discard()
            raise
        if error is not None:
            self._discard()
            if isinstance(error, ClientUnavailable):
                raise error
            raise ClientCrash(f"{what}: the client ended its process: {describe(error)}") from error
        return result  # type: ignore[return-value]  # what this very piece of work returned

    def _discard(self) -> None:
        if self._worker is not None:
            self._worker.dismiss()
        self._worker = None
        self._client = None


class _Worker:
    """A daemon thread that does one piece of work after the other, until it is dismissed."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[_Outcome] = queue.SimpleQueue()
        threading.Thread(target=self._loop, name="lmconform-client", daemon=True).start()

    def run(self, work: Callable[[], object], deadline: float) -> _Outcome:
        """What the work returned or raised; ``queue.Empty`` when it takes longer, and then the worker must be dismissed."""
        self._work.put(work)
        until = time.monotonic() + max(deadline, 0)
        while True:
            left = until - time.monotonic()
            try:
                # In slices: a signal that arrives just before a wait is seen only after it.
                return self._outcomes.get(timeout=max(0.0, min(left, SLICE)))
            except queue.Empty:
                if left <= SLICE:
                    raise

    def dismiss(self) -> None:
        """End the thread as soon as it is free; nobody waits for it."""
        self._work.put(None)

    def _loop(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                self._outcomes.put((work(), None))
            except BaseException as error:  # noqa: BLE001  # handed to the caller, SystemExit included
                self._outcomes.put((None, error))
