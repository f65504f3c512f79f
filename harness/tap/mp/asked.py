"""A request that waits for its reply, without its payloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.tap.mp.candidates import Reading, Side, Wrong, groups, operation_in, wrong_request
from harness.tap.mp.dealings import Dealt
from harness.tap.mp.parts import STREAM, Parts
from wire.mp.operations import Operation, operation_table
from wire.mp.values import shown
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


@dataclass
class Look:
    """What is wrong with one request to each release; each is asked once."""

    parts: Parts
    _found: dict[tuple[Release, Reading], Wrong | None] = field(default_factory=dict)

    def __call__(self, release: Release, reading: Reading) -> Wrong | None:
        """The first byte that the release would not have written, or does not take."""
        place = release, reading
        if place not in self._found:
            self._found[place] = wrong_request(release, self.parts, reading)
        return self._found[place]

    def fits_any(self) -> bool:
        """Whether it is a request of any release; what is none says nothing of its sender."""
        newest = (group[-1] for group in groups())
        return any(wrong is None for (_, reading), wrong in self._found.items() if reading == "loose") or any(
            self(release, "loose") is None for release in newest
        )


def meanings(parts: Parts, clients: Iterable[Release]) -> dict[Release, Operation | None]:
    """What a request is to each client."""
    found = {}
    for release in clients:
        table = operation_table(release)
        found[release] = table.named(STREAM) if parts.of_stream and STREAM in table else operation_in(table, parts)
    return found


def weigh_request(side: Side, connection: int, at: float, parts: Parts, look: Look) -> bool:
    """What a request says about the release of the client."""
    number = parts.number
    name = f"operation {shown(number, 40)}" if number is not None else "a message"
    return side.weigh(connection, at, name, look)
