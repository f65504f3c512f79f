"""A multiprocess server that does better than the real one where that one is fragile, and looks the same to every client."""

from harness.reference.servers.mp.server import ReferenceMpServer

__all__ = ["ReferenceMpServer"]
