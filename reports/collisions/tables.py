"""Operation tables of releases: what was captured, or the tables of the wire where nothing is captured yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from fixturegen.corpus import captured_releases, load_corpus
from reports.collisions.dialect import Dialect, table_of
from wire.mp.operations import operation_table
from wire.release import Release

Source = Literal["captured", "tables"]


def dialects(releases: Iterable[Release]) -> Mapping[Release, tuple[Dialect, Source]]:
    """How each release speaks, and where that is known from.

    Raises:
        UnknownReleaseError: a release is older than the protocol.
        CorpusError: a capture is damaged.
    """
    captured = captured_releases(protocol="mp")
    return {
        release: _captured(release) if release in captured else (Dialect.of(operation_table(release)), "tables")
        for release in releases
    }


def _captured(release: Release) -> tuple[Dialect, Source]:
    (vector,) = load_corpus(release, protocol="mp").vectors["mp_operations"]
    return Dialect.of(table_of(release, vector.answer)), "captured"
