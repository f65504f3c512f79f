"""What a mock multiprocess server remembers, as cases use it."""

from mockserver.mp.journal import Exchange

__all__ = ["Exchange"]
