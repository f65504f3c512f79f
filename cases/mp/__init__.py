"""Cases about the wire of the multiprocess server."""
