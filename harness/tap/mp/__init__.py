"""What crosses the wire of the multiprocess server, read from the recorded bytes of both directions. Start at ``lint``."""
