"""``lmconform serve``: the mock server, in the foreground."""

from __future__ import annotations

import signal
import textwrap
from typing import Annotated, Final

import typer

from harness.cli.numbers import whole
from harness.usage import UsageError
from mockserver.door import RemoteHostError
from mockserver.faults import FAULTS, PICKING, deed, describe, form, parse_plan
from mockserver.lm import LmServer
from wire.release import KNOWN_RELEASES, Release

_ENDINGS: Final = frozenset({signal.SIGINT, signal.SIGTERM})


def command(
    lmcache: Annotated[str, typer.Option("--lmcache", help="The release whose wire it speaks.")] = KNOWN_RELEASES[-1],
    port: Annotated[
        int,
        typer.Option("--port", metavar="NUMBER", parser=whole(0, 65535), help="0 lets the kernel choose; the port is printed."),
    ] = 0,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Permit an address that other machines can reach.")
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", help="Misbehave: NAME[:key=value,...], for example close-after:bytes=10,nth=2. May be repeated."),
    ] = None,
    faults: Annotated[
        bool, typer.Option("--faults", help="List the faults, their language and what each stands for, then stop.")
    ] = False,
) -> None:
    """Run the mock lm:// server until it is interrupted; it answers as the real server of the release does."""
    if faults:
        for name in FAULTS:
            paragraphs = (deed(name).replace("``", ""), describe(name), f"for example: --fault {FAULTS[name].example}")
            told = "\n\n".join(textwrap.fill(text, 100) for text in paragraphs)
            typer.echo(f"{form(name)}\n{textwrap.indent(told, '    ')}\n")
        typer.echo(PICKING)
        return
    plan = parse_plan(fault or ())
    release = Release.parse(lmcache)
    if release.text not in KNOWN_RELEASES:
        typer.echo(
            f"lmconform: lmcache {release} is not known here; its wire is taken to be that of the release before", err=True
        )
    # Blocked, and then waited for: a handler that set an event would hang if it ran while the wait for that event begins.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        with LmServer(release, host=host, port=port, faults=plan, allow_remote=allow_remote, on_restart=_announce) as server:
            typer.echo(f"mock of lmcache {server.release} listens on {server.url}")
            signal.sigwait(_ENDINGS)
            journal = server.journal
            typer.echo(f"stopped after {journal.exchange_count} exchanges on {journal.connection_count} connections")
    except RemoteHostError:
        raise UsageError(
            f"other machines can reach {host}, and a mock server trusts whoever connects; "
            "leave --host out, or add --allow-remote if you mean it"
        ) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _announce(server: LmServer) -> None:
    typer.echo(f"restarted, listens on {server.url}")
