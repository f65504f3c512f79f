"""Servers under test: how they are named, started and reached."""
