"""Servers that do what they must and what they should: the mock, without the weaknesses that it shares with the real one."""
