"""``lmconform serve``: the mock servers, in the foreground."""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import typer

from harness.cli.numbers import whole
from harness.usage import UsageError
from mockserver.door import RemoteHostError
from mockserver.faults import FAULTS, PICKING, deed, describe, form, parse_plan
from mockserver.faults.action import Action
from mockserver.lm import LmServer
from mockserver.mp import MODES, Mode, MpServer
from mockserver.mp.faults import MP_FAULTS, MP_PICKING, parse_mp_plan
from mockserver.mp.pool import DEFAULT_POOL_SIZE
from wire.mp.operations import FIRST_RELEASE, operation_table
from wire.release import KNOWN_RELEASES, Release

_ENDINGS: Final = frozenset({signal.SIGINT, signal.SIGTERM})
_Protocol = Literal["lm", "mp"]


_MP_ONLY: Final = {
    "chunk_size": "--chunk-size",
    "pool_size": "--pool-size",
    "mode": "--mode",
    "shared_memory": "--no-shared-memory",
}


def command(
    context: typer.Context,
    lmcache: Annotated[str, typer.Option("--lmcache", help="The release whose wire it speaks.")] = KNOWN_RELEASES[-1],
    protocol: Annotated[
        _Protocol, typer.Option("--protocol", help="lm: the lm:// server. mp: the multiprocess server, over ZeroMQ.")
    ] = "lm",
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
    chunk_size: Annotated[
        int, typer.Option("--chunk-size", metavar="NUMBER", parser=whole(1, 1 << 20), help="mp: tokens of a chunk.")
    ] = 16,
    pool_size: Annotated[
        int, typer.Option("--pool-size", metavar="BYTES", parser=whole(4096, 1 << 40), help="mp: memory for the objects.")
    ] = DEFAULT_POOL_SIZE,
    mode: Annotated[str, typer.Option("--mode", help=f"mp: who copies the chunks, one of {', '.join(MODES)}.")] = "engine_driven",
    shared_memory: Annotated[
        bool, typer.Option("--shared-memory/--no-shared-memory", help="mp: without it, chunks travel inside the messages.")
    ] = True,
) -> None:
    """Run a mock server until it is interrupted; it answers as the real server of the release does."""
    if faults:
        _list_faults(*((FAULTS, PICKING) if protocol == "lm" else (MP_FAULTS, MP_PICKING)))
        return
    release = Release.parse(lmcache)
    if protocol == "lm":
        _require_no_mp_options(context)
    server = (
        _mp_server(release, fault or (), host, port, allow_remote, chunk_size, pool_size, mode, shared_memory)
        if protocol == "mp"
        else LmServer(
            release, host=host, port=port, faults=parse_plan(fault or ()), allow_remote=allow_remote, on_restart=_announce
        )
    )
    if release.text not in KNOWN_RELEASES:
        typer.echo(
            f"lmconform: lmcache {release} is not known here; its wire is taken to be that of the release before", err=True
        )
    # Blocked, and then waited for: a handler that set an event would hang if it ran while the wait for that event begins.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        with server:
            typer.echo(f"mock of lmcache {server.release} listens on {server.url}{_pool(server)}")
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


def _require_no_mp_options(context: typer.Context) -> None:
    sources = ((word, context.get_parameter_source(name)) for name, word in _MP_ONLY.items())
    given = [word for word, source in sources if source is not None and source.name == "COMMANDLINE"]
    if given:
        raise UsageError(f"only the mock of --protocol mp knows {' and '.join(given)}; add that option, or leave these out")


def _mp_server(
    release: Release,
    fault: Sequence[str],
    host: str,
    port: int,
    allow_remote: bool,
    chunk_size: int,
    pool_size: int,
    mode: str,
    shared_memory: bool,
) -> MpServer:
    if release < FIRST_RELEASE:
        raise UsageError(f"lmcache {release} has no multiprocess server; the oldest with one is {FIRST_RELEASE}")
    chosen: list[Mode] = [known for known in MODES if known == mode]
    if not chosen:
        raise UsageError(f"--mode is one of {', '.join(MODES)}, not {mode!r}")
    plan = parse_mp_plan(fault)
    named = {rule.match.operation for rule in plan.rules if rule.match.operation is not None}
    absent = sorted(named - {operation.name for operation in operation_table(release).operations})
    if absent:
        raise UsageError(f"--fault: lmcache {release} has no operation {' and no '.join(absent)}, so this would never happen")
    return MpServer(
        release,
        host=host,
        port=port,
        allow_remote=allow_remote,
        chunk_size=chunk_size,
        pool_size=pool_size,
        mode=chosen[0],
        shared_memory=shared_memory,
        faults=plan,
        on_restart=_announce,
    )


def _list_faults(table: Mapping[str, type[Action]], picking: str) -> None:
    for name, kind in table.items():
        paragraphs = (deed(name, table).replace("``", ""), describe(name, table), f"for example: --fault {kind.example}")
        told = "\n\n".join(textwrap.fill(text, 100) for text in paragraphs)
        typer.echo(f"{form(name, table)}\n{textwrap.indent(told, '    ')}\n")
    typer.echo(picking)


def _pool(server: Any) -> str:
    name = server.shm_name if isinstance(server, MpServer) else ""
    return f", its pool is {name}" if name else ""


def _announce(server: LmServer | MpServer) -> None:
    typer.echo(f"restarted, listens on {server.url}{_pool(server)}")
