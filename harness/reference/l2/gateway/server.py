"""The gateway itself: requests of many plugins, one thread for each connection."""

from __future__ import annotations

import socketserver
import time
from pathlib import Path
from typing import Any, Final

from harness.reference.l2.folder import ObjectFolder
from harness.reference.l2.gateway.frames import receive, send
from harness.reference.l2.leases import Lease, Leased, leased
from harness.reference.l2.manifest import check
from harness.reference.l2.outcomes import Outcome

MOST_BYTES: Final = 2**30


class GatewayServer(socketserver.ThreadingTCPServer):
    """Listens at an address; port 0 is one that the kernel picks."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], root: Path, *, fragment_size: int, durable: bool) -> None:
        self.folder = ObjectFolder(root, fragment_size=fragment_size, durable=durable)
        self.pause = 0.0
        """Seconds before each answer."""
        self.full = False
        """It takes no stores."""
        super().__init__(address, _Conversation)


class _Conversation(socketserver.BaseRequestHandler):
    """One connection until its end."""

    server: GatewayServer

    def handle(self) -> None:
        try:
            while True:
                words, body = receive(self.request)
                if words.get("do") not in {"slow", "refuse"}:
                    time.sleep(self.server.pause)
                send(self.request, *self._answer(words, body))
        except (OSError, KeyError, TypeError, ValueError):
            # Gone, or what it says makes no sense: the connection ends, and with it the conversation.
            return

    def _answer(self, words: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        folder, do = self.server.folder, words["do"]
        if do == "slow":
            self.server.pause = float(words["seconds"])
            return {"outcome": "done"}, b""
        if do == "refuse":
            self.server.full = bool(words["on"])
            return {"outcome": "done"}, b""
        key = str(words["key"])
        if do == "store" and self.server.full:
            return _said(Outcome.DROPPED), b""
        if do == "store":
            if check(body) != words["check"]:
                return _said(Outcome.DROPPED), b""
            return _said(folder.store(key, _over(body))), b""
        if do == "load":
            return _loaded(folder, key, int(words["size"]))
        return _said(folder.look(key) if do == "look" else folder.delete(key)), b""


def _loaded(folder: ObjectFolder, key: str, size: int) -> tuple[dict[str, Any], bytes]:
    if not 0 <= size <= MOST_BYTES:
        raise ValueError(f"a load of {size} bytes")
    data = bytearray(size)
    outcome = folder.load(key, _over(data))
    if outcome is not Outcome.LOADED:
        return _said(outcome), b""
    return {**_said(outcome), "check": check(bytes(data))}, bytes(data)


def _over(data: bytes | bytearray) -> Leased:
    return leased(Lease(), [memoryview(data)])[0]


def _said(outcome: Outcome) -> dict[str, Any]:
    return {"outcome": outcome.value}
