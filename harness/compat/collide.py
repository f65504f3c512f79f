"""``lmconform compat --protocol mp``: every client at every server, derived; and demonstrations on running servers."""

from __future__ import annotations

from collections.abc import Sequence

from harness.usage import UsageError
from harness.version import TOOL_VERSION
from reports.collisions.matrix import Collisions, collide
from reports.collisions.tables import dialects
from wire.mp.operations import FIRST_RELEASE
from wire.release import Release


def collisions_of(clients: Sequence[Release], servers: Sequence[Release]) -> Collisions:
    """Everything that can be derived without a server.

    Raises:
        UsageError: no release is left.
        CorpusError: a capture is damaged.
    """
    found = dialects(sorted({*clients, *servers}))
    return collide(
        TOOL_VERSION,
        {release: dialect for release, (dialect, _) in found.items()},
        clients,
        servers,
        {str(release): source for release, (_, source) in found.items()},
    )


def speakers(option: str, releases: Sequence[Release], *, named: bool) -> list[Release]:
    """The releases that have the protocol; one that was named and has not is refused.

    Raises:
        UsageError: a named release is older than the protocol.
    """
    old = [release for release in releases if release < FIRST_RELEASE]
    if named and old:
        raise UsageError(f"{option}: lmcache {old[0]} has no multiprocess server; its protocol begins with {FIRST_RELEASE}")
    return [release for release in releases if release >= FIRST_RELEASE]
