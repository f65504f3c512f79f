"""What cases about the multiprocess server are given: servers, keys, what a mock saw, the classes that read registrations."""
