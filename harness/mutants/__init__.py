"""The reference client with one realistic defect each: what the cases must find, or they are worth nothing.

A module holds the mutants of one concept; ``@mutant`` puts a class into the table, and ``mutant:NAME`` on the command line runs
it as a client.
"""
