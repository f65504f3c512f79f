"""Smoke checks of clients of the multiprocess server: bytes, a round trip on a mock, nonsense, and a silent server."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from harness.client import MP_CONNECTED, MP_PURE, ClientHang, Error, Ok
from harness.mp.keys import MpKeys
from harness.mp.targets import MpTarget, mock_mp_server, seen_last
from harness.smoke.asking import Asker, CheckFailed, NotApplicable, explanation, seen_by
from harness.smoke.sketch import answer_shape
from harness.smoke.sockets import SLACK, TIMEOUT
from wire.mp.operations import FIRST_RELEASE, operation_table
from wire.release import Release

_CONNECTION: Final = "smoke-mp"
_SILENT: Final = "silent-mp"
_LARGE: Final = "large-mp"
_SENSELESS: Final = "senseless-mp"
_MUCH: Final = 1024
"""The hidden dimension with which a chunk has more bytes than a line may hold: 128 KiB."""
_TALKING: Final = ("mp_noop", "mp_chunk_size", "mp_ping", "mp_register", "mp_store", "mp_lookup", "mp_retrieve", "mp_end_session")
_NEEDED: Final = {
    "mp_chunk_size": "GET_CHUNK_SIZE",
    "mp_ping": "PING",
    "mp_end_session": "END_SESSION",
    "mp_lookup": "END_SESSION",
}
"""The operation that a release must have for a step; those of the data path need PREPARE_STORE."""
_DATA_PATH: Final = ("mp_register", "mp_store", "mp_retrieve")
_CHUNKS: Final = 2
_NOT_OK: Final = "%s is declared and its arguments make sense: answer ok"
_UNANSWERED: Final = (
    "a server gives no answer to what it cannot read: see below which operation of this release the mock took the message for, "
    "and whether its number and its payloads are those of the release"
)


def declares_mp(operations: frozenset[str]) -> bool:
    """Whether a client says anything of this wire."""
    return not operations.isdisjoint({*MP_PURE, *MP_CONNECTED})


def round_trip(asker: Asker) -> str:
    """Talk to a mock, store two chunks, find them and load them, through whatever is declared."""
    release = _require(asker)
    with mock_mp_server(release) as server, seen_by(partial(_seen, server)):
        trip = _RoundTrip(asker, server, _CONNECTION)
        steps = [op for op in _TALKING if op in asker.declared and _has(release, op)]
        for op in ("connect", *steps, "close"):
            if op in asker.declared:
                trip.step(op)
        trip.state()
    return f"round trip on a mock of the multiprocess server of release {release}: {', '.join(trip.done)}"


def small_bytes(asker: Asker) -> str:
    """A request goes out through the encoder and comes back through the decoder."""
    if not {"mp_encode_request", "mp_decode_request"} <= asker.declared:
        raise NotApplicable("mp_encode_request and mp_decode_request are not both declared")
    _require_release(asker)
    meant = {"operation": "UNREGISTER_KV_CACHE", "payloads": [7]}
    frames = asker.expect_ok("mp_encode_request", {"release": asker.release, **meant})["frames"]
    decoded = asker.expect_ok("mp_decode_request", {"release": asker.release, "frames": frames})
    if any(decoded[name] != value for name, value in meant.items()):
        todo = "mp_encode_request and mp_decode_request of one release must write and read the same frames, each as hexadecimal"
        raise asker.wrong(Ok(decoded), asker.line(ok=meant), todo)
    return f"{len(frames)} frames came from mp_encode_request and went back through mp_decode_request"


def large_bytes(asker: Asker) -> str:
    """Chunks that do not fit into lines are stored and loaded, in files of the scratch directory."""
    release = _require(asker)
    if not {*_DATA_PATH, "mp_lookup", "close"} <= asker.declared or not _has(release, "mp_store"):
        raise NotApplicable(f"{', '.join(_DATA_PATH)}, mp_lookup and close are not all declared, or the release has none of them")
    before = asker.session.leftovers
    with mock_mp_server(release) as server, seen_by(partial(_seen, server)):
        trip = _RoundTrip(asker, server, _LARGE, hidden_dim_size=_MUCH)
        for op in ("connect", "mp_register", "mp_store", "mp_lookup", "mp_retrieve", "close"):
            trip.step(op)
    if asker.session.leftovers > before:
        raise CheckFailed(
            explanation(
                "a file that was sent is still in the scratch directory",
                asker.session.last_sent,
                asker.session.last_received,
                "whoever receives a file deletes it",
                "delete each file once it is read; of the ones that you wrote the harness takes care",
            )
        )
    return f"{_CHUNKS} chunks of {trip.chunk_bytes} bytes were stored and came back"


def senseless_argument(asker: Asker) -> str:
    """A range that is longer than the tokens is declined, whatever a server would make of it."""
    release = _require(asker)
    if "mp_lookup" not in asker.declared or not _has(release, "mp_lookup"):
        raise NotApplicable("mp_lookup is not declared, or the release has none")
    with mock_mp_server(release) as server, seen_by(partial(_seen, server)):
        asker.expect_ok("connect", _connect(_SENSELESS, asker, server, asker.deadline))
        key = MpKeys(server.release)(_CHUNKS)
        longer = {**key, "end": key["end"] + server.chunk_size}
        why = "a range that ends behind the last token is refused: servers do not agree about what it means"
        declined = asker.expect_decline("mp_lookup", {"connection": _SENSELESS, "key": longer, "tp_size": 1}, why)
        if "close" in asker.declared:
            asker.ask("close", {"connection": _SENSELESS})
    return declined


def deadline(asker: Asker) -> str:
    """A wait for a server that never answers ends by itself."""
    release = _require(asker)
    op = next((op for op in ("mp_noop", "mp_chunk_size", "mp_ping") if op in asker.declared and _has(release, op)), None)
    if op is None:
        raise NotApplicable("none of mp_noop, mp_chunk_size and mp_ping is declared")
    with mock_mp_server(release) as server, seen_by(partial(_seen, server)):
        server.misbehave("drop-reply")
        asker.expect_ok("connect", _connect(_SILENT, asker, server, TIMEOUT))
        arguments = {"connection": _SILENT, **({"instance_id": None} if op == "mp_ping" else {})}
        began = time.monotonic()
        expected = '{"id": %s, "error": {"class": "timeout", "message": "..."}}'
        todo = "this wire has no error replies: an operation must end within the timeout_ms of connect, with error timeout"
        try:
            answer = asker.ask(op, arguments, deadline=TIMEOUT + SLACK)
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


def _require(asker: Asker) -> Release:
    if "connect" not in asker.declared or asker.declared.isdisjoint(_TALKING):
        raise NotApplicable(f"connect and one of {', '.join(_TALKING)} are not both declared")
    return _require_release(asker)


def _require_release(asker: Asker) -> Release:
    release = Release.parse(asker.release)
    if release < FIRST_RELEASE:
        raise NotApplicable(f"the client declares no release from {FIRST_RELEASE} on")
    return release


def _has(release: Release, op: str) -> bool:
    needed = "PREPARE_STORE" if op in _DATA_PATH else _NEEDED.get(op, "NOOP")
    return needed in operation_table(release)


class _RoundTrip:
    """Two chunks on their way to a mock and back."""

    def __init__(self, asker: Asker, server: MpTarget, connection: str, **layout: int) -> None:
        self._asker = asker
        self._connection = connection
        self._server = server
        self._keys = MpKeys(server.release)
        self._key = self._keys(_CHUNKS)
        self._context = self._keys.context(**layout)
        self._chunks = self._keys.chunks(_CHUNKS, self._context)
        self.chunk_bytes = self._keys.chunk_bytes(self._context)
        self._stored = False
        self.done: list[str] = []

    def step(self, op: str) -> None:
        """One operation, and whether its result is right."""
        if (op == "mp_store" and "mp_register" not in self.done) or (op == "mp_retrieve" and not self._stored):
            return
        if op == "mp_retrieve" and "mp_lookup" not in self.done:
            return
        self.done.append(op)
        answer = self._asker.ask(op, self._arguments(op))
        if not isinstance(answer, Ok):
            timed_out = isinstance(answer, Error) and answer.kind == "timeout"
            raise self._asker.wrong(answer, self._asker.line(ok=answer_shape(op)), _UNANSWERED if timed_out else _NOT_OK % op)
        values = answer.values
        wanted = self._wanted(op)
        different = [name for name, value in wanted.items() if values[name] != value]
        if different:
            shown = {
                name: [{"hex": each.hex()} for each in value] if name == "chunks" else value for name, value in wanted.items()
            }
            todo = "hand out what the server says, and the bytes as they were stored"
            raise self._asker.wrong(Ok(values), self._asker.line(ok=shown), todo, what=f"{different[0]} is not what it should be")
        self._stored = self._stored or op == "mp_store"

    def state(self) -> None:
        """Whether a closed connection is counted no more."""
        if "close" not in self._asker.declared:
            return
        values = self._asker.expect_ok("state", {})
        if values["connections"]:
            raise self._asker.wrong(
                Ok(values), self._asker.line(ok={"connections": 0}), "a connection that was closed is not counted"
            )

    def _arguments(self, op: str) -> dict[str, Any]:
        if op == "connect":
            return _connect(self._connection, self._asker, self._server, self._asker.deadline / 2)
        instance = {"instance_id": self._keys.instance}
        more: dict[str, dict[str, Any]] = {
            "mp_ping": {"instance_id": None},
            "mp_register": {**instance, "context": self._context},
            "mp_store": {**instance, "key": self._key, "chunks": self._chunks},
            "mp_lookup": {"key": self._key, "tp_size": 1},
            "mp_retrieve": {**instance, "key": self._key},
            "mp_end_session": {"request_id": self._key["request_id"]},
        }
        return {"connection": self._connection, **more.get(op, {})}

    def _wanted(self, op: str) -> Mapping[str, Any]:
        table: dict[str, dict[str, Any]] = {
            "mp_chunk_size": {"chunk_size": self._server.chunk_size},
            "mp_ping": {"alive": True},
            "mp_store": {"stored": True},
            "mp_lookup": {"hits": _CHUNKS if self._stored else 0},
            "mp_retrieve": {"chunks": self._chunks},
        }
        return table.get(op, {})


def _hexadecimal(value: Any) -> Any:
    """A value with its bytes as a line has them."""
    if isinstance(value, list):
        return [_hexadecimal(element) for element in value]
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _connect(name: str, asker: Asker, server: MpTarget, timeout: float) -> dict[str, Any]:
    about = {"protocol": "mp", "host": server.host, "port": server.port, "release": asker.release}
    return {"connection": name, **about, "timeout_ms": round(timeout * 1000)}


def _seen(server: MpTarget) -> str:
    seen = seen_last(server)["exchange"]
    return f"the mock of the multiprocess server at {server.host}:{server.port}, release {server.release}: {seen}"
