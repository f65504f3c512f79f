"""What the recording proxy knows of the ``lm://`` wire."""
