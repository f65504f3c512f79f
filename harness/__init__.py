"""Judges a client: adapters, supervision, targets, expectations, the pytest plugin and the command line."""
