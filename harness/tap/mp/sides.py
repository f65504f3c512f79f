"""What both sides of all connections may be, together with what an earlier hearing of the same recording found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.tap.mp.candidates import Side, group_of
from harness.tap.mp.connection import Connection
from wire.release import Release

MOST_CONNECTIONS: Final = 4096


@dataclass
class Sides:
    """The server, and the clients of all connections."""

    profile: Release | None = None
    """The release that both sides are said to be, or the newest that cannot be told from it."""
    earlier: Sides | None = None
    server: Side = field(default_factory=Side)
    clients: Side = field(default_factory=Side)
    """What all clients together may be."""
    connections: dict[int, Connection] = field(default_factory=dict)

    @classmethod
    def of(cls, profile: Release | None, earlier: Sides | None) -> Sides:
        """For a release as a user names it."""
        return cls(None if profile is None else group_of(profile)[-1], earlier)

    def connection(self, number: int) -> Connection:
        """A connection; of very many the oldest are forgotten, first those that have ended."""
        found = self.connections.get(number)
        if found is None:
            if len(self.connections) >= MOST_CONNECTIONS:
                ended = next((one.number for one in self.connections.values() if one.ended), None)
                del self.connections[next(iter(self.connections)) if ended is None else ended]
            found = self.connections[number] = Connection(number)
        return found

    def client_candidates(self, connection: Connection) -> Sequence[Release]:
        """What the client of a connection may be: what all of them may be together, if they may be one release.

        A client that reads and writes as the server's release does, only not byte for byte as lmcache, may be of that one.
        """
        found = list(self.clients.candidates or connection.client.candidates)
        sides = self.about(connection.number)
        if self.earlier is not None:
            sides = self.earlier.about(connection.number) or sides
            known = next((side.candidates for side in sides if side.candidates), ())
            found = [release for release in found if release in known] or found
        servers = self.server_candidates()
        if not set(servers) & set(found):
            found += [release for release in servers if all(release in side.alive["loose"] for side in sides)]
        return [self.profile] if self.profile is not None and self.profile in found else found

    def server_candidates(self) -> Sequence[Release]:
        """What the server may be; it is taken to be of the profile where there is one."""
        if self.profile is not None:
            return [self.profile]
        own = self.server.candidates
        known = self.earlier.server.candidates if self.earlier is not None else own
        return [release for release in own if release in known] or list(own)

    def about(self, number: int) -> list[Side]:
        """What is known of the client of a connection: of all clients, if they may be one release, and of itself."""
        connection = self.connections.get(number)
        own = [connection.client] if connection is not None else []
        return [self.clients, *own] if self.clients.candidates else own
