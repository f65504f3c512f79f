"""Operation tables of releases: what was captured, or the tables of the wire where nothing is captured yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from reports.collisions.dialect import Dialect
from wire.mp.operations import operation_table
from wire.release import Release

Source = Literal["captured", "tables"]


def dialects(releases: Iterable[Release]) -> Mapping[Release, tuple[Dialect, Source]]:
    """How each release speaks, and where that is known from.

    Raises:
        UnknownReleaseError: a release is older than the protocol.
        CorpusError: a capture is damaged.
    """
    return {release: (Dialect(operation_table(release)), "tables") for release in releases}
