"""The dissector of Wireshark for the multiprocess server: code written by hand, with the operations of ``wire.mp`` in front."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from docs.generator.machine.kaitai import FOLDER
from reports.documents import templates
from wire.mp.operations import FIRST_RELEASE, operation_table
from wire.release import KNOWN_RELEASES, Release, ReleaseRange

MP: Final = f"{FOLDER}/lmcache_mp.lua"


@dataclass(frozen=True)
class Entry:
    """What may stand in the frame of an operation, as a key of a table in Lua; its name, and its payloads in words."""

    key: str
    name: str
    payloads: tuple[str, ...]


@dataclass(frozen=True)
class MpGeneration:
    """A run of releases with the same operations."""

    releases: ReleaseRange
    operations: tuple[Entry, ...]

    @property
    def first(self) -> Release:
        """The oldest of them."""
        return self.releases.first

    @property
    def last(self) -> Release | None:
        """The newest of them; None of the newest run."""
        return self.releases.last


def mp_dissector() -> str:
    """The whole file."""
    template = templates("docs.generator.machine", html=False).get_template("lmcache_mp.lua.j2")
    return template.render(generations=list(mp_generations()), first=FIRST_RELEASE, last=KNOWN_RELEASES[-1])


def mp_generations() -> Iterator[MpGeneration]:
    """Every run of releases, oldest first."""
    releases = [release for text in KNOWN_RELEASES if (release := Release.parse(text)) >= FIRST_RELEASE]
    for operations, same in itertools.groupby(releases, _entries):
        run = list(same)
        last = None if run[-1] == releases[-1] else run[-1]
        yield MpGeneration(ReleaseRange(run[0], last), operations)


def _entries(release: Release) -> tuple[Entry, ...]:
    table = operation_table(release)
    entries = []
    for operation in table.operations:
        payloads = tuple(map(str, operation.payloads))
        named = f'"{operation.name.lower()}"'
        if isinstance(operation.number, int):
            entries.append(Entry(str(operation.number), operation.name, payloads))
        if table.accepts_names or isinstance(operation.number, str):
            entries.append(Entry(named, operation.name, payloads))
    return tuple(entries)
