"""The reference client of the multiprocess server's wire: ZeroMQ messages of msgpack frames, and shared memory."""
