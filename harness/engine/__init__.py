"""A tiny inference engine: the smallest thing that shows what a wrong chunk does to an answer.

A decoder-only transformer with seeded weights keeps its keys and values in paged memory, stores them through the client
under test and loads them again. Whether the client was right is read from the tokens that the model goes on with.
"""
