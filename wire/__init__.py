"""The LMCache protocols as data and pure functions: no sockets, no files, no torch."""
