"""Every client at every server, the same collisions of many pairs once, and what survives when one side is updated first."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from reports.collisions.demonstration import Demonstration
from reports.collisions.dialect import Dialect, generations
from reports.collisions.fates import Fate, Pair, pair_of
from wire.release import Release


@dataclass(frozen=True)
class Generation:
    """Releases of which no request has another outcome, whoever sends or reads it."""

    label: str
    """A letter."""
    releases: tuple[str, ...]

    @property
    def newest(self) -> str:
        """The release that stands for all."""
        return self.releases[-1]

    @property
    def name(self) -> str:
        """The first and the last release."""
        return self.newest if len(self.releases) == 1 else f"{self.releases[0]} to {self.newest}"


@dataclass(frozen=True)
class Collision:
    """One fate wherever it is met; details differ."""

    fate: Fate
    """In the first pair."""
    pairs: tuple[tuple[str, str], ...]
    """Newest releases of the generations: client and server."""


@dataclass(frozen=True)
class Step:
    """Two generations that follow each other, and what happens while one side is updated and the other is not."""

    old: Generation
    new: Generation
    server_first: Pair
    """Old clients at the new server."""
    clients_first: Pair
    """New clients at the old server."""


@dataclass(frozen=True)
class Collisions:
    """All pairs of some releases."""

    tool_version: str
    clients: tuple[str, ...]
    servers: tuple[str, ...]
    generations: tuple[Generation, ...]
    """Of clients and servers together, oldest first."""
    played: Mapping[tuple[str, str], Pair]
    """By newest releases of generations."""
    sources: Mapping[str, str]
    """Release to where its operation table comes from: ``captured`` or ``tables``."""
    demonstrations: Sequence[Demonstration] = ()

    def generation(self, release: str) -> Generation:
        """The generation of a release."""
        return next(found for found in self.generations if release in found.releases)

    def pair(self, client: str, server: str) -> Pair:
        """One pair of releases."""
        return self.played[self.generation(client).newest, self.generation(server).newest]

    @cached_property
    def client_generations(self) -> list[Generation]:
        """Those with a client."""
        return [found for found in self.generations if set(found.releases) & set(self.clients)]

    @cached_property
    def server_generations(self) -> list[Generation]:
        """Those with a server."""
        return [found for found in self.generations if set(found.releases) & set(self.servers)]

    @cached_property
    def pairs(self) -> list[Pair]:
        """One for each client's and each server's generation."""
        return [self.played[one.newest, other.newest] for one in self.client_generations for other in self.server_generations]

    @cached_property
    def collisions(self) -> list[Collision]:
        """Everything that is not the same, each once, the worst first."""
        found: dict[tuple[object, ...], tuple[Fate, list[tuple[str, str]]]] = {}
        for pair in self.pairs:
            for fate in pair.troubles:
                found.setdefault(fate.signature, (fate, []))[1].append((pair.client, pair.server))
        ordered = sorted(found.values(), key=lambda item: (item[0].grade.rank, -len(item[1]), item[0].operation))
        return [Collision(fate, tuple(pairs)) for fate, pairs in ordered]

    @cached_property
    def steps(self) -> list[Step]:
        """Generations that follow each other, as far as both are clients and servers here."""
        both = [found for found in self.client_generations if found in self.server_generations]
        return [
            Step(old, new, self.played[old.newest, new.newest], self.played[new.newest, old.newest])
            for old, new in pairwise(both)
        ]


def collide(
    tool_version: str,
    dialects: Mapping[Release, Dialect],
    clients: Sequence[Release],
    servers: Sequence[Release],
    sources: Mapping[str, str],
) -> Collisions:
    """Every client at every server; releases that speak alike are played once."""
    wanted = {*clients, *servers}
    groups = generations([dialect for release, dialect in dialects.items() if release in wanted])
    played = {
        (str(one[-1].release), str(other[-1].release)): pair_of(one[-1], other[-1])
        for one in groups
        if {dialect.release for dialect in one} & set(clients)
        for other in groups
        if {dialect.release for dialect in other} & set(servers)
    }
    return Collisions(
        tool_version=tool_version,
        clients=tuple(map(str, sorted(clients))),
        servers=tuple(map(str, sorted(servers))),
        generations=tuple(
            Generation(_letters(index), tuple(str(dialect.release) for dialect in group)) for index, group in enumerate(groups)
        ),
        played=played,
        sources=dict(sources),
    )


def _letters(index: int) -> str:
    letters = string.ascii_lowercase
    return letters[index] if index < len(letters) else letters[index // len(letters) - 1] + letters[index % len(letters)]
