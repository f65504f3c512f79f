"""One module per part of the wire: each compares what two captures show about it."""
