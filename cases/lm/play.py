"""A conversation over several connections, step by step, judged against a dictionary of what the server must hold.

Steps are plain JSON, so that a conversation that went wrong can be kept and played again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cases.lm.counterexamples import kept_as
from cases.lm.steps import asked
from harness.captures import patterned
from harness.client import Answer, Error, Miss, Ok
from harness.conversation import Request, answers
from harness.failure import CaseFailure
from harness.judge import Judge, in_words
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys, Value, binary
from wire.lm.profile import LmProfile
from wire.lm.shapes import pad_shape, payload_size

Step = dict[str, Any]
UNKNOWN: Final = {"hash": 0xDEAD}
"""A key under which no conversation stores anything."""
HONEST: Final = ("refused", "protocol", "connection", "timeout")


@dataclass
class Put:
    """What one connection put under a key without having been answered since, and what others put there meanwhile."""

    values: list[Value] = field(default_factory=list)
    later: list[Value] = field(default_factory=list)


@dataclass
class Slot:
    """What a key may hold: ``settled`` if nothing lands any more, and what each connection has put there that may yet land.

    A PUT has no reply: another connection may see it or not until its own connection was answered again.
    """

    settled: list[Value | None] = field(default_factory=lambda: [None])
    pending: dict[str, Put] = field(default_factory=dict)

    def put(self, connection: str, value: Value) -> None:
        """A connection sent a value."""
        own = self.pending.setdefault(connection, Put())
        own.values.append(value)
        own.later = []

    def landed(self, connection: str) -> None:
        """A connection was answered: what it put has landed, before or after what others put meanwhile."""
        if connection not in self.pending:
            return
        self.settled = self.seen_by(connection)
        own = self.pending.pop(connection)
        for other in self.pending.values():
            other.later.append(own.values[-1])

    def seen_by(self, connection: str) -> list[Value | None]:
        """What a request of this connection may find."""
        others = [value for other, put in self.pending.items() if other != connection for value in put.values]
        own = self.pending.get(connection)
        return [*self.settled, *others] if own is None else [own.values[-1], *own.later, *others]

    def found(self, values: Sequence[Value | None]) -> None:
        """Somebody saw that it is one of these."""
        self.settled = list(values)


class Play:
    """One conversation; ``model`` keeps its keys apart from those of others."""

    def __init__(self, client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, model: str) -> None:
        self._client, self._judge, self._server, self._keys, self._profile = client, judge, server, keys, profile
        self._model = model
        self._connections: dict[int, str] = {}
        self._slots: dict[str, Slot] = {}
        self._stored: list[tuple[bytes, Step]] = []
        self.steps: list[Step] = []

    def step(self, step: Step) -> None:
        """Do one step and judge what came of it.

        Raises:
            CaseFailure: with the whole conversation as a line that can be kept.
        """
        self.steps.append(step)
        do: Callable[[Step], None] = getattr(self, f"_{step['do']}")
        try:
            do(step)
        except CaseFailure as failure:
            raise kept_as(failure, self._profile, {"outcome": ["as stored"], "program": list(self.steps)}) from None

    def end(self) -> None:
        """Close the connections and empty the mock; whatever goes wrong here belongs to no step."""
        for name in self._connections.values():
            self._client.call("close", connection=name)
        self._server.forget()

    def _put(self, step: Step) -> None:
        connection, value = self._connection(step), self._value(step["value"])
        self._stored.append((value.payload, step))
        self._slot(step["key"]).put(connection, value)
        self._client.ok("put", connection=connection, key=self._key(step["key"]), **value.stored)

    def _get(self, step: Step) -> None:
        connection, slot = self._connection(step), self._slot(step["key"])
        expect = self._expectation(step["expect"])
        answer = self._client.call("get", connection=connection, key=self._key(step["key"]), expect=expect)
        self._judge_get(answer, slot.seen_by(connection), expect)
        possible = [value for value in slot.seen_by(connection) if _fits(answer, value, expect)]
        if isinstance(answer, Error):
            self._in_step(step)
            return
        self._landed(connection)
        slot.found(possible)

    def _exist(self, step: Step) -> None:
        connection, slot = self._connection(step), self._slot(step["key"])
        possible = slot.seen_by(connection)
        exists = self._client.ok("exist", connection=connection, key=self._key(step["key"]))["exists"]
        held = [value for value in possible if (value is not None) is exists]
        holds = "that holds a value" if None not in possible else "under which nothing was stored"
        self._judge.holds(
            held,
            f"exist gave {exists!r} for a key {holds}",
            expected=step["key"],
        )
        self._landed(connection)
        slot.found(held)

    def _health(self, step: Step) -> None:
        connection = self._connection(step)
        healthy = self._client.ok("health", connection=connection)["healthy"]
        self._judge.holds(healthy is True, f"health gave {healthy!r}", cite="LM-HEALTH-001")
        self._landed(connection)

    def _reopen(self, step: Step) -> None:
        connection = self._connection(step)
        self._client.ok("close", connection=connection)
        answer = self._client.call("exist", connection=connection, key=self._key(UNKNOWN))
        self._judge.not_ok("exist", answer, because="the connection was closed", kinds=("connection",))
        del self._connections[step["on"]]

    def _write(self, step: Step) -> None:
        """Another program stores a value, and knows that it is stored."""
        value, key = self._value(step["value"]), self._key(step["key"])
        self._stored.append((value.payload, step))
        requests = [Request("PUT", key, value.payload, 4096), Request("EXIST", key, b"", 4096)]
        answers(self._keys.release, self._server, requests)
        slot = self._slot(step["key"])
        slot.put("another program", value)
        slot.landed("another program")

    def _fault(self, step: Step) -> None:
        """A get or an exist whose reply is spoiled: no wrong value comes of it, and the next answer is right."""
        connection, slot, command = self._connection(step), self._slot(step["key"]), step["ask"]
        key = self._key(step["key"])
        possible = slot.seen_by(connection)
        self._server.misbehave(f"{step['fault']},command={command.upper()}")
        try:
            if command == "get":
                expect = self._expectation(step["expect"])
                answer = self._client.call("get", connection=connection, key=key, expect=expect)
            else:
                answer = self._client.call("exist", connection=connection, key=key)
        finally:
            self._server.misbehave()
        if isinstance(answer, Error):
            self._judge.not_ok(command, answer, because=f"the reply is spoiled by {step['fault']}", kinds=HONEST)
        elif isinstance(answer, Ok) and command == "get":
            self._right_bytes(answer, possible, expect)
        elif isinstance(answer, Ok) and answer.values["exists"] is True:
            self._judge.holds(any(possible), "exist gave True for a key under which nothing was stored")
        self._in_step(step)

    def _in_step(self, step: Step) -> None:
        """The next requests on the connection are answered rightly, or it is gone and another one takes its place."""
        connection = self._connections[step["on"]]
        for key in (step["key"], UNKNOWN):
            answer = asked(self._client, "exist", connection=connection, key=self._key(key))
            possible = {value is not None for value in self._slot(key).seen_by(connection)}
            if len(possible) == 1:
                self._judge.in_step(answer, "exists", expected=possible.pop())
            if not isinstance(answer, Ok):
                self._client.call("close", connection=connection)
                del self._connections[step["on"]]
                return
        self._landed(connection)

    def _judge_get(self, answer: Answer, possible: Sequence[Value | None], expect: Mapping[str, Any]) -> None:
        if isinstance(answer, Ok):
            self._right_bytes(answer, possible, expect)
            return
        others = [value for value in possible if value is None or not self._is(value, expect)]
        self._judge.holds(
            others and not (isinstance(answer, Error) and others == [None] * len(others)),
            "get did not give the value that was stored" if not others else "get failed in the wrong way: nothing is stored",
            client_answered=in_words(answer),
            conformant_answer="the stored value" if not others else "miss",
            cite="LM-GET-002",
        )
        if isinstance(answer, Error):
            self._judge.not_ok("get", answer, because="another description was stored", kinds=("refused", "protocol"))

    def _right_bytes(self, answer: Ok, possible: Sequence[Value | None], expect: Mapping[str, Any]) -> None:
        payload = answer.values["payload"]
        due = [value.payload for value in possible if value is not None and self._is(value, expect)]
        if payload in due:
            return
        whose = [step for stored, step in self._stored if stored == payload]
        self._judge.holds(
            False,  # what holds would have returned
            "get gave bytes that were not stored under this key in this description"
            + (f"; they are those of {json.dumps(whose[-1])}" if whose else ""),
            client_answered=in_words(answer),
            conformant_answer="the value that was stored last" if due else "miss or error refused",
        )

    def _is(self, value: Value, expect: Mapping[str, Any]) -> bool:
        return (value.format, value.dtype, pad_shape(self._profile, value.shape)) == (
            expect["format"],
            expect["dtype"],
            pad_shape(self._profile, expect["shape"]),
        )

    def _landed(self, connection: str) -> None:
        for slot in self._slots.values():
            slot.landed(connection)

    def _connection(self, step: Step) -> str:
        number = step["on"]
        if number not in self._connections:
            self._connections[number] = self._client.connect(self._server)
        return self._connections[number]

    def _key(self, changes: Step) -> dict[str, Any]:
        return self._keys(**{**changes, "model": self._model + changes.get("model", "")})

    def _slot(self, changes: Step) -> Slot:
        return self._slots.setdefault(json.dumps(self._key(changes), sort_keys=True), Slot())

    def _value(self, about: Step) -> Value:
        shape = tuple(about["shape"])
        size = payload_size(about["format"], about["dtype"], shape)
        payload = patterned(about["seed"], size)
        if about["format"] == "BINARY":
            return binary(payload)
        return Value(payload, about["format"], about["dtype"], shape)

    @staticmethod
    def _expectation(about: Step) -> dict[str, Any]:
        return {name: about[name] for name in ("format", "dtype", "shape")}


def _fits(answer: Answer, value: Value | None, expect: Mapping[str, Any]) -> bool:
    if isinstance(answer, Ok):
        return value is not None and value.payload == answer.values["payload"]
    return not isinstance(answer, Miss) or value is None or value.expect != expect
