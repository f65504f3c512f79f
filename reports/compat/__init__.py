"""Who can talk to whom: the matrix of clients and servers of all releases, as a value and as what people read of it."""
