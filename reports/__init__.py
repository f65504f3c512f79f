"""The result records of a run, and everything that a person or a CI server reads about it."""
