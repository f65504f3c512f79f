"""A client's list of known failures: the file, which cases it means, and what it makes of how they end."""
