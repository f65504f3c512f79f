"""Cases about storage plugins of the multiprocess server."""
