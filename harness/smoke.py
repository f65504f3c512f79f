"""A first look at a client: does its adapter keep the contract at all, before any protocol is judged?"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from harness.client import PROTOCOL_VERSION, PURE, Answer, Call, ClientFailure, Error, Miss, Ok, Unsupported
from harness.clients.answers import answer_members
from harness.clients.contract import shorten
from harness.clients.samples import HEADER, sample_arguments, sample_key
from harness.clients.session import ClientSession
from wire.release import KNOWN_RELEASES

MADE_UP_OPERATION: Final = "lmconform_made_up_operation"
MADE_UP_RELEASE: Final = "no-such-release"
DEADLINE: Final = 10.0
"""Seconds that any answer of a smoke test may take."""

_STATES: Final = 4
"""Requests that are sent beside the pure operations, so that there are several whatever is declared."""

SessionFactory = Callable[[], ClientSession]

_SENSELESS: Final[Mapping[str, Mapping[str, Any]]] = {
    "decode_reply": {"bytes": b"\x00"},
    "decode_request": {"bytes": b"\x00"},
    "decode_metadata": {"bytes": b"", "groups": 1},
    "encode_reply": {**HEADER, "code": "SUCCESS", "length": 2**40},
    "parse_key": {"text": ""},
}


@dataclass(frozen=True)
class SmokeCheck:
    """One thing looked at; ``detail`` says what was seen, and for a failure the lines received and expected."""

    name: str
    ok: bool
    detail: str


class _Failed(Exception):
    """A check failed; the message is its detail."""


def smoke(session_factory: SessionFactory) -> list[SmokeCheck]:
    """Look at a client; a client that cannot even say hello gets one failed check."""
    try:
        session = session_factory()
    except ClientFailure as failure:
        return [SmokeCheck("handshake", ok=False, detail=_failure_text(failure, _HELLO))]
    run = _Smoke(session)
    try:
        return [
            SmokeCheck("handshake", ok=True, detail=run.handshake()),
            run.check("unknown operation", run.unknown_operation),
            run.check("small bytes", run.small_bytes),
            run.check("large bytes", run.large_bytes),
            run.check("senseless release", run.senseless_release),
            run.check("senseless argument", run.senseless_argument),
            run.check("several at once", run.several_at_once),
            run.check("state", run.state),
            run.check("deadline", run.deadline),
            run.check("bye", run.bye),
        ]
    finally:
        session.stop()


_HELLO: Final = (
    '{"id": 1, "ok": {"name": "...", "version": "...", "language": "...", "operations": ["..."], "releases": ["..."]}}'
)


class _Smoke:
    """The checks of one session."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self.slowest = ("nothing", 0.0)

    def check(self, name: str, look: Callable[[], str]) -> SmokeCheck:
        """Run one check; whatever the client does, the next one can run."""
        try:
            return SmokeCheck(name, ok=True, detail=look())
        except _Failed as failed:
            return SmokeCheck(name, ok=False, detail=str(failed))
        except ClientFailure as failure:
            return SmokeCheck(name, ok=False, detail=_failure_text(failure, '{"id": N, "ok": {...}}, or an error'))

    def handshake(self) -> str:
        about = self.session.description
        count = f"{len(about.operations)} operations, {len(about.releases)} releases"
        return f"{about.name} {about.version} ({about.language}), protocol {PROTOCOL_VERSION}: {count}"

    def unknown_operation(self) -> str:
        for args in ({}, {"release": 7, "bytes": [None]}):
            answer = self.ask(MADE_UP_OPERATION, args)
            if not isinstance(answer, Unsupported):
                raise self.wrong('{"id": N, "unsupported": {"reason": "..."}}, whatever the arguments', answer)
        return f"{MADE_UP_OPERATION} is answered unsupported"

    def small_bytes(self) -> str:
        for name, members in (("reply", {"code": "SUCCESS"}), ("request", {"command": "PUT", "key": sample_key(self.release)})):
            if {f"encode_{name}", f"decode_{name}"} <= set(self.session.description.operations):
                return self.round_trip(name, {**members, **HEADER})
        return "not applicable: neither encode and decode of a reply nor of a request are declared"

    def round_trip(self, name: str, members: Mapping[str, Any]) -> str:
        header = self.expect_ok(f"encode_{name}", {"release": self.release, **members})["bytes"]
        decoded = self.expect_ok(f"decode_{name}", {"release": self.release, "bytes": header})
        different = [member for member, value in members.items() if decoded[member] != value]
        if different:
            raise self.wrong(f"{different[0]} = {shorten(members[different[0]])}, as it was encoded", Ok(decoded))
        return f"{len(header)} bytes came from encode_{name} and went back through decode_{name}"

    def large_bytes(self) -> str:
        paged_shape = [1, 2, 4, 16, 8, 128]
        memory = bytes(index % 251 for index in range(math.prod(paged_shape)))
        layout = {"release": self.release, "format": "KV_2LTD", "dtype": "uint8", "slots": list(range(64))}
        declared = set(self.session.description.operations)
        before = self.session.leftovers
        chunk, chunk_shape = memory, [2, 1, 64, 1024]
        if "pack_layout" in declared:
            packed = self.expect_ok("pack_layout", {**layout, "paged": memory, "paged_shape": paged_shape})
            chunk, chunk_shape = packed["bytes"], packed["shape"]
        if "unpack_layout" in declared:
            unpack = {**layout, "bytes": chunk, "shape": chunk_shape, "paged_shape": paged_shape}
            chunk = self.expect_ok("unpack_layout", unpack)["paged"]
        if not declared & {"pack_layout", "unpack_layout"}:
            return "not applicable: neither pack_layout nor unpack_layout is declared"
        if chunk != memory:
            raise _Failed(f"expected {len(memory)} bytes as they were sent, received {len(chunk)} other bytes")
        if self.session.leftovers > before:
            raise _Failed("expected: whoever receives a file deletes it; the files sent are still in the scratch directory")
        return f"{len(memory)} bytes went out and came back"

    def senseless_release(self) -> str:
        op = next((op for op in PURE if op in self.session.description.operations), None)
        if op is None:
            return "not applicable: no pure operation is declared"
        return self.expect_decline(op, {**sample_arguments(op, KNOWN_RELEASES[-1]), "release": MADE_UP_RELEASE})

    def senseless_argument(self) -> str:
        op = next((op for op in _SENSELESS if op in self.session.description.operations), None)
        if op is None:
            return f"not applicable: none of {', '.join(_SENSELESS)} is declared"
        return self.expect_decline(op, {"release": self.release, **_SENSELESS[op]})

    def several_at_once(self) -> str:
        if not self.session.description.concurrent:
            return "not applicable: concurrent is not declared, so that one request is sent at a time"
        ops = [op for op in PURE if op in self.session.description.operations]
        calls = [*(Call(op, sample_arguments(op, self.release)) for op in ops), *[Call("state", {})] * _STATES]
        alone = [self.ask(call.op, call.args) for call in calls]
        together = self.session.call_all(calls, deadline=DEADLINE)
        for call, expected, answer in zip(calls, alone, together, strict=True):
            if call.op != "state" and answer != expected:
                wanted, got = (shorten(answer_members(either)) for either in (expected, answer))
                raise _Failed(f"{call.op}: expected among others the answer that came alone\nexpected: {wanted}\nreceived: {got}")
        return f"{len(calls)} requests at once got the answers that each got alone"

    def state(self) -> str:
        values = self.expect_ok("state", {})
        if values["connections"]:
            raise self.wrong('"connections": 0, because none was opened', Ok(values))
        return shorten(dict(values))

    def deadline(self) -> str:
        op, seconds = self.slowest
        return f"the slowest answer took {seconds * 1000:.0f} ms ({op})"

    def bye(self) -> str:
        answer = self.ask("bye", {})
        if not isinstance(answer, Ok):
            raise self.wrong('{"id": N, "ok": {}}', answer)
        if not self.session.has_process:
            return "answered; there is no process to end"
        status = self.session.exit_status
        if status != 0:
            ended = "it had to be killed" if status is None else f"exit status {status}"
            raise _Failed(f"expected the process to end with status 0 after bye; {ended}")
        return "answered, and the process ended with status 0"

    @property
    def release(self) -> str:
        """The newest release that the client declares."""
        declared = self.session.description.releases
        return next((text for text in reversed(KNOWN_RELEASES) if text in declared), KNOWN_RELEASES[-1])

    def ask(self, op: str, args: Mapping[str, Any]) -> Answer:
        begin = time.monotonic()
        answer = self.session.call_undeclared(op, args, deadline=DEADLINE)
        self.slowest = max(self.slowest, (op, time.monotonic() - begin), key=lambda timed: timed[1])
        return answer

    def expect_ok(self, op: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self.ask(op, args)
        if not isinstance(answer, Ok):
            raise self.wrong('{"id": N, "ok": {...}}', answer)
        return answer.values

    def expect_decline(self, op: str, args: Mapping[str, Any]) -> str:
        answer = self.ask(op, args)
        if isinstance(answer, Ok | Miss):
            raise self.wrong('{"id": N, "error": {"class": "refused", "message": "..."}}, or unsupported', answer)
        if isinstance(answer, Error) and answer.kind == "internal":
            return f"{op}: declined, though class internal reads like a bug in the client: {answer.message}"
        return f"{op}: {shorten(answer_members(answer))}"

    def wrong(self, expected: str, answer: Answer) -> _Failed:
        received = self.session.last_received or shorten(answer_members(answer))
        return _Failed(f"line sent:     {self.session.last_sent}\nline received: {received}\nline expected: {expected}")


def _failure_text(failure: ClientFailure, expected: str) -> str:
    return f"{type(failure).__name__}: {failure}\n  line expected: {expected}"
