"""A recording proxy between any client and any server, what it notices, and what becomes of its recordings."""
