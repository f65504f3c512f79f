"""The multiprocess server as a mock, over ZeroMQ."""

from mockserver.mp.behaviour import MODES, Mode
from mockserver.mp.journal import Exchange, MpJournal
from mockserver.mp.server import MpServer

__all__ = ["MODES", "Exchange", "Mode", "MpJournal", "MpServer"]
