"""The multiprocess mock as ``lmconform serve --protocol mp`` runs it, for measurements."""

from __future__ import annotations

import signal
import sys

from mockserver.mp import MpServer


def main() -> None:
    """Serve until the process is ended."""
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with MpServer(sys.argv[1]) as server:
        print(f"listens on 127.0.0.1:{server.port}", flush=True)
        signal.sigwait(ends)


if __name__ == "__main__":
    main()
