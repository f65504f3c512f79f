"""The multiprocess protocol: what changed between two captures of it."""
