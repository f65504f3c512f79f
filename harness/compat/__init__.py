"""Real frames and keys of one release against the server of another."""
