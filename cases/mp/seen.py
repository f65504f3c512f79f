"""What the mock saw of a client: whole requests, held against those that an operation stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cases.mp.messages import request_in_words
from cases.mp.workers import CHUNK, Request
from harness.judge import Judge
from harness.mp.journal import Exchange
from harness.mp.targets import MpTarget
from wire.mp.operations import OperationTable
from wire.mp.records import key_record
from wire.mp.values import pack

ANY: Final = object()
"""A payload, or a member of one, that is the client's choice."""
POLLS: Final = ("QUERY_PREFETCH_STATUS", "WAIT_PREFETCH_STATUS")
REQUIREMENT_OF: Final = {
    "token_ids": "MP-KEY-001",
    "start": "MP-KEY-001",
    "end": "MP-KEY-006",
    "worker_id": "MP-KEY-002",
    "num_kv_readers": "MP-KEY-003",
    "cache_salt": "MP-KEY-004",
}


@dataclass(frozen=True)
class Wanted:
    """One request that is due: its operation and its payloads."""

    name: str
    payloads: Sequence[Any] = field(default_factory=tuple)


class Watch:
    """The requests of a client from here on."""

    def __init__(self, judge: Judge, server: MpTarget, table: OperationTable) -> None:
        self._judge, self._server, self._table = judge, server, table
        self._skipped = len(self._all())

    def requests(self) -> list[Exchange]:
        """Those that came since, without a GET_CHUNK_SIZE, which a client may always ask."""
        return [exchange for exchange in self._all()[self._skipped :] if exchange.operation != "GET_CHUNK_SIZE"]

    def sent(self, *due: Wanted) -> None:
        """Exactly these requests came, each as the release has it."""
        found = self.requests()
        names = [exchange.operation for exchange in found]
        wanted = [wanted.name for wanted in due]
        self._judge.holds(
            names == wanted,
            f"the server saw {_listed(names)}; the operation stands for {_listed(wanted)}",
            cite="MP-REQ-007",
        )
        for exchange, one in zip(found, due, strict=True):
            self.like(exchange, one)

    def like(self, exchange: Exchange, wanted: Wanted) -> None:
        """A request is the one that is due."""
        operation = self._table.named(wanted.name)
        payloads = [pack(_plain(payload)) for payload in wanted.payloads]
        expected = request_in_words(self._judge, self._table, operation, [pack(operation.number), *payloads])
        got = request_in_words(self._judge, self._table, operation, exchange.frames[1:])
        for index, payload in enumerate(wanted.payloads):
            place = f"payload {index}"
            if payload is ANY:
                expected[place] = got.get(place)
            elif isinstance(payload, Mapping) and isinstance(got.get(place), Mapping):
                chosen = {name for name, value in payload.items() if value is ANY} & set(expected[place])
                expected[place] |= {name: got[place].get(name) for name in chosen}
        self._judge.same_value(expected, got, what=f"the {wanted.name} request", cite=_cite(expected, got))

    def _all(self) -> list[Exchange]:
        return list(self._server.journal.exchanges())


def _plain(payload: Any) -> Any:
    if isinstance(payload, Mapping):
        return {name: None if value is ANY else value for name, value in payload.items()}
    return None if payload is ANY else payload


def record(table: OperationTable, wanted: Request, rank: int | None) -> dict[str, Any]:
    """The key that a request has on the wire, whole chunks alone."""
    end = len(wanted.tokens) if wanted.end < 0 else wanted.end
    members = {
        "model_name": wanted.model,
        "world_size": wanted.world_size,
        "worker_id": rank,
        "token_ids": list(wanted.tokens),
        "start": wanted.start,
        "end": end - end % CHUNK,
        "request_id": wanted.id,
        "chunk_hash": None,
        "cache_salt": wanted.salt,
        "request_configs": None,
        "num_kv_readers": wanted.readers,
    }
    return key_record(table.release, members)


def _cite(expected: Mapping[str, Any], got: Mapping[str, Any]) -> str:
    """The requirement that speaks of the first difference."""
    if expected["operation"] != got["operation"]:
        return "MP-REQ-001"
    for name, value in expected.items():
        other = got.get(name)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            for member in value:
                if value[member] != other.get(member) and member in REQUIREMENT_OF:
                    return REQUIREMENT_OF[member]
    return "MP-REQ-002"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
