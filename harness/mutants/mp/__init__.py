"""Defective clients of the multiprocess server."""
