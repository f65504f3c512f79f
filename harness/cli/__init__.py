"""The command line: one module per command. Start at ``main``."""
