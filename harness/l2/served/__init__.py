"""A storage plugin inside a real multiprocess server: starting one with it, asking it, and what faults do to it."""
