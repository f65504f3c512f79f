"""Cases about multiprocess servers; no client takes part."""
