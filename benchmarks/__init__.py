"""Measurements of the harness itself; each module is a program."""
