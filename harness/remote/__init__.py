"""Judges remote connectors: the storage plugins of lmcache's in-process mode, opened inside the real lmcache of each release."""
