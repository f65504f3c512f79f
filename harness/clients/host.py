"""Serves a Python client class over standard streams: ``python -m harness.clients.host package.module:Class``.

So a Python client can be judged in a process of its own: ``stdio:python -m harness.clients.host mine:Client``. With ``--timed``
in front of the class each result says how long the class itself took for it.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

from harness.client import Answer, ClientUnavailable, Error, Ok
from harness.clients.answers import answer_members
from harness.clients.contract import LINE_LIMIT, ContractViolation
from harness.clients.dispatch import load_factory, perform
from harness.clients.payloads import from_json, to_json
from harness.clients.scratch import leave

TIMED: Final = "--timed"
UNAVAILABLE: Final = 69
"""Exit status where the client cannot be made: the service is unavailable, in the words of sysexits.h."""


def main(arguments: list[str]) -> int:
    """The program."""
    timed = arguments[:1] == [TIMED]
    places = arguments[timed:]
    if len(places) != 1:
        print(f"usage: python -m harness.clients.host [{TIMED}] package.module:Class", file=sys.stderr)
        return 2
    # What the client prints must not end up between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        client = load_factory(places[0])()
    except ClientUnavailable as error:
        print(error, file=sys.stderr)
        return UNAVAILABLE
    return Host(client, timed=timed).serve(sys.stdin.buffer, answers)


class Host:
    """One client object that answers request lines: one after the other, or in threads once it declared ``concurrent``."""

    def __init__(self, client: object, *, timed: bool = False) -> None:
        self._client = client
        self._timed = timed
        self._scratch = Path.cwd()
        self._files = itertools.count(1)
        self._concurrent = False
        self._writing = threading.Lock()

    def serve(self, requests: IO[bytes], answers: IO[bytes]) -> int:
        """Answer until ``bye`` or the end of input; the exit status."""
        while line := requests.readline(LINE_LIMIT + 1):
            request = self.read(line)
            if self._concurrent and request["op"] not in {"hello", "bye"}:
                threading.Thread(target=self._serve_beside, args=(request, answers), daemon=True).start()
                continue
            self.serve_one(request, answers)
            if request["op"] == "bye":
                return 0
        return 0

    def read(self, line: bytes) -> dict[str, Any]:
        """The request of a line."""
        request: dict[str, Any] = json.loads(line)
        return request

    def serve_one(self, request: dict[str, Any], answers: IO[bytes]) -> None:
        """Answer a request."""
        op = request["op"]
        answer = self.answer(op, request.get("args", {}))
        if op == "hello" and isinstance(answer, Ok) and isinstance(answer.values, Mapping):
            self._concurrent = answer.values.get("concurrent") is True
        data = self._line(request["id"], answer)
        with self._writing:
            answers.write(data)
            answers.flush()

    def _serve_beside(self, request: dict[str, Any], answers: IO[bytes]) -> None:
        """Serve in a thread; what would end the process in its main thread ends it here too."""
        try:
            self.serve_one(request, answers)
        except BaseException as ended:  # noqa: BLE001  # SystemExit included
            os._exit(_exit_status(ended))

    def answer(self, op: str, args: dict[str, Any]) -> Answer:
        """The answer to one request, in Python form."""
        if op == "hello":
            self._scratch = Path(args.get("scratch", "."))
        try:
            values = from_json(op, "args", args, self._scratch)
        except (ContractViolation, TypeError, KeyError, ValueError) as error:
            return Error("refused", f"arguments of {op}: {error}")
        return perform(self._client, op, values)

    def _line(self, number: int, answer: Answer) -> bytes:
        try:
            members = answer_members(answer)
            if isinstance(answer, Ok):
                members["ok"] = to_json(members["ok"], self._leave)
                if self._timed and answer.took_ns is not None:
                    members["took_ns"] = answer.took_ns
            return json.dumps({"id": number, **members}).encode("ascii") + b"\n"
        except (TypeError, ValueError, AttributeError) as error:
            failure = Error("internal", f"the result cannot be written as JSON: {error}")
            return json.dumps({"id": number, **answer_members(failure)}).encode("ascii") + b"\n"

    def _leave(self, data: bytes) -> str:
        name = f"client-{os.getpid()}-{next(self._files)}"
        leave(self._scratch, name, data)
        return name


def _exit_status(error: BaseException) -> int:
    """What Python makes of an exception that nobody caught; the message goes to standard error as usual."""
    code = error.code if isinstance(error, SystemExit) else 1
    if not isinstance(error, SystemExit):
        traceback.print_exception(error)
    elif code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
    sys.stderr.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
