"""Compares what a client did with what it should have done, and writes the explanation when they differ."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NoReturn

from fixturegen.corpus import Corpus
from fixturegen.mp.transcript import MpTranscript
from fixturegen.vector import Transcript, Vector
from harness.case import CaseSpec
from harness.client import Answer, Error, Miss, Ok, Unsupported
from harness.failure import CaseFailure, UnsupportedByClient
from harness.requirements import Requirement
from harness.targets import Server
from mockserver.journal import Journal
from mockserver.records import Exchange
from reports.diagnosis import Diagnosis
from reports.difference import frame_difference, frame_dump
from reports.mp_frames import message_difference
from reports.value_difference import value_differences
from reports.words import count
from wire.lm.frames import Field, describe_reply, describe_request
from wire.lm.profile import LmProfile

_REQUIREMENT_OF_FIELD: Final = {
    "command": "LM-REQ-005",
    "dtype": "LM-REQ-006",
    "format": "LM-REQ-007",
    "location": "LM-REQ-008",
    "key": "LM-REQ-003",
}
EXCHANGE_TIMEOUT: Final = 5.0
Describe = Callable[[bytes], list[Field]]


class Judge:
    """The verdict of one case execution; every method either returns or raises with a full explanation.

    ``requirements`` are those that hold for the release.
    """

    def __init__(
        self, spec: CaseSpec, requirements: Mapping[str, Requirement], profile: LmProfile, corpus: Corpus | None
    ) -> None:
        self._profile = profile
        self._corpus = corpus
        self._requirements = requirements
        self.cited = [requirements[name] for name in spec.cites if name in requirements]

    @property
    def as_request(self) -> Describe:
        """Names the fields of request headers."""
        return partial(describe_request, self._profile)

    @property
    def as_reply(self) -> Describe:
        """Names the fields of reply headers."""
        return partial(describe_reply, self._profile)

    def same_bytes(
        self,
        expected: bytes,
        got: bytes,
        *,
        what: str,
        describe: Describe | None = None,
        source: Vector | Transcript | MpTranscript | str | None = None,
        cite: str | None = None,
    ) -> None:
        """Two frames or payloads are equal."""
        if expected == got:
            return
        difference = frame_difference(expected, got, describe)
        self.fail(
            f"{what}: {difference.summary}",
            cite=cite or self._requirement_of({field.name for field in difference.fields}),
            source=source,
            fields=difference.fields,
            frames=difference.frames,
        )

    def same_frames(
        self,
        expected: Sequence[bytes],
        got: Sequence[bytes],
        *,
        what: str,
        source: Vector | Transcript | MpTranscript | str | None = None,
        cite: str | None = None,
    ) -> None:
        """Two messages of the multiprocess server are equal, frame by frame; both behind their uid."""
        if list(expected) == list(got):
            return
        found = message_difference(expected, got)
        self.fail(f"{what}: {found.summary}", cite=cite, source=source, values=found.values, frames=found.frames)

    def same_value(
        self, expected: Any, got: Any, *, what: str, source: Vector | str | None = None, cite: str | None = None
    ) -> None:
        """Two values of the contract are equal, member by member."""
        differences = value_differences(expected, got)
        if differences:
            places = ", ".join(difference.path for difference in differences[:3])
            more = f" and {len(differences) - 3} more" if len(differences) > 3 else ""
            where = f" at {places}{more}" if places else ""
            self.fail(f"{what} differs{where}", cite=cite, source=source, values=differences)

    def same_members(self, expected: Mapping[str, Any], got: Mapping[str, Any], *, what: str, source: Vector) -> None:
        """An answer has the expected members with the expected values; a client may add others."""
        found = {name: got[name] for name in expected if name in got}
        self.same_value(expected, found, what=what, source=source)

    def holds(self, condition: object, summary: str, **more: Any) -> None:
        """A condition is true."""
        if not condition:
            self.fail(summary, **more)

    def ok(self, op: str, answer: Answer, *, conformant: str = "a result", **more: Any) -> Mapping[str, Any]:
        """The answer is a result; its members."""
        _require_supported(op, answer)
        if not isinstance(answer, Ok):
            self.fail(
                f"{op} should have succeeded; the client answered {in_words(answer)}",
                client_answered=in_words(answer),
                conformant_answer=conformant,
                **more,
            )
        return answer.values

    def not_ok(
        self, op: str, answer: Answer, *, because: str, kinds: Iterable[str] = (), miss: bool = False, **more: Any
    ) -> None:
        """The answer is an error of one of the classes (any class when none is given), or where allowed a miss."""
        _require_supported(op, answer)
        allowed = tuple(kinds)
        if isinstance(answer, Miss) and miss:
            return
        if isinstance(answer, Error) and answer.kind != "internal" and (not allowed or answer.kind in allowed):
            return
        wanted = [*(["miss"] if miss else []), *(f"error {kind}" for kind in allowed or ("refused", "protocol"))]
        self.fail(
            f"{op} must not succeed: {because}" if isinstance(answer, Ok) else f"{op} failed in the wrong way: {because}",
            client_answered=in_words(answer),
            conformant_answer=" or ".join(wanted),
            **more,
        )

    def not_yes(self, op: str, answer: Answer, member: str, *, because: str, **more: Any) -> None:
        """The answer is no, or an honest error: anything but a result whose member is true."""
        _require_supported(op, answer)
        if not isinstance(answer, Error) and not (isinstance(answer, Ok) and answer.values.get(member) is False):
            self.fail(
                f"{op} said yes: {because}",
                client_answered=in_words(answer),
                conformant_answer=f"{member} = false, or an error",
                **more,
            )

    def read_or_refused(self, op: str, answer: Answer, **more: Any) -> None:
        """The answer is a result or an honest error; an ``internal`` error is a fault of the client."""
        _require_supported(op, answer)
        if isinstance(answer, Miss) or (isinstance(answer, Error) and answer.kind == "internal"):
            self.fail(f"{op} failed in the wrong way", client_answered=in_words(answer), **more)

    def exchange(self, server: Server, command: str | None = None) -> Exchange:
        """The last exchange of the mock (with a command), once it is done; a client that never sends one fails."""

        def finished(journal: Journal) -> list[Exchange]:
            return [exchange for exchange in journal.exchanges(command=command) if exchange.done]

        try:
            return server.journal.wait_for(finished, EXCHANGE_TIMEOUT)[-1]
        except TimeoutError:
            self.fail(f"the client said that it is done, but no whole {command or 'request'} reached the server")

    def struck(self, server: Server) -> Exchange:
        """The last exchange of the mock that met a fault, once it is done; a client that never sends one fails."""

        def met(journal: Journal) -> list[Exchange]:
            return [exchange for exchange in journal.exchanges() if exchange.done and exchange.faults]

        try:
            return server.journal.wait_for(met, EXCHANGE_TIMEOUT)[-1]
        except TimeoutError:
            self.fail("the client said that it is done, but no request that meets the fault reached the server")

    def where(self, server: Server, command: str | None = None) -> dict[str, Any]:
        """Members of a diagnosis that say which exchange went wrong and how its reply was delivered."""
        if server.mock is None:
            return {}
        found = server.journal.last_exchange(command=command)
        if found is None:
            return {}
        sizes = [segment.size for segment in found.segments_out]
        members: dict[str, Any] = {"exchange": f"exchange {found.number} ({found.command}), connection {found.connection}"}
        if sizes:
            shown = " + ".join(str(size) for size in sizes[:12]) + (" + ..." if len(sizes) > 12 else "")
            noun = "byte" if sum(sizes) == 1 else "bytes"
            members["delivery"] = f"sent in {count(len(sizes), 'segment')}: {shown} {noun}"
        if found.reply_header:
            cuts = tuple(itertools.accumulate(sizes[:-1])) if len(sizes) > 1 else ()
            header = found.reply_header
            members["frames"] = (frame_dump("the reply header", header, cuts=[cut for cut in cuts if cut < len(header)]),)
        return members

    def miss(self, answer: Answer, *, because: str, **more: Any) -> None:
        """The answer is a miss and nothing else."""
        _require_supported("get", answer)
        if not isinstance(answer, Miss):
            self.fail(f"get must miss: {because}", client_answered=in_words(answer), conformant_answer="miss", **more)

    def in_step(self, answer: Answer, member: str, *, expected: bool) -> None:
        """After something went wrong: the next operation is answered rightly, or the connection is gone."""
        right = isinstance(answer, Ok) and answer.values.get(member) is expected
        gone = isinstance(answer, Error) and answer.kind == "connection"
        self.holds(
            right or gone,
            "the connection is out of step: the operation after the failure was answered wrongly",
            cite="LM-CONN-003",
            client_answered=in_words(answer),
            conformant_answer=f"{member} = {str(expected).lower()}, or error connection",
        )

    def fail(
        self,
        summary: str,
        *,
        cite: str | None = None,
        source: Vector | Transcript | MpTranscript | str | None = None,
        kind: type[CaseFailure] = CaseFailure,
        **members: Any,
    ) -> NoReturn:
        """End the case with an explanation."""
        raise kind(self.explained(Diagnosis(summary=summary, provenance=self._provenance(source), **members), cite))

    def explained(self, diagnosis: Diagnosis, cite: str | None = None) -> Diagnosis:
        """A diagnosis with the words of the requirement that was broken: the named one, or the first of the case."""
        return explained(diagnosis, self._requirements.get(cite or "") or next(iter(self.cited), None))

    def _requirement_of(self, fields: set[str]) -> str | None:
        """The cited requirement that speaks of the one field that differs."""
        wanted = _REQUIREMENT_OF_FIELD.get(next(iter(fields))) if len(fields) == 1 else None
        return wanted if any(requirement.id == wanted for requirement in self.cited) else None

    def _provenance(self, source: Vector | Transcript | MpTranscript | str | None) -> str | None:
        if source is None or isinstance(source, str):
            return source
        return self._corpus.provenance(source) if self._corpus is not None else source.id


def explained(diagnosis: Diagnosis, requirement: Requirement | None) -> Diagnosis:
    """A diagnosis with the words of the requirement that was broken, if one is known."""
    if requirement is None:
        return diagnosis
    return replace(
        diagnosis,
        requirement=requirement.id,
        level=requirement.level,
        statement=requirement.statement,
        why_it_matters=requirement.why,
    )


def _require_supported(op: str, answer: Answer) -> None:
    if isinstance(answer, Unsupported):
        raise UnsupportedByClient(op, answer.reason)


def in_words(answer: Answer) -> str:
    """An answer as a report quotes it, shortened."""
    if isinstance(answer, Miss):
        return "miss"
    if isinstance(answer, Error):
        return f"error {answer.kind}: {answer.message}"
    if isinstance(answer, Unsupported):
        return f"unsupported: {answer.reason}"
    shown = ", ".join(f"{name} = {_short(value)}" for name, value in answer.values.items())
    return f"ok: {shown}" if shown else "ok"


def _short(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes {value[:16].hex()}{'...' if len(value) > 16 else ''}"
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 8:
        return f"{list(value[:8])}... ({len(value)} entries)"
    return repr(value)
