"""Storage plugins of the multiprocess server: what they owe it."""
