"""Cases about the ``lm://`` remote store."""
