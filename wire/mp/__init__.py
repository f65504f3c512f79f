"""The wire of the multiprocess server: ZeroMQ messages whose frames are msgpack."""
