"""Measures what a client does with the wire, in turns with a floor and against the same server (``lmconform bench``)."""
