"""The adapters that lmcache ships and that run without special hardware: what they are made with, and what they store in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from wire.release import ReleaseRange


@dataclass(frozen=True)
class Shipped:
    """One of them."""

    params: Mapping[str, Any]
    """Of its JSON, where the command line gives none."""
    releases: ReleaseRange
    """Where it is there."""
    backend: str | None = None
    """What is started for it, where the command line names nothing."""


SHIPPED: Final[Mapping[str, Shipped]] = MappingProxyType(
    {
        "fs": Shipped({"base_path": "{dir}"}, ReleaseRange.parse("0.4.2 and later")),
        "fs_native": Shipped({"base_path": "{dir}"}, ReleaseRange.parse("0.4.3 and later")),
        "mock": Shipped({"max_size_gb": 0.5, "mock_bandwidth_gb": 100}, ReleaseRange.parse("0.4.2 and later")),
        "resp": Shipped(
            {"host": "{backend_host}", "port": "{backend_port}"}, ReleaseRange.parse("0.4.2 and later"), backend="redis"
        ),
    }
)
"""By the name of their type."""
