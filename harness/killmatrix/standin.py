"""Servers of ours in the place of the real lmcache, so that cases about live servers can be shown to fail without one."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.targets import LiveServers, Server
from mockserver.lm import LmServer
from wire.release import Release


@dataclass
class StandIns(LiveServers):
    """A mock, perhaps a defective one, where a case asks for the live server of a release."""

    make: type[LmServer] = LmServer
    _standing: dict[Release, LmServer] = field(default_factory=dict)

    def get(self, release: Release) -> Server:
        """The stand-in; its journal and its faults stay out of sight, as those of a real server."""
        if release not in self._standing:
            self._standing[release] = self._stack.enter_context(self.make(release))
        host, port = self._standing[release].address
        return Server(host, port)

    def close(self) -> None:
        """Stop every one."""
        self._standing.clear()
        super().close()
