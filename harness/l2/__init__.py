"""Storage plugins of the multiprocess server as subjects."""
