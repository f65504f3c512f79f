"""The commands, and what becomes of the errors that they raise."""

from __future__ import annotations

import errno
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from fixturegen.errors import CaptureError, CorpusError, EnvironmentUnavailable
from harness.cli import (
    capture,
    compat,
    connector,
    diff,
    dissector,
    drift,
    explain,
    keys,
    list_cases,
    list_releases,
    merge,
    mutants,
    plugin,
    report,
    run,
    serve,
    server,
    site,
    smoke,
    tap,
    test,
    verify,
)
from harness.client import ClientFailure
from harness.failure import TargetUnavailable
from harness.killmatrix.run import NothingShown
from harness.requirements import RequirementError
from harness.runner import BrokenCases
from harness.tap.recording import RecordingError
from harness.usage import UsageError
from harness.version import TOOL_VERSION
from mockserver.door import PortInUseError, RemoteHostError
from mockserver.faults import FaultSpecError, NotApplicableError
from reports.results import ResultsError
from reports.verdict import ExitCode
from wire.errors import WireError


class _InterruptedError(Exception):
    """Ctrl-C, or SIGTERM; typer would end with status 1, which says something about a client."""


class _NobodyReadsError(Exception):
    """The reader of a pipe went away; typer would end with status 1 here as well."""


def _end_with(code: object, **_: object) -> None:
    raise typer.Exit(code if isinstance(code, int) else ExitCode.CONFORMANT)


def _guarded(command: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> object:
        before = _terminate_as_interrupt()
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            raise _InterruptedError from None
        except BrokenPipeError:
            raise _NobodyReadsError from None
        finally:
            if before is not None:
                signal.signal(signal.SIGTERM, before)

    return call


def _terminate_as_interrupt() -> Any:
    """Let SIGTERM end a command as Ctrl-C does, so that results are kept and servers stopped; the handler before."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, signal.default_int_handler)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lmconform {TOOL_VERSION}")
        raise typer.Exit


app = typer.Typer(
    help="Test clients, servers and storage plugins of LMCache against captured bytes, a mock server and the real lmcache.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    result_callback=_end_with,
)


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version of lmconform and stop.")
    ] = False,
) -> None:
    """Options before the command."""


app.command("run")(_guarded(run.command))
app.command("server")(_guarded(server.command))
app.command("plugin")(_guarded(plugin.command))
app.command("connector")(_guarded(connector.command))
app.command("merge")(_guarded(merge.command))
app.command("report")(_guarded(report.command))
app.command("diff")(_guarded(diff.command))
app.command("list")(_guarded(list_cases.command))
app.command("releases")(_guarded(list_releases.command))
app.command("smoke")(_guarded(smoke.command))
app.command("serve")(_guarded(serve.command))
app.command("keys")(_guarded(keys.command))
app.command("capture")(_guarded(capture.command))
app.command("verify")(_guarded(verify.command))
app.command("dissector")(_guarded(dissector.command))
app.command("drift")(_guarded(drift.command))
app.command("site")(_guarded(site.command))
app.command("compat")(_guarded(compat.command))
tap.add_to(app, _guarded)
app.command("explain")(_guarded(explain.command))
app.command("mutants")(_guarded(mutants.command))
app.command("test", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(_guarded(test.command))

_BAD_INPUT: Final = (
    UsageError,
    WireError,
    FaultSpecError,
    NotApplicableError,
    RemoteHostError,
    PortInUseError,
    CorpusError,
    ResultsError,
    RecordingError,
    RequirementError,
    ClientFailure,
)
_BAD_ENVIRONMENT: Final = (TargetUnavailable, EnvironmentUnavailable, CaptureError, BrokenCases, NothingShown)


def run_app(words: Sequence[str]) -> int:
    """Run the command line; every foreseen error is one paragraph on standard error, never a traceback."""
    try:
        app(args=list(words), prog_name="lmconform")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.CONFORMANT
    except _InterruptedError:
        return _explain("interrupted", ExitCode.UNDECIDED)
    except _BAD_INPUT as error:
        return _explain(str(error), ExitCode.USAGE)
    except _BAD_ENVIRONMENT as error:
        return _explain(str(error), ExitCode.UNDECIDED)
    except (_NobodyReadsError, BrokenPipeError):
        # Whatever is still buffered must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.UNDECIDED
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EIO}:
            return _explain(f"the disk cannot be written ({error.strerror}); results so far are incomplete", ExitCode.UNDECIDED)
        return _explain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", ExitCode.USAGE)
    return ExitCode.CONFORMANT


def _explain(message: str, code: int) -> int:
    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble(("lmconform: ", "bold"), message), soft_wrap=True)
    return int(code)
