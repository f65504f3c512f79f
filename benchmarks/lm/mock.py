"""The mock server as ``lmconform serve`` runs it, with its journal or without, for measurements."""

from __future__ import annotations

import signal
import sys

from mockserver.journal import Journal
from mockserver.lm import LmServer


def main() -> None:
    """Serve until the process is ended."""
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    release, *words = sys.argv[1:]
    journal = Journal(keep_payloads=False, keep_exchanges=False) if words == ["off"] else Journal()
    with LmServer(release, journal=journal) as server:
        print(f"listens on 127.0.0.1:{server.port}", flush=True)
        signal.sigwait(ends)


if __name__ == "__main__":
    main()
