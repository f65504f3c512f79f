"""The captured releases, the wires that each has, and which of them stand for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.manifest import Protocol
from harness.compat.generations import generations, server_seal
from wire.release import Release

PROTOCOLS: Final[tuple[Protocol, ...]] = ("lm", "mp")


@dataclass(frozen=True)
class Captured:
    """A release of the corpus.

    Attributes:
        release: which one.
        generation: for each wire that it has, the newest release whose captures are the same.
    """

    release: Release
    generation: Mapping[Protocol, Release]

    def newest(self, protocols: Sequence[Protocol]) -> bool:
        """Whether it is the newest of its generation on one of these wires."""
        return any(self.generation.get(protocol) == self.release for protocol in protocols)

    def to_json(self) -> dict[str, Any]:
        """As ``lmconform releases --format json`` writes it."""
        return {"release": str(self.release), "generation": {wire: str(newest) for wire, newest in self.generation.items()}}


def captured() -> list[Captured]:
    """Every release of the corpus, oldest first.

    Of one generation are releases of ``lm://`` whose frames, keys and conversations are byte-identical, as ``lmconform compat``
    has it, and releases of the multiprocess wire all of whose captures are.

    Raises:
        CorpusError: the corpus of a release is damaged.
    """
    found: dict[Release, dict[Protocol, Release]] = {}
    for protocol in PROTOCOLS:
        for group in generations(captured_releases(protocol=protocol), server_seal if protocol == "lm" else _mp_seal):
            for release in group:
                found.setdefault(release, {})[protocol] = group[-1]
    return [Captured(release, found[release]) for release in sorted(found)]


def _mp_seal(release: Release) -> str:
    captures = load_corpus(release, protocol="mp").manifest.files
    return " ".join(f"{name} {entry.sha256}" for name, entry in sorted(captures.items()))
