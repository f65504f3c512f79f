"""Replies of any bytes: what may come of them, decided by the bytes alone, and one that is given to a client."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from cases.lm.counterexamples import kept_as
from cases.lm.steps import asked
from harness.client import Answer, Error, Miss, Ok
from harness.failure import CaseFailure
from harness.judge import Judge, in_words
from harness.scripted_server import Ending, Script, ScriptedServer
from harness.subject import Subject
from harness.values import Keys
from wire.lm.enums import DTYPES, FORMATS
from wire.lm.profile import LmProfile

Op = Literal["get", "exist", "health"]
MEMBERS: Final = {"exist": "exists", "health": "healthy"}
PATIENCE_MS: Final = 250
"""The timeout of a connection whose peer may go silent."""
CITES: Final = {"get": "LM-GET-004", "exist": "LM-REPLY-005", "health": "LM-REPLY-005"}


@dataclass(frozen=True)
class Spoken:
    """What a client asks, and the bytes that it gets for a reply."""

    op: Op
    expect: Mapping[str, Any] | None
    """For a get: format, dtype and shape."""
    data: bytes
    ending: Ending

    def to_json(self) -> dict[str, Any]:
        """The members of a vector."""
        return {"op": self.op, "expect": self.expect, "bytes": self.data.hex(), "ending": self.ending}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Spoken:
        """The inverse of :meth:`to_json`."""
        return cls(value["op"], value["expect"], bytes.fromhex(value["bytes"]), value["ending"])


@dataclass(frozen=True)
class Due:
    """What may come of a reply: these bytes, or yes or no, or a miss; and whether an error may come instead."""

    payload: bytes | None = None
    yes: bool | None = None
    miss: bool = False
    error: bool = True
    surplus: bool = False
    """Bytes stand behind a reply that was taken, for which no client can be blamed that takes them for the next one."""

    def outcomes(self, op: Op) -> list[str]:
        """The classes of answers that are right."""
        right = {
            "value": self.payload is not None,
            "true": self.yes is True,
            "false": self.yes is False or (self.yes is True and self.error),
            "miss": self.miss and op == "get",
            "error": self.error,
        }
        return [name for name, allowed in right.items() if allowed]


def due(profile: LmProfile, spoken: Spoken, size: int) -> Due:
    """What a client may make of a reply; ``size`` is what its expectation amounts to in bytes."""
    fields = profile.header.reply
    header = 4 * len(fields)
    if len(spoken.data) < header:
        return Due(miss=True)
    numbers = dict(zip(fields, struct.unpack(f"<{len(fields)}i", spoken.data[:header]), strict=True))
    dims = [numbers[f"shape{index}"] for index in range(4)]
    plain = numbers["length"] == 0 and dims == [0] * 4 and numbers["format"] == 1 and numbers["dtype"] == 2
    tidy = numbers.get("location", 0) == 0 and spoken.ending != "reset" and len(spoken.data) == header
    surplus = len(spoken.data) > header
    if spoken.op != "get":
        return Due(yes=numbers["code"] == 200, surplus=surplus, error=not (plain and tidy and numbers["code"] in {200, 400}))
    assert spoken.expect is not None
    wanted = [*spoken.expect["shape"], 0, 0, 0][:4]
    dtype = 2 if numbers["dtype"] == 1 else numbers["dtype"]
    described = (numbers["format"], dtype) == (FORMATS[spoken.expect["format"]], DTYPES[spoken.expect["dtype"]])
    payload = spoken.data[header : header + size]
    if numbers["code"] == 200 and described and dims == wanted and numbers["length"] == size == len(payload):
        whole = len(spoken.data) == header + size and numbers.get("location", 0) == 0 and spoken.ending == "close"
        return Due(payload=payload, miss=not whole, error=not whole, surplus=len(spoken.data) > header + size)
    return Due(miss=True, error=numbers["code"] != 400 or not (plain and tidy), surplus=surplus)


def exchange(
    client: Subject, judge: Judge, peer: ScriptedServer, keys: Keys, profile: LmProfile, spoken: Spoken, size: int
) -> None:
    """Give a client one reply and judge what it makes of it, of the request behind it and of a new connection.

    Raises:
        CaseFailure: with the reply as a line that can be kept.
    """
    allowed = due(profile, spoken, size)
    try:
        _exchange(client, judge, peer, keys, allowed, spoken)
    except CaseFailure as failure:
        raise kept_as(failure, profile, {"outcome": allowed.outcomes(spoken.op), "reply": spoken.to_json()}) from None


def _exchange(client: Subject, judge: Judge, peer: ScriptedServer, keys: Keys, allowed: Due, spoken: Spoken) -> None:
    connection = client.connect(peer.server, timeout_ms=PATIENCE_MS if spoken.ending == "silence" else 5000)
    afterwards = allowed.yes is not True
    peer.play(Script(spoken.data, spoken.ending), exists=afterwards)
    members: dict[str, Any] = {} if spoken.op == "health" else {"key": keys()}
    if spoken.op == "get":
        members["expect"] = spoken.expect
    answer = client.call(spoken.op, connection=connection, **members)
    judge.holds(
        _allowed(spoken, answer, allowed),
        f"{spoken.op} made something else of {len(spoken.data)} bytes, then {spoken.ending}, than they say",
        cite=CITES[spoken.op],
        client_answered=in_words(answer),
        conformant_answer=" or ".join(allowed.outcomes(spoken.op)),
    )
    if isinstance(answer, Error) or not allowed.surplus:
        judge.in_step(asked(client, "exist", connection=connection, key=keys()), "exists", expected=afterwards)
    client.call("close", connection=connection)
    fresh = client.connect(peer.server)
    found = client.ok("exist", connection=fresh, key=keys())["exists"]
    judge.holds(found is afterwards, "a new connection is answered wrongly after a spoiled reply", client_answered=f"{found}")
    client.call("close", connection=fresh)


def _allowed(spoken: Spoken, answer: Answer, allowed: Due) -> bool:
    if isinstance(answer, Error):
        late = spoken.ending == "silence" and answer.kind == "timeout"
        return late or (allowed.error and answer.kind != "internal")
    if isinstance(answer, Miss):
        return allowed.miss
    if not isinstance(answer, Ok):
        return False
    if spoken.op != "get":
        said = answer.values[MEMBERS[spoken.op]]
        return said is allowed.yes or (said is False and allowed.error)
    described = {name: answer.values[name] for name in ("format", "dtype")} if spoken.expect else {}
    return (
        allowed.payload is not None
        and answer.values["payload"] == allowed.payload
        and described == {name: (spoken.expect or {})[name] for name in described}
    )
