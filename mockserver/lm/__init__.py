"""A mock ``lm://`` server for any release.

Source: ``lmcache.v1.server``; it is compared with the real server, byte by byte, in the live cases.
"""

from mockserver.door import PortInUseError, RemoteHostError
from mockserver.lm.server import LmServer

__all__ = ["LmServer", "PortInUseError", "RemoteHostError"]
