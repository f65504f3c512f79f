"""File-system calls of a plugin's process, seen before they happen: counted, refused, or the moment at which it is killed."""
