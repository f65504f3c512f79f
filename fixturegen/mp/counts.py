"""Counts in the HTTP state of a multiprocess server: objects and locks of the first tier, and sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = ("objects", "read_locked", "write_locked", "sessions")
_FIRST_TIER = {"objects": "total_object_count", "read_locked": "read_locked_count", "write_locked": "write_locked_count"}


def counts(status: Mapping[str, Any]) -> dict[str, int]:
    """The counts in a state."""
    tier = status["storage_manager"]["l1_manager"]
    return {**{name: tier[member] for name, member in _FIRST_TIER.items()}, "sessions": status["active_sessions"]}
