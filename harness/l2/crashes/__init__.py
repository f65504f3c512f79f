"""Crash consistency: a plugin is killed again and again in the middle of its work, and everything ever stored is looked at."""
