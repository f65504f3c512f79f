"""Cases about key strings, chunk keys and token hashes."""
