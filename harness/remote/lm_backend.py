"""Our ``lm://`` server as what ``--backend`` runs, for lmcache's own connector of that wire."""

from __future__ import annotations

from typing import Final

from fixturegen.corpus import captured_releases
from mockserver.faults import NO_FAULTS, parse_plan
from mockserver.lm import LmServer

HOST: Final = "127.0.0.1"


class LmBackend:
    """Our server of the newest captured release, without faults unless it is to be slow."""

    def __init__(self) -> None:
        self._server: LmServer | None = None
        self._port = 0

    def start(self) -> str:
        """Serve, with what was stored before; its address."""
        store = self._server.store if self._server is not None else None
        self._server = LmServer(captured_releases()[-1], host=HOST, port=self._port, store=store)
        self._server.start()
        _, self._port = self._server.address
        return f"{HOST}:{self._port}"

    def stop(self) -> None:
        """As a crash would."""
        if self._server is not None:
            self._server.stop()

    def restart(self) -> None:
        """Stop and start, with what was stored."""
        self.stop()
        self.start()

    def slow(self, seconds: float) -> None:
        """Let each answer take so long."""
        assert self._server is not None
        self._server.set_faults(parse_plan([f"delay:seconds={seconds:g}"]) if seconds else NO_FAULTS)
