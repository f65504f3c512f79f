"""A storage plugin inside a real multiprocess server: how one is started with it, what is asked of it, and what faults do to it."""
