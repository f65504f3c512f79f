"""What changed on the wire between two captured releases, whom it breaks, and what a client must change.

Everything is inferred from the two captures: the tables of ``wire`` know nothing of a release that nobody has seen yet.
"""
