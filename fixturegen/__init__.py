"""Drives the real lmcache in a pinned environment, and owns the corpus of what it said."""
