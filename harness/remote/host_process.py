"""The program of the pinned environment that opens connectors: one for each release, with one connector at a time in it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from harness.client import ClientCrash, ClientFailure, ClientHang, ClientUnavailable
from harness.clients.scratch import leave
from harness.processes import PARENT, stat_number
from harness.supervise import LineTooLong, PipeClosed, ProcessEnded, SupervisedProcess, Tail, exit_text

INLINE: Final = 1 << 16
"""Payloads beyond so many bytes go through files."""
LONGEST_LINE: Final = 1 << 26
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
MISSING: Final = "Missing"
"""What the host raises where a module or a class cannot be imported."""
_STACKS: Final = 0.5
"""Seconds in which a connector that hangs says where, before it is killed."""
_ENDING: Final = 5.0


class ConnectorRefused(Exception):
    """lmcache could not make the connector; ``said`` is the exception."""

    def __init__(self, said: Mapping[str, str]) -> None:
        super().__init__(
            f"{said['class']}: {said['message']} (in {said['place']})" if said["class"] != MISSING else said["message"]
        )
        self.said = said

    @property
    def missing(self) -> bool:
        """There is no such class, so that nothing can be said about it."""
        return self.said["class"] == MISSING


class HostFault(Exception):
    """The host program itself failed; a fault of the harness."""


class Host:
    """A process with the real lmcache loaded, which forks another one for each connector that is opened.

    Raises:
        ClientUnavailable: it does not start.
    """

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], folder: Path, *, patience: float) -> None:
        self.folder = folder
        self.tail = Tail()
        self._child: int | None = None
        self._payloads = 0
        try:
            self._process = SupervisedProcess(
                [*command, str(folder)], stderr=self.tail, env=variables, line_limit=LONGEST_LINE, cwd=folder
            )
        except OSError as error:
            raise ClientUnavailable(f"cannot start {command[0]}: {error.strerror}") from error
        try:
            self.about: Mapping[str, Any] = self._receive("the start of the host", patience)["ready"]
        except ClientFailure as failure:
            self.stop()
            raise ClientUnavailable(f"the host of connectors does not start: {failure}", stderr=failure.stderr) from None

    @property
    def stderr(self) -> str:
        """What the connectors of this case, and lmcache, wrote to standard output and error."""
        self._process.pump_stderr()
        return _COLOURS.sub("", self.tail.text())

    @property
    def occupied(self) -> bool:
        """Whether a connector is open."""
        return self._child is not None

    def open(self, job: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
        """Open a connector; answers what it is and has.

        Raises:
            ConnectorRefused: lmcache could not make it.
            ClientFailure: it hung or died over that.
        """
        assert self._child is None
        self._send("open", job, deadline)
        began = self._answer("open", deadline)
        pid = began.get("began")
        if not isinstance(pid, int) or not self._is_ours(pid):
            raise self._no_answer("open", began)
        self._child = pid
        answer = self._answer("open", deadline)
        if "refused" in answer:
            self._child = None
            self._ended(_ENDING)
            raise ConnectorRefused(answer["refused"])
        found = answer.get("ok")
        if not isinstance(found, dict):
            raise self._no_answer("open", answer)
        return found

    def ask(self, op: str, args: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
        """One request to the open connector: ``ok``, with ``seconds`` and ``held``.

        Raises:
            ClientHang: no answer in time; it was killed.
            ClientCrash: its process or the event loop ended.
        """
        self.begin(op, args, deadline)
        return self.finish(op, deadline)

    def begin(self, op: str, args: Mapping[str, Any], deadline: float) -> None:
        """Send a request and do not wait for its answer."""
        assert self._child is not None
        self._send(op, args, deadline)

    def finish(self, op: str, deadline: float) -> Mapping[str, Any]:
        """The answer to what was begun."""
        answer = self._answer(op, deadline)
        if "loop_ended" in answer:
            self.kill()
            raise ClientCrash(
                f"{op}: {answer['loop_ended']}; every later request of the engine would wait for ever", stderr=self.stderr
            )
        if "fault" in answer:
            said = answer["fault"]
            raise HostFault(f"{op}: {said['class']}: {said['message']} (in {said['place']})")
        return answer

    def kill(self) -> None:
        """SIGKILL for the open connector, as a crash of the engine would end it."""
        if self._child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        self._child = None
        self._ended(_ENDING)

    def leave(self) -> None:
        """Let the open connector go, without closing it."""
        if self._child is None:
            return
        try:
            self._send("leave", {}, _ENDING)
            self._answer("leave", _ENDING)
            self._child = None
            self._ended(_ENDING)
        except ClientFailure:
            self.kill()

    def mark(self) -> None:
        """Begin a new stretch of standard error."""
        self._process.pump_stderr()
        self.tail.clear()

    def stop(self) -> None:
        """End the program and what it opened; never raises."""
        self._process.kill()
        self._child = None

    def left(self, data: bytes) -> dict[str, str]:
        """A payload as a request has it."""
        if len(data) <= INLINE:
            return {"hex": data.hex()}
        self._payloads += 1
        path = self.folder / f"request-{self._payloads % 64}"
        try:
            path.unlink(missing_ok=True)
            leave(self.folder, path.name, data)  # never through a link that the connector left there
        except OSError as error:
            raise self._no_answer("a payload", str(error)) from None
        return {"file": str(path)}

    def taken(self, value: Mapping[str, str]) -> bytes:
        """A payload of an answer.

        Raises:
            ClientCrash: it is none: no digits, or no regular file in the folder of this host.
        """
        try:
            return bytes.fromhex(value["hex"]) if "hex" in value else read_payload(self.folder, value["file"])
        except (OSError, TypeError, LookupError, ValueError):
            raise self._no_answer("a payload", value) from None

    def _send(self, op: str, args: Mapping[str, Any], deadline: float) -> None:
        line = json.dumps({"op": op, "args": args}, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            self._process.send(line, time.monotonic() + deadline)
        except (TimeoutError, ProcessEnded, PipeClosed) as problem:
            raise self._failure(op, problem, deadline) from None

    def _answer(self, op: str, deadline: float) -> dict[str, Any]:
        answer = self._receive(op, deadline)
        if "ended" in answer:
            self._child = None
            status = exit_text(answer["ended"])
            raise ClientCrash(f"{op}: the process of the engine ended with {status}", stderr=self.stderr)
        return answer

    def _receive(self, op: str, deadline: float) -> dict[str, Any]:
        try:
            line = self._process.receive(time.monotonic() + deadline)
        except (TimeoutError, ProcessEnded, PipeClosed, LineTooLong) as problem:
            raise self._failure(op, problem, deadline) from None
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._no_answer(op, line)
        return found

    def _is_ours(self, pid: int) -> bool:
        """Whether a process may be killed: it is one that the host made, or there is none of that number."""
        return pid > 1 and stat_number(pid, PARENT) in {None, self._process.pid}

    def _no_answer(self, op: str, came: object) -> ClientCrash:
        """The connector wrote where the host answers: nothing that comes from there can be believed any more."""
        self._process.kill()
        self._child = None
        return ClientCrash(
            f"{op}: the connector writes to descriptors that are not its own, such as the pipe to the harness "
            f"({repr(came)[:60]}); the host of connectors was killed",
            stderr=self.stderr,
        )

    def _failure(self, op: str, problem: Exception, deadline: float) -> ClientFailure:
        if isinstance(problem, TimeoutError):
            began = self._child is not None
            if began:
                self._say_where()
            failure = ClientHang(f"{op}: no answer within {deadline:g} s", stderr=self.stderr)
            if began:
                self.kill()
            else:  # the program itself hangs, which would not hear of another connector
                self.stop()
            return failure
        failure_of_all = ClientCrash(f"{op}: the host of connectors: {problem}", stderr=self.stderr)
        self.stop()  # what it says next would be the rest of this
        return failure_of_all

    def _say_where(self) -> None:
        """Let a process that hangs write the stacks of its threads to standard error."""
        assert self._child is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGUSR1)
        until = time.monotonic() + _STACKS
        with contextlib.suppress(TimeoutError, ProcessEnded, PipeClosed, LineTooLong):
            if _says_ended(self._process.receive(until)):  # it did not survive the question
                self._child = None

    def _ended(self, deadline: float) -> None:
        """Wait until the program says that the process of the connector is gone, whatever that said last."""
        until = time.monotonic() + deadline
        while True:
            try:
                if _says_ended(self._process.receive(until)):
                    return
            except (TimeoutError, ProcessEnded, PipeClosed, LineTooLong):
                self.stop()
                return

    @property
    def usable(self) -> bool:
        """Whether it may be asked for another connector."""
        return self._process.wait(time.monotonic()) is None


def read_payload(folder: Path, name: str) -> bytes:
    """The content of a file that the other side left in a folder; the file is deleted.

    Raises:
        OSError: there is no such file, or it is a link or no regular file: nothing is waited for, and nothing followed.
        ValueError: the file is not in this folder.
    """
    path = Path(name)
    if path.parent != folder or path.name in {"", ".."}:
        raise ValueError(f"{name!r} is not in {folder}")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{name!r} is no regular file")
        data = file.read()
    path.unlink()
    return data


def _says_ended(line: bytes) -> bool:
    """Whether a line says that the process of the connector is gone; the line that it was about to write says nothing."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "ended" in found
