"""What mutants of the reference server of the multiprocess wire have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from harness.mutants.mutant import mp_server_mutant
from harness.reference.servers.mp import ReferenceMpServer
from harness.reference.servers.mp.engine import RobustEngine
from mockserver.mp.objects import ObjectStore

ANY: Final = "0.3.10 and later"
DATA: Final = "0.4.6 and later"
SHARED: Final = "0.4.7 and later"
_HERE: Final = "mp.servers."


def defect(name: str, stands_for: str, *found_by: str, releases: str = DATA) -> Callable[[type[ReferenceMpServer]], Any]:
    """A defect that cases of runs of servers find; ``found_by`` are patterns of their ids behind ``mp.servers.``."""
    patterns = tuple(_HERE + pattern for pattern in found_by)
    return mp_server_mutant(f"mp-server-{name}", stands_for=stands_for, releases=releases, found_by=patterns, runs="server")


def with_store(store: type[ObjectStore]) -> type[RobustEngine]:
    """An engine whose store is another."""
    return type("OtherStore", (RobustEngine,), {"store_class": store, "__doc__": "Another store."})
