"""The reference plugin of the ``native_plugin`` contract, written to be read and to be copied from.

It needs nothing but the standard library of Python 3.10 or later, and nothing of this package: it also runs inside the process
of a real multiprocess server.
"""

from harness.reference.l2.plugin import ReferencePlugin

__all__ = ["ReferencePlugin"]
