"""``lmconform serve``: the mock server, in the foreground."""

from __future__ import annotations

import signal
import threading
from typing import Annotated

import typer

from mockserver.faults import FAULTS, describe, parse_plan
from mockserver.lm import LmServer
from wire.release import KNOWN_RELEASES, Release


def command(
    lmcache: Annotated[str, typer.Option("--lmcache", help="The release whose wire it speaks.")] = KNOWN_RELEASES[-1],
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 lets the kernel choose; the port is printed.")] = 0,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Permit an address that other machines can reach.")
    ] = False,
    fault: Annotated[list[str] | None, typer.Option("--fault", help="Misbehave: NAME[:key=value,...]. May be repeated.")] = None,
    faults: Annotated[bool, typer.Option("--faults", help="List the faults and what each stands for, then stop.")] = False,
) -> None:
    """Run the mock lm:// server until it is interrupted; it answers as the real server of the release does."""
    if faults:
        for name in FAULTS:
            typer.echo(f"{describe(name)}\n")
        return
    plan = parse_plan(fault or ())
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with LmServer(Release.parse(lmcache), host=host, port=port, faults=plan, allow_remote=allow_remote) as server:
        typer.echo(f"mock of lmcache {server.release} listens on {server.url}")
        stop.wait()
        typer.echo(f"stopped after {server.journal.exchange_count} exchanges on {server.journal.connection_count} connections")
