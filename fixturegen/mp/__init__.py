"""The multiprocess server of the real lmcache, and conversations with it."""
