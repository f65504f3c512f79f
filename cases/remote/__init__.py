"""Cases about remote connectors of the in-process mode, opened inside the real lmcache."""
