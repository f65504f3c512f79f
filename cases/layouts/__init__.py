"""Cases about how K/V becomes the bytes of a chunk."""
