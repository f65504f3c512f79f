"""A request that waits for its reply, without its payloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.tap.mp.candidates import Side, Wrong, operation_in, wrong_request
from harness.tap.mp.dealings import Dealt, dealt
from harness.tap.mp.parts import STREAM, Parts
from wire.mp.operations import Operation, operation_table
from wire.release import Release


@dataclass(eq=False)
class Asked:
    """What is kept of a request."""

    connection: int
    at: float
    exchange: int
    """Its place among the requests of the connection, from 1."""
    uid: bytes
    operation: bytes
    """The frame of the operation."""
    offset: int
    """Where the message begins in what the client sent."""
    place: int
    """Where the body of the operation's frame stands in it."""
    dealt: Mapping[Release, Dealt]
    """What becomes of it at the servers that it may have gone to."""
    meant: Mapping[Release, Operation | None]
    """What it is to the clients that it may have come from."""
    patience: float = 0.0
    """Seconds that its payloads ask the server to wait."""
    told: set[str] = field(default_factory=set)
    """Rules that were found to apply."""
    facts: dict[str, object] = field(default_factory=dict)
    """What flows keep of it."""

    @property
    def of_stream(self) -> bool:
        """Whether many replies come."""
        return any(operation is not None and operation.name == STREAM for operation in self.meant.values())

    def name(self, clients: Iterable[Release]) -> str:
        """What it is called: by the newest client that it may have come from."""
        known = [release for release in clients if self.meant.get(release) is not None]
        operation = self.meant[max(known)] if known else next(filter(None, self.meant.values()), None)
        return operation.name if operation is not None else f"operation {self.operation[:8].hex() or '(empty)'}"

    def meaning(self, clients: Iterable[Release]) -> str | None:
        """The newest name of the operation that it means to every client that it may have come from; None if they differ."""
        found = {operation.meaning if (operation := self.meant.get(release)) is not None else None for release in clients}
        return found.pop() if len(found) == 1 else None


def read(
    parts: Parts, client: Iterable[Release], servers: Iterable[Release]
) -> tuple[dict[Release, Wrong | None], dict[Release, Dealt]]:
    """What is wrong with a request to each release in the loose reading, and what becomes of it at each server."""
    wrong = {release: wrong_request(release, parts, "loose") for release in dict.fromkeys([*client, *servers])}
    return wrong, {release: dealt(release, parts, wrong[release]) for release in servers}


def meanings(parts: Parts, clients: Iterable[Release]) -> dict[Release, Operation | None]:
    """What a request is to each client."""
    found = {}
    for release in clients:
        table = operation_table(release)
        found[release] = table.named(STREAM) if parts.of_stream and STREAM in table else operation_in(table, parts)
    return found


def weigh_request(side: Side, connection: int, at: float, parts: Parts, loose: Mapping[Release, Wrong | None]) -> bool:
    """What a request says about the release of the client."""
    number = parts.number
    name = f"operation {number!r:.40}" if number is not None else "a message"
    return side.weigh(
        connection,
        at,
        name,
        lambda release, reading: (
            loose[release] if reading == "loose" and release in loose else wrong_request(release, parts, reading)
        ),
    )
