"""Runs a gateway: ``python -m harness.reference.l2.gateway --folder FOLDER [--port PORT]``; it prints its address and serves."""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
from pathlib import Path

from harness.reference.l2.gateway.server import GatewayServer


def main() -> None:
    """Serve until the standard input ends or the process is ended."""
    parser = argparse.ArgumentParser(prog="python -m harness.reference.l2.gateway", description=__doc__)
    parser.add_argument("--folder", required=True, type=Path, help="folder for the objects")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default=0, type=int, help="0: one that the kernel picks")
    parser.add_argument("--fragment-size", default=2**18, type=int)
    parser.add_argument("--no-durable", dest="durable", action="store_false", help="do not wait for the disk")
    parser.add_argument("--temporary", action="store_true", help="remove the folder at the end")
    asked = parser.parse_args()
    with GatewayServer(
        (asked.host, asked.port), asked.folder, fragment_size=asked.fragment_size, durable=asked.durable
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host, port = server.socket.getsockname()
        sys.stdout.write(f"{host}:{port}\n")
        sys.stdout.flush()
        # Whoever started it holds the other end: it does not outlive them.
        sys.stdin.buffer.read()
        server.shutdown()
        server.folder.close()
    if asked.temporary:
        shutil.rmtree(asked.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
