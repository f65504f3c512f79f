"""What every running client has in common, whatever the transport."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from harness.client import (
    ALWAYS,
    CONCURRENT,
    PROTOCOL_VERSION,
    AdapterFault,
    Answer,
    Budget,
    Call,
    ClientFailure,
    Description,
    HelloDeclined,
    Ok,
    Unsupported,
)
from harness.clients.contract import check_python, shorten
from harness.patience import START, Patience


class ClientSession(ABC):
    """A :class:`harness.client.Session` with what smoke tests and reports need besides."""

    description: Description
    has_process: ClassVar[bool] = False
    """The client runs in a process of its own, which ``bye`` ends."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.patience = Patience(budget.call, budget.start)
        self.starts = 0
        """How often a client was started; a step means that connections and other state of the one before are gone."""
        self.leftovers = 0
        """Files that the client received and did not delete."""
        self.protocol = PROTOCOL_VERSION
        """The version of the contract that ``hello`` asks for."""
        self._sent: object = None
        self._received: object = None
        self.exit_status: int | None = None
        """What the process ended with after ``bye``; None while it runs, when it had to be killed, or without process."""

    def call(self, op: str, args: Mapping[str, Any], *, deadline: float) -> Answer:
        """One operation; ``deadline`` in seconds. What the client did not declare is ``Unsupported`` and never sent.

        Raises:
            ContractViolation: the harness itself gave arguments that do not fit the schema.
            ClientHang, ClientCrash, ClientTooLarge, AdapterFault: after which the next call starts a fresh client.
            NotAsked: the client failed at this operation too often before.
        """
        if op not in ALWAYS and op not in self.description.operations:
            return Unsupported("not declared")
        self.patience.require((op,))
        began = time.monotonic()
        try:
            answer = self._exchange(op, check_python(op, "args", args), deadline)
        except ClientFailure as failure:
            self._failed(op, failure, began)
            raise
        self.patience.answered(op)
        return answer

    def require(self, operations: Iterable[str]) -> None:
        """Find out before a case begins whether all of its operations may still be asked for.

        Raises:
            NotAsked: one of them failed too often before.
        """
        self.patience.require(operations)

    def call_all(self, calls: Sequence[Call], *, deadline: float) -> Sequence[Answer]:
        """Several operations under way at once, up to ``IN_FLIGHT``; the answers in the order of the calls.

        A client that does not declare ``concurrent`` is asked for one after the other, each with the whole deadline.

        Raises:
            ContractViolation: the harness itself gave arguments that do not fit the schema.
            ClientHang, ClientCrash, ClientTooLarge, AdapterFault: after which the next call starts a fresh client.
            NotAsked: the client failed too often at the same operations together.
        """
        if not self.description.concurrent:
            return [self.call(call.op, call.args, deadline=deadline) for call in calls]
        answers: list[Answer] = [Unsupported("not declared")] * len(calls)
        declared = [number for number, call in enumerate(calls) if call.op in {*ALWAYS, *self.description.operations}]
        asked = [Call(calls[number].op, check_python(calls[number].op, "args", calls[number].args)) for number in declared]
        if asked:
            self.patience.require((*(call.op for call in asked), CONCURRENT))
            began = time.monotonic()
            try:
                found = self._exchange_all(asked, deadline)
            except ClientFailure as failure:
                self._failed(CONCURRENT, failure, began)
                raise
            self.patience.answered(CONCURRENT)
            for number, answer in zip(declared, found, strict=True):
                answers[number] = answer
        return answers

    def call_undeclared(self, op: str, args: Mapping[str, Any], *, deadline: float) -> Answer:
        """The same, but neither the declaration nor the schema of the arguments stands in the way."""
        return self._exchange(op, args, deadline)

    @property
    def last_sent(self) -> str:
        """The last request, shortened."""
        return "" if self._sent is None else shorten(self._sent)

    @property
    def last_received(self) -> str:
        """The answer to it, shortened; empty when there was none."""
        return "" if self._received is None else shorten(self._received) or "(an empty line)"

    @property
    @abstractmethod
    def stderr(self) -> str:
        """The end of what the client wrote to standard error since :meth:`mark`."""

    @abstractmethod
    def mark(self) -> None:
        """Begin a new stretch of standard error."""

    @abstractmethod
    def stop(self) -> None:
        """End the client; never raises, never waits longer than a few seconds."""

    @abstractmethod
    def _start(self) -> None: ...

    def _start_again(self) -> None:
        began = time.monotonic()
        try:
            self._start()
        except ClientFailure as failure:
            failure.at_start = True
            raise
        self.patience.answered(START)
        self.patience.lost(time.monotonic() - began)

    @abstractmethod
    def _exchange(self, op: str, args: Mapping[str, Any], deadline: float) -> Answer: ...

    @abstractmethod
    def _exchange_all(self, calls: Sequence[Call], deadline: float) -> Sequence[Answer]: ...

    def _failed(self, what: str, failure: ClientFailure, began: float) -> None:
        """Count a failure of the client at an operation, or at several together; after too many no more is asked."""
        self.patience.failed(START if failure.at_start else what, failure, time.monotonic() - began)

    def start_afresh(self) -> None:
        """End the client, if it runs, and start another one.

        Raises:
            ClientFailure: it does not start, or fails at ``hello``; then the next call starts one.
        """
        self._discard()
        self._start_again()

    @abstractmethod
    def _discard(self) -> None: ...

    def _hello(self, scratch: str) -> dict[str, Any]:
        return {"protocol": self.protocol, "scratch": scratch}

    def _introduce(self, answer: Answer) -> None:
        """Take the answer to ``hello``."""
        if not isinstance(answer, Ok):
            raise HelloDeclined(
                f"hello must be answered ok, with name, version, language, operations and releases; got {answer}\n"
                f"  line received: {self.last_received}",
                answer,
                stderr=self.stderr,
            )
        values = answer.values
        speaks = values.get("protocol", 1)
        if speaks > self.protocol:
            raise AdapterFault(
                f"hello: protocol: expected at most {self.protocol}, which was asked for, got {speaks}\n"
                f"  line received: {self.last_received}",
                stderr=self.stderr,
            )
        self.description = Description(
            name=values["name"],
            version=values["version"],
            language=values["language"],
            operations=tuple(values["operations"]),
            releases=tuple(values["releases"]),
            issues=values.get("issues"),
            concurrent=values.get("concurrent", False),
            protocol=speaks,
        )

    def _note(self, sent: object, received: object = None) -> None:
        self._sent = sent
        self._received = received
