"""A client that is a program: JSON Lines over its standard streams."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness.client import (
    AdapterFault,
    Answer,
    Budget,
    Call,
    ClientCrash,
    ClientFailure,
    ClientHang,
    ClientTooLarge,
    ClientUnavailable,
    Ok,
)
from harness.clients.answers import read_answer, read_one_answer
from harness.clients.contract import LINE_LIMIT, ContractViolation, shorten
from harness.clients.flight import Flight, fly
from harness.clients.payloads import ENCODER, members_text
from harness.clients.scratch import Scratch, ScratchLost
from harness.clients.session import ClientSession
from harness.limits import LimitRefused
from harness.supervise import LineTooLong, PipeClosed, ProcessEnded, SupervisedProcess, Tail, TooMuchMemory

Listener = Callable[[Literal["->", "<-"], bytes], None]
"""Hears each line of a conversation: to the client, and from it."""


@functools.lru_cache(maxsize=256)
def _quoted(op: str) -> str:
    return ENCODER.encode(op)


def _deaf(direction: Literal["->", "<-"], line: bytes) -> None:
    del direction, line


class StdioSession(ClientSession):
    """A session over an adapter program, started again by the next call after it hung, died or broke the contract."""

    has_process: ClassVar[bool] = True

    def __init__(
        self,
        command: Sequence[str],
        *,
        budget: Budget | None = None,
        scratch_parent: Path | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        listen: Listener | None = None,
    ) -> None:
        super().__init__(budget or Budget())
        self._listen: Listener = listen or _deaf
        self._command = tuple(command)
        self._cwd = cwd or Path.cwd()
        self._env = env
        self._scratch = Scratch(scratch_parent)
        self._tail = Tail()
        self._process: SupervisedProcess | None = None
        self._last_id = 0
        self._stopped = False
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    @property
    def stderr(self) -> str:
        """The end of what the adapter wrote to standard error since :meth:`mark`."""
        if self._process is not None:
            self._process.pump_stderr()
        return self._tail.text()

    @property
    def pid(self) -> int | None:
        """The number of the process that was started, while it runs."""
        return self._process.pid if self._process is not None else None

    def mark(self) -> None:
        """Begin a new stretch of standard error."""
        if self._process is not None:
            self._process.pump_stderr()
        self._tail.clear()

    def stop(self) -> None:
        """Say ``bye``, wait a moment, then end the process group and remove the scratch directory."""
        self._stopped = True
        if self._process is not None:
            with suppress(ClientFailure):
                self._ask("bye", {}, self.budget.stop / 2)
            self._finish()
        self._scratch.remove()

    def _launch(self) -> SupervisedProcess:
        """The adapter, just started.

        Raises:
            ClientUnavailable: it cannot be.
        """
        try:
            return SupervisedProcess(
                self._command,
                stderr=self._tail,
                cwd=self._cwd,
                env=self._env,
                line_limit=LINE_LIMIT,
                memory_limit=self.budget.memory,
                files=self._scratch.size,
                limits=self.budget.limits,
            )
        except OSError as error:
            raise ClientUnavailable(f"cannot start {self._command[0]}: {error.strerror}") from error
        except LimitRefused as refused:
            raise ClientUnavailable(f"cannot start {self._command[0]} with these limits: {refused}") from None

    def _start(self) -> None:
        self._process = self._launch()
        self.starts += 1
        self.exit_status = None
        answer = self._ask("hello", self._hello(str(self._scratch.path)), self.budget.start)
        try:
            self._introduce(answer)
        except AdapterFault:
            self._discard()
            raise

    def _exchange(self, op: str, args: Mapping[str, Any], deadline: float) -> Answer:
        if self._stopped:
            raise ClientUnavailable("the session was stopped")
        if self._process is None:
            self._start_again()
        answer = self._ask(op, args, deadline)
        if op == "bye" and isinstance(answer, Ok):
            self._finish()
            self._look_after_the_end(op)
        return answer

    def _exchange_all(self, calls: Sequence[Call], deadline: float) -> Sequence[Answer]:
        if self._stopped:
            raise ClientUnavailable("the session was stopped")
        if self._process is None:
            self._start_again()
        process = self._process
        assert process is not None
        files: list[str] = []
        flight = Flight(calls, first=self._last_id + 1)
        try:
            lines = [self._request(call.op, call.args, deadline, files) for call in calls]
        except ScratchLost as problem:
            raise self._failure(flight.missing(), problem, deadline) from None
        self._note(b"".join(lines))
        for line in lines:
            self._listen("->", line)
        try:
            self._refuse_unasked(process, before=flight.missing())
            fly(process, lines, flight, self._read_one, time.monotonic() + deadline)
            self._refuse_unasked(process, before="the next request")
            self._scratch.require_in_place()
        except (ContractViolation, TimeoutError, TooMuchMemory, ProcessEnded, PipeClosed, LineTooLong) as problem:
            raise self._failure(flight.missing(), problem, deadline) from None
        except BaseException:
            self._discard()
            raise
        self.leftovers += self._scratch.sweep(files)
        return flight.answers()

    def _read_one(self, line: bytes, waiting: Mapping[int, str]) -> tuple[int, Answer]:
        self._note(self._sent, line)
        self._listen("<-", line)
        return read_one_answer(line, waiting, scratch=self._scratch.path)

    def _ask(self, op: str, args: Mapping[str, Any], deadline: float) -> Answer:
        assert self._process is not None
        until = time.monotonic() + deadline
        files: list[str] = []
        try:
            line = self._request(op, args, deadline, files)
        except ScratchLost as problem:
            raise self._failure(op, problem, deadline) from None
        self._note(line)
        self._listen("->", line)
        try:
            self._refuse_unasked(self._process, before=op)
            self._process.send(line, until)
            received = self._process.receive(until)
            self._note(line, received)
            self._listen("<-", received)
            answer = read_answer(received, request_id=self._last_id, op=op, scratch=self._scratch.path)
            self._refuse_unasked(self._process, before="the next request")
            self._scratch.require_in_place()
        except (ContractViolation, TimeoutError, TooMuchMemory, ProcessEnded, PipeClosed, LineTooLong) as problem:
            raise self._failure(op, problem, deadline) from None
        except BaseException:
            # Interrupted in the middle: the answer may still come, and must not be taken for the next one.
            self._discard()
            raise
        self.leftovers += self._scratch.sweep(files)
        return answer

    def _request(self, op: str, args: Mapping[str, Any], deadline: float, files: list[str]) -> bytes:
        def leave(data: bytes) -> str:
            files.append(self._scratch.leave(data))
            return files[-1]

        self._last_id += 1
        members = members_text(args, leave)
        milliseconds = max(1, round(deadline * 1000))
        line = f'{{"id":{self._last_id},"op":{_quoted(op)},"args":{members},"deadline_ms":{milliseconds}}}\n'.encode("ascii")
        if len(line) > LINE_LIMIT:
            self._scratch.sweep(files)
            raise ContractViolation("the line", f"at most {LINE_LIMIT} bytes", f"{len(line)} bytes for {op}")
        return line

    def _refuse_unasked(self, process: SupervisedProcess, *, before: str) -> None:
        unasked = process.unread()
        if unasked:
            self._note(self._sent, unasked)
            raise ContractViolation("the output", f"one line for each request, and nothing before {before}")

    def _failure(self, op: str, problem: Exception, deadline: float) -> ClientFailure:
        process = self._process
        assert process is not None
        unfinished = process.unread() if isinstance(problem, TimeoutError | ProcessEnded | PipeClosed) else b""
        self._discard()
        partial = f"\n  line received, unfinished: {shorten(unfinished)}" if unfinished else ""
        stderr = self._tail.text()
        last_words = stderr.strip().rpartition("\n")[2]
        said = f"\n  last line on standard error: {shorten(last_words)}" if last_words else ""
        if isinstance(problem, TimeoutError):
            return ClientHang(f"{op}: no answer within {deadline:g} s{partial}{said}", stderr=stderr)
        if isinstance(problem, TooMuchMemory):
            return ClientTooLarge(
                f"{op}: the client {problem} and was killed; --client-memory sets the limit{said}", stderr=stderr
            )
        if isinstance(problem, ProcessEnded):
            return ClientCrash(f"{op}: the process ended with {problem}{partial}{said}", stderr=stderr)
        if isinstance(problem, PipeClosed):
            text = f"{op}: the process closed its {problem} and runs on{partial}{said}"
            return AdapterFault(text, stderr=stderr) if "input" in str(problem) else ClientCrash(text, stderr=stderr)
        if isinstance(problem, LineTooLong):
            self._note(self._sent, problem.head)
        received = f"\n  line received: {self.last_received}" if self.last_received else ""
        return AdapterFault(f"{op}: {problem}{received}", stderr=stderr)

    def _finish(self) -> None:
        """Let the process end by itself for a moment."""
        if self._process is not None:
            self.exit_status = self._process.end(time.monotonic() + self.budget.stop / 2)
        self._process = None

    def _look_after_the_end(self, op: str) -> None:
        try:
            self._scratch.require_in_place()
        except ScratchLost as problem:
            self._scratch.empty()
            raise AdapterFault(f"{op}: {problem}", stderr=self._tail.text()) from None

    def _discard(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._process = None
        self._scratch.empty()
