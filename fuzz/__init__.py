"""Fuzzing: random bytes for everything that reads what others wrote, in search of what it raises and does not document.

``python -m fuzz --list`` shows the targets, ``python -m fuzz lm.request --seconds 60`` runs one (docs/reliability.md).
"""
