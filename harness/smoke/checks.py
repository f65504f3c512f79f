"""The checks of a smoke test, each of which says what it saw, or what was sent, received and expected."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final

from harness.client import (
    CONCURRENT,
    IN_FLIGHT,
    MP_PURE,
    OPERATIONS,
    PROTOCOL_VERSION,
    PURE,
    Call,
    ClientFailure,
    HelloDeclined,
    Ok,
    Unsupported,
)
from harness.clients.answers import answer_members
from harness.clients.contract import shorten
from harness.clients.samples import HEADER, sample_arguments, sample_key
from harness.clients.session import ClientSession
from harness.smoke import mp as mp_checks
from harness.smoke import sockets
from harness.smoke.asking import DEADLINE, Asker, CheckFailed, NotApplicable, expected_answer, explanation, failure_explained
from harness.smoke.mp import declares_mp
from reports.words import count
from wire.release import KNOWN_RELEASES

MADE_UP_OPERATION: Final = "lmconform_made_up_operation"
MADE_UP_RELEASE: Final = "no-such-release"
LATER_PROTOCOL: Final = PROTOCOL_VERSION + 1
"""What a harness of the future may ask for."""
LATER_MEMBER: Final[Mapping[str, Any]] = {"lmconform_later": {"of": ["version", 1, None]}}
"""What a harness of the future may add to the arguments of an operation."""

_OF_EVERYBODY: Final = ("hello", "state", "bye")
"""Operations that nobody need declare, and anybody may."""
_PURE: Final = (*PURE, *MP_PURE)
_STATES: Final = 4
"""Requests that are sent beside the pure operations, so that there are several whatever is declared."""
_SENT_HELLO: Final = f'{{"id":1,"op":"hello","args":{{"protocol":{PROTOCOL_VERSION},"scratch":"..."}},"deadline_ms":...}}'

SessionFactory = Callable[[], ClientSession]

_SENSELESS: Final[Mapping[str, Mapping[str, Any]]] = {
    "decode_reply": {"bytes": b"\x00"},
    "decode_request": {"bytes": b"\x00"},
    "decode_metadata": {"bytes": b"", "groups": 1},
    "encode_reply": {**HEADER, "code": "SUCCESS", "length": 2**40},
    "parse_key": {"text": ""},
    "mp_decode_request": {"frames": [{"hex": "c1"}]},
    "mp_decode_reply": {"operation": "NOOP", "frames": []},
}


_OF_MP: Final[Mapping[str, Callable[[Asker], str]]] = {
    "mp small bytes": mp_checks.small_bytes,
    "mp round trip": mp_checks.round_trip,
    "mp deadline": mp_checks.deadline,
    "mp large bytes": mp_checks.large_bytes,
    "mp senseless argument": mp_checks.senseless_argument,
}
"""What is looked at in clients that say anything of the multiprocess server; those that may leave a connection open are last."""


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    FAIL = "fail"
    NOT_APPLICABLE = "n/a"


@dataclass(frozen=True)
class SmokeCheck:
    """One thing looked at; ``detail`` says what was seen, and for a failure the lines sent, received and expected."""

    name: str
    state: State
    detail: str

    @property
    def ok(self) -> bool:
        """It was looked at, and is right."""
        return self.state is State.OK

    @property
    def failed(self) -> bool:
        """It was looked at, and is wrong."""
        return self.state is State.FAIL


def smoke(
    session_factory: SessionFactory, *, deadline: float = DEADLINE, only: Collection[str] | None = None
) -> list[SmokeCheck]:
    """Look at a client; one that cannot even say hello gets one failed check. ``deadline`` in seconds, for each answer."""
    try:
        session = session_factory()
    except ClientFailure as failure:
        detail = failure_explained(failure, _SENT_HELLO, expected_answer("hello", "1"))
        return [SmokeCheck("handshake", State.FAIL, detail)]
    run = _Smoke(session, deadline)
    mp = declares_mp(frozenset(session.description.operations))
    looks = {
        "handshake": run.handshake,
        "unknown operation": run.unknown_operation,
        "small bytes": run.small_bytes,
        "large bytes": run.large_bytes,
        "senseless release": run.senseless_release,
        "senseless argument": run.senseless_argument,
        "unknown member": run.unknown_member,
        "several at once": run.several_at_once,
        "state": run.state,
        "round trip": lambda: sockets.round_trip(run.asker),
        "deadline": run.deadline,
        **({name: run.about_mp(look) for name, look in _OF_MP.items()} if mp else {}),
        "bye": run.bye,
        "later protocol": run.later_protocol,
    }
    try:
        return [run.check(name, look) for name, look in looks.items() if only is None or name in only]
    finally:
        session.stop()


class _Smoke:
    """The checks of one session."""

    def __init__(self, session: ClientSession, deadline: float) -> None:
        self.session = session
        self.asker = Asker(session, deadline)

    def check(self, name: str, look: Callable[[], str]) -> SmokeCheck:
        """Run one check; whatever the client does, the next one can run."""
        try:
            return SmokeCheck(name, State.OK, look())
        except NotApplicable as reason:
            return SmokeCheck(name, State.NOT_APPLICABLE, f"not applicable: {reason}")
        except CheckFailed as failed:
            return SmokeCheck(name, State.FAIL, str(failed))
        except ClientFailure as failure:
            return SmokeCheck(name, State.FAIL, self.asker.explained(failure))

    def about_mp(self, look: Callable[[Asker], str]) -> Callable[[], str]:
        """A check of the multiprocess server's wire, of this session."""
        return lambda: look(self.asker)

    def handshake(self) -> str:
        about = self.session.description
        if "*" not in about.releases and not set(about.releases) & set(KNOWN_RELEASES):
            raise CheckFailed(
                explanation(
                    "no release that the client declares is known here, so that every case would be left out",
                    _SENT_HELLO,
                    f'"releases": {json.dumps(list(about.releases))}',
                    f'"releases": ["{KNOWN_RELEASES[-1]}"], or ["*"] for all',
                    "name releases of lmcache as the package index does",
                )
            )
        unknown = [op for op in about.operations if op not in OPERATIONS and op not in _OF_EVERYBODY]
        remarks = [f"the contract has no operation {op!r}{_meant(op)}" for op in unknown]
        if not set(about.operations) & set(OPERATIONS):
            remarks.append("no operation of the contract is declared, so that every case will be unsupported")
        declared = f"{count(len(about.operations), 'operation')}, {count(len(about.releases), 'release')}"
        words = f"{about.name} {about.version} ({about.language}), protocol {PROTOCOL_VERSION}: {declared}"
        return "\n".join([words, *(f"remark: {remark}" for remark in remarks)])

    def unknown_operation(self) -> str:
        for args in ({}, {"release": 7, "bytes": [None]}):
            answer = self.asker.ask(MADE_UP_OPERATION, args)
            if not isinstance(answer, Unsupported):
                expected = f"{self.asker.line(unsupported={'reason': '...'})}, whatever the arguments"
                raise self.asker.wrong(answer, expected, "look at the name of the operation before anything else")
        return f"{MADE_UP_OPERATION} is answered unsupported"

    def small_bytes(self) -> str:
        release = self.asker.release
        for name, members in (("reply", {"code": "SUCCESS"}), ("request", {"command": "PUT", "key": sample_key(release)})):
            if {f"encode_{name}", f"decode_{name}"} <= self.asker.declared:
                return self.round_trip(name, {**members, **HEADER})
        raise NotApplicable("neither encode and decode of a reply nor of a request are declared")

    def round_trip(self, name: str, members: Mapping[str, Any]) -> str:
        release = self.asker.release
        header = self.asker.expect_ok(f"encode_{name}", {"release": release, **members})["bytes"]
        decoded = self.asker.expect_ok(f"decode_{name}", {"release": release, "bytes": header})
        different = [member for member, value in members.items() if decoded[member] != value]
        if different:
            what = f"{different[0]} = {shorten(members[different[0]])}, as it was encoded"
            todo = f"encode_{name} and decode_{name} of one release must read and write the same header"
            raise self.asker.wrong(Ok(decoded), what, todo)
        return f"{len(header)} bytes came from encode_{name} and went back through decode_{name}"

    def large_bytes(self) -> str:
        paged_shape = [1, 2, 4, 16, 8, 128]
        memory = bytes(index % 251 for index in range(math.prod(paged_shape)))
        layout = {"release": self.asker.release, "format": "KV_2LTD", "dtype": "uint8"}
        paging = {"paged_shape": paged_shape, "slots": list(range(64))}
        declared = self.asker.declared
        if not declared & {"pack_layout", "unpack_layout"}:
            raise NotApplicable("neither pack_layout nor unpack_layout is declared")
        before = self.session.leftovers
        chunk, chunk_shape = memory, [2, 1, 64, 1024]
        if "pack_layout" in declared:
            packed = self.asker.expect_ok("pack_layout", {**layout, "paged": memory, **paging})
            chunk, chunk_shape = packed["bytes"], packed["shape"]
        if "unpack_layout" in declared:
            chunk = self.asker.expect_ok("unpack_layout", {**layout, "bytes": chunk, "shape": chunk_shape, **paging})["paged"]
        if chunk != memory:
            raise CheckFailed(
                explanation(
                    _where_different(memory, chunk),
                    self.session.last_sent,
                    self.session.last_received,
                    f"{len(memory)} bytes as they were sent, received {len(chunk)} other bytes",
                    "look at the file that was read, and at the one that was written: whole, and of this answer",
                )
            )
        if self.session.leftovers > before:
            raise CheckFailed(
                explanation(
                    "the file that was sent is still in the scratch directory",
                    self.session.last_sent,
                    self.session.last_received,
                    "whoever receives a file deletes it",
                    "delete each file once it is read; of the ones that you wrote the harness takes care",
                )
            )
        return f"{len(memory)} bytes went out and came back"

    def senseless_release(self) -> str:
        op = next((op for op in _PURE if op in self.asker.declared), None)
        if op is None:
            raise NotApplicable("no pure operation is declared")
        why = "a release that the client does not know is declined; guessing would hide a missing one"
        return self.asker.expect_decline(op, {**sample_arguments(op, KNOWN_RELEASES[-1]), "release": MADE_UP_RELEASE}, why)

    def senseless_argument(self) -> str:
        op = next((op for op in _SENSELESS if op in self.asker.declared), None)
        if op is None:
            raise NotApplicable(f"none of {', '.join(_SENSELESS)} is declared")
        why = "what makes no sense is declined with refused, and bytes that are no message with protocol"
        return self.asker.expect_decline(op, {"release": self.asker.release, **_SENSELESS[op]}, why)

    def unknown_member(self) -> str:
        op = next((op for op in _PURE if op in self.asker.declared), "state")
        args = sample_arguments(op, self.asker.release) if op in _PURE else {}
        expected = self.asker.ask(op, args)
        answer = self.asker.ask(op, {**LATER_MEMBER, **args})
        if (answer != expected) if op in _PURE else not isinstance(answer, Ok):
            wanted = f"{shorten(answer_members(expected))}, as without the member {next(iter(LATER_MEMBER))}"
            raise self.asker.wrong(answer, wanted, "ignore members of args that you do not know; later versions may send them")
        return f"{op} ignores a member of args that it cannot know"

    def several_at_once(self) -> str:
        if not self.session.description.concurrent:
            raise NotApplicable(f"{CONCURRENT} is not declared, so that one request is sent at a time")
        ops = [op for op in _PURE if op in self.asker.declared]
        calls = [*(Call(op, sample_arguments(op, self.asker.release)) for op in ops), *[Call("state", {})] * _STATES]
        alone = [self.asker.ask(call.op, call.args) for call in calls]
        try:
            together = self.session.call_all(calls, deadline=self.asker.deadline)
        except ClientFailure as failure:
            expected = f"one answer line for each of the {len(calls)} requests, in any order, with the id of its request"
            raise CheckFailed(self.asker.explained(failure, expected)) from None
        for call, expected_answer_, answer in zip(calls, alone, together, strict=True):
            if call.op != "state" and answer != expected_answer_:
                wanted, got = (shorten(answer_members(either)) for either in (expected_answer_, answer))
                raise CheckFailed(
                    explanation(
                        f"{call.op}: expected among others the answer that came alone",
                        f"{len(calls)} requests at once, among them {shorten({'op': call.op, 'args': dict(call.args)})}",
                        got,
                        wanted,
                        "give each answer the id of its own request; nothing that one request uses may belong to another",
                    )
                )
        return f"{len(calls)} requests at once (at most {IN_FLIGHT}) got the answers that each got alone"

    def state(self) -> str:
        values = self.asker.expect_ok("state", {})
        if values["connections"]:
            expected = '"connections": 0, because none was opened'
            raise self.asker.wrong(Ok(values), expected, "count the connections that connect opened and close did not close")
        return shorten(dict(values))

    def deadline(self) -> str:
        op, seconds = self.asker.slowest
        slowest = f"the slowest answer took {seconds * 1000:.0f} ms ({op})"
        try:
            return f"{sockets.deadline(self.asker)}; {slowest}"
        except NotApplicable as reason:
            raise NotApplicable(f"{reason}; {slowest}") from None

    def bye(self) -> str:
        answer = self.asker.ask("bye", {})
        if not isinstance(answer, Ok):
            raise self.asker.wrong(answer, self.asker.line(ok={}), "answer bye, flush, and end")
        if not self.session.has_process:
            return "answered; there is no process to end"
        status = self.session.exit_status
        if status != 0:
            ended = "it had to be killed" if status is None else f"exit status {status}"
            raise CheckFailed(
                explanation(
                    f"expected the process to end with status 0 after bye; {ended}",
                    self.session.last_sent,
                    self.session.last_received,
                    f"{self.asker.line(ok={})}, and the end of the process",
                    "leave the loop after bye: close what is open, wait for no thread, and return 0",
                )
            )
        return "answered, and the process ended with status 0"

    def later_protocol(self) -> str:
        """Whether a harness of the future finds out that the client is of version 1."""
        self.session.protocol = LATER_PROTOCOL
        try:
            self.session.start_afresh()
        except HelloDeclined as declined:
            said = shorten(answer_members(declined.answer))
            return f"protocol {LATER_PROTOCOL} is declined, so that {PROTOCOL_VERSION} would be asked for next: {said}"
        except ClientFailure as failure:
            raise CheckFailed(
                failure_explained(failure, self.session.last_sent, f"{expected_answer('hello', self.asker.id)}, or error refused")
            ) from None
        finally:
            self.session.protocol = PROTOCOL_VERSION
        return f"asked for protocol {LATER_PROTOCOL}, it speaks {self.session.description.protocol}"


def _meant(op: str) -> str:
    close = get_close_matches(op.replace("-", "_"), OPERATIONS, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _where_different(sent: bytes, received: bytes) -> str:
    first = next((place for place, pair in enumerate(zip(sent, received, strict=False)) if pair[0] != pair[1]), None)
    if first is None:
        return f"{len(received)} bytes came back of {len(sent)}"
    return f"the first byte that differs is at {first}: {sent[first]:#04x} was sent, {received[first]:#04x} came back"
