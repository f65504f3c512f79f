"""Storage plugins of the multiprocess server (L2) as subjects: each runs in a process of its own, driven over pipes."""
