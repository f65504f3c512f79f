"""What operations of one release of the multiprocess server do to a server of another, as a value and as what people read.

The number of an operation means something else in nearly every release, and servers execute what fits. All of it is derived:
each operation of the client is encoded by the codec of its release and decoded by that of the server's.
"""
