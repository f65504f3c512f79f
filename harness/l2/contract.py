"""Which releases have the same plugin interface, and what changed from one to the next.

Read from ``lmcache.v1.distributed.l2_adapters`` of each release: ``native_plugin_l2_adapter`` and
``native_connector_l2_adapter`` for plugins of kind ``native_plugin``, ``plugin_l2_adapter`` and ``base`` for kind ``plugin``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.l2.spec import Kind
from wire.release import Release, ReleaseRange

FIRST_RELEASE: Final = Release.parse("0.4.3")
"""The first release with plugins."""

CONTRACTS: Final[dict[Kind, tuple[tuple[ReleaseRange, str], ...]]] = {
    "native_plugin": (
        (ReleaseRange.parse("0.4.3"), "model@kv_rank@hash"),
        (ReleaseRange.parse("0.4.4 to 0.4.6"), "model@kv_rank@hash[@salt]"),
        (ReleaseRange.parse("0.4.7 and later"), "model@kv_rank@group@hash[@salt]"),
    ),
}
"""For each kind: releases, and what tells their contract from that of the ones before."""


def newest_of_each_contract(releases: Sequence[Release], kind: Kind = "native_plugin") -> list[Release]:
    """Of releases with the same contract, the newest; in the order in which they were given."""
    newest: dict[int, Release] = {}
    for release in sorted(releases):
        for number, (range_, _) in enumerate(CONTRACTS[kind]):
            if release in range_:
                newest[number] = release
    return [release for release in releases if release in newest.values()]
