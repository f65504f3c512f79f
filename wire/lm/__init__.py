"""The ``lm://`` remote store: fixed little-endian structs over TCP."""
