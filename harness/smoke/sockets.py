"""Smoke checks over sockets: one round trip on a mock server, and a server that never answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from harness.client import ClientHang, Error, Miss, Ok
from harness.clients.contract import shorten
from harness.clients.samples import sample_key
from harness.smoke.asking import Asker, CheckFailed, NotApplicable, explanation, seen_by
from harness.targets import Server, mock_server
from harness.values import Value, sample
from mockserver.journal import Journal
from wire.lm.frames import Description
from wire.lm.profile import lm_profile
from wire.release import Release

TIMEOUT: Final = 0.5
"""Seconds that a wait on the connection to a silent server may take."""
SLACK: Final = 5.0
"""Seconds that the answer may come later than that: machines are slow at times."""
_ACCEPTED_WITHIN: Final = 1.0
"""Seconds in which the mock has taken a connection that a client made."""
_CONNECTION: Final = "smoke"
_SILENT: Final = "silent"
"""A name of its own, since a round trip that failed leaves its connection open."""
_TALKING: Final = ("exist", "get", "put", "health")
_WAITING: Final = ("exist", "get", "health")


def round_trip(asker: Asker) -> str:
    """Store and load one value through whatever is declared."""
    steps = _require(asker, _TALKING)
    release = Release.parse(asker.release)
    with mock_server(release) as server, seen_by(partial(_seen, server)):
        trip = _RoundTrip(asker, server, sample(lm_profile(release)))
        for op in ("connect", *steps, "close"):
            if op in asker.declared:
                trip.done.append(op)
                getattr(trip, op)()
        trip.state()
    return f"round trip on a mock of release {release}: {', '.join(trip.done)}"


def deadline(asker: Asker) -> str:
    """A wait for a server that never answers ends by itself."""
    (op, *_) = _require(asker, _WAITING)
    with mock_server(Release.parse(asker.release)) as server, seen_by(partial(_seen, server)):
        server.misbehave("drop-reply")
        asker.expect_ok("connect", _connect(_SILENT, asker, server, TIMEOUT))
        began = time.monotonic()
        expected = '{"id": %s, "error": {"class": "timeout", "message": "..."}}'
        todo = "no wait on a socket may be longer than the timeout_ms of connect; when it is over, answer error timeout"
        try:
            answer = asker.ask(op, _arguments(_SILENT, asker, op), deadline=TIMEOUT + SLACK)
        except ClientHang as hang:
            words, *more = map(str.strip, str(hang).split("\n"))
            what = f"{words}; the server does not answer, and timeout_ms was {TIMEOUT * 1000:.0f}"
            raise CheckFailed(explanation(what, asker.session.last_sent, "", expected % asker.id, todo, *more)) from None
        took = time.monotonic() - began
        if not isinstance(answer, Error):
            raise asker.wrong(answer, expected % asker.id, todo, what=f"the server did not answer {op}, and the client did")
        if "close" in asker.declared:
            asker.ask("close", {"connection": _SILENT})
    remark = "" if answer.kind == "timeout" else "; class timeout would say it better"
    limit = f"timeout_ms {TIMEOUT * 1000:.0f}"
    return f"{op} of a silent server ended after {took * 1000:.0f} ms with error {answer.kind}, {limit}{remark}"


def _require(asker: Asker, wanted: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(op for op in wanted if op in asker.declared)
    if "connect" not in asker.declared or not found:
        raise NotApplicable(f"connect and one of {', '.join(wanted)} are not both declared")
    return found


class _RoundTrip:
    """One value on its way to a mock server and back; each method is a step, named after its operation."""

    def __init__(self, asker: Asker, server: Server, value: Value) -> None:
        self._asker = asker
        self._server = server
        self._value = value
        self.done: list[str] = []

    def connect(self) -> None:
        self._asker.expect_ok("connect", _connect(_CONNECTION, self._asker, self._server, self._asker.deadline))

    def health(self) -> None:
        self._expect("health", {"healthy": True}, "the mock answers HEALTH with success")

    def exist(self) -> None:
        self._expect("exist", {"exists": False}, "ask the server: nothing is stored under this key yet")

    def get(self) -> None:
        answer = self._asker.ask("get", self._arguments("get"))
        if not isinstance(answer, Miss):
            todo = "ask the server: nothing is stored under this key yet, and a get is answered miss"
            raise self._asker.wrong(answer, self._asker.line(miss=True), todo)
        if "put" not in self._asker.declared:
            self._place()
            self._load()

    def put(self) -> None:
        self._asker.expect_ok("put", self._arguments("put"))
        if "exist" in self._asker.declared:
            self._expect("exist", {"exists": True}, "the value was stored by the put before")
        if "get" in self._asker.declared:
            self._load()
        else:
            self._arrived()

    def close(self) -> None:
        self._asker.expect_ok("close", {"connection": _CONNECTION})

    def state(self) -> None:
        if "close" not in self._asker.declared:
            return
        values = self._asker.expect_ok("state", {})
        if values["connections"]:
            todo = "a connection that was closed is not counted, also when a pool keeps its socket"
            raise self._asker.wrong(Ok(values), self._asker.line(ok={"connections": 0}), todo)

    def _arguments(self, op: str) -> dict[str, Any]:
        return _arguments(_CONNECTION, self._asker, op)

    def _expect(self, op: str, wanted: Mapping[str, Any], todo: str) -> None:
        values = self._asker.expect_ok(op, self._arguments(op))
        if any(values[name] != value for name, value in wanted.items()):
            raise self._asker.wrong(Ok(values), self._asker.line(ok=dict(wanted)), todo)

    def _load(self) -> None:
        values = self._asker.expect_ok("get", self._arguments("get"))
        wanted = {"payload": self._value.payload, **self._value.expect}
        different = [name for name, value in wanted.items() if values[name] != value]
        if different:
            what = f"{different[0]} is not what was stored"
            shown = {name: {"hex": value.hex()} if isinstance(value, bytes) else value for name, value in wanted.items()}
            todo = "hand out the payload and its description as the server sends them"
            raise self._asker.wrong(Ok(values), self._asker.line(ok=shown), todo, what=what)

    def _place(self) -> None:
        """Put the value where the client looked for it."""
        looked = self._server.journal.last_exchange("GET")
        mock = self._server.mock
        assert mock is not None
        if looked is None:
            raise CheckFailed(
                explanation(
                    "get answered miss and asked nobody",
                    self._asker.session.last_sent,
                    self._asker.session.last_received,
                    "a miss after the server was asked",
                    "send one GET for each get",
                )
            )
        value = self._value
        mock.preload(looked.key, Description(len(value.payload), value.format, value.dtype, value.shape), value.payload)

    def _arrived(self) -> None:
        """Whether the mock got the value that a client stored which cannot load it."""
        with suppress(TimeoutError):
            self._server.journal.wait_for(_stored, self._asker.deadline)
        seen = self._server.journal.last_exchange("PUT")
        if seen is None or seen.payload != self._value.payload:
            expected = f"a PUT with {len(self._value.payload)} bytes of payload at the mock, once the answer is there"
            todo = "send the header and the whole payload before answering put"
            raise CheckFailed(explanation("", self._asker.session.last_sent, self._asker.session.last_received, expected, todo))


def _stored(journal: Journal) -> bool:
    seen = journal.last_exchange("PUT")
    return seen is not None and seen.done


def _connect(name: str, asker: Asker, server: Server, timeout: float) -> dict[str, Any]:
    about = {"protocol": "lm", "host": server.host, "port": server.port, "release": asker.release}
    return {"connection": name, **about, "timeout_ms": round(timeout * 1000)}


def _arguments(name: str, asker: Asker, op: str) -> dict[str, Any]:
    value = sample(lm_profile(Release.parse(asker.release)))
    about = {"connection": name, "key": sample_key(asker.release)}
    table: dict[str, dict[str, Any]] = {
        "exist": about,
        "get": {**about, "expect": value.expect},
        "put": {**about, **value.stored},
        "health": {"connection": name},
    }
    return table[op]


def _seen(server: Server) -> str:
    journal = server.journal
    begin = f"the mock server at {server.host}:{server.port} saw"
    with suppress(TimeoutError):  # a client can be through with a connection that is not yet accepted
        journal.wait_for(lambda known: known.connection_count, _ACCEPTED_WITHIN)
    if not journal.connection_count:
        return f"{begin} no connection"
    last = journal.last_exchange()
    ended = next((f"; it ended: {record.ending}" for record in reversed(journal.connections()) if record.ending), "")
    if last is None:
        return f"{begin} a connection and no whole request{ended}"
    payload = f", {last.payload_length} bytes of payload" if last.command == "PUT" else ""
    return f"{begin} last: {last.command} {shorten(last.key)}{payload}, header {last.header.hex()}{ended}"
