"""What a client does with the wire, measured: the figures, and what people read of them."""
