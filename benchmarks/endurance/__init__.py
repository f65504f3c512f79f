"""What load and soak have in common: a mock in a process of its own, checksummed values, peers, and figures of the process."""
