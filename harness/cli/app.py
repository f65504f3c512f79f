"""The commands, and what becomes of the errors that they raise."""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import typer

from harness import interruption
from harness.cli.commands import group_of
from harness.version import TOOL_VERSION
from reports.verdict import ExitCode


class _InterruptedError(Exception):
    """Ctrl-C, or SIGTERM; typer would end with status 1, which says something about a client."""


class _NobodyReadsError(Exception):
    """The reader of a pipe went away; typer would end with status 1 here as well."""


def _end_with(code: object, **_: object) -> None:
    raise typer.Exit(code if isinstance(code, int) else ExitCode.CONFORMANT)


def _guarded(command: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> object:
        try:
            with interruption.in_order():
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            raise _InterruptedError from None
        except BrokenPipeError:
            raise _NobodyReadsError from None

    return call


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lmconform {TOOL_VERSION}")
        raise typer.Exit


app = typer.Typer(
    cls=group_of(_guarded),
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


_Classes = Sequence[tuple[str, str]]
"""Classes of errors by module and name: a module that was not imported has raised nothing."""

_BAD_INPUT: Final[_Classes] = (
    ("harness.usage", "UsageError"),
    ("wire.errors", "WireError"),
    ("mockserver.faults", "FaultSpecError"),
    ("mockserver.faults", "NotApplicableError"),
    ("mockserver.door", "RemoteHostError"),
    ("mockserver.door", "PortInUseError"),
    ("fixturegen.errors", "CorpusError"),
    ("reports.results", "ResultsError"),
    ("harness.tap.recording", "RecordingError"),
    ("harness.requirements", "RequirementError"),
    ("harness.client", "ClientFailure"),
)
_FAILED_AT_START: Final[_Classes] = (("harness.client", "ClientFailure"),)
_NOT_STARTED: Final[_Classes] = (("harness.client", "ClientUnavailable"),)
_OF_CLIENTS: Final = (["run"], ["bench"])
_SMOKE: Final = (
    "\n  what to do: 'lmconform smoke' with the same --client tries each operation, and says what the answer should have been"
)
_BAD_ENVIRONMENT: Final[_Classes] = (
    ("harness.failure", "TargetUnavailable"),
    ("fixturegen.errors", "EnvironmentUnavailable"),
    ("fixturegen.errors", "CaptureError"),
    ("harness.runner", "BrokenCases"),
    ("harness.killmatrix.run", "NothingShown"),
)


def _is_one_of(error: Exception, classes: _Classes) -> bool:
    return any(isinstance(error, getattr(sys.modules[module], name)) for module, name in classes if module in sys.modules)


def run_app(words: Sequence[str]) -> int:
    """Run the command line; every foreseen error is one paragraph on standard error, never a traceback."""
    try:
        app(args=list(words), prog_name="lmconform")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.CONFORMANT
    except _InterruptedError:
        return _explain("interrupted", ExitCode.UNDECIDED)
    except Exception as error:
        code = _foreseen(error, words)
        if code is None:
            raise
        return code
    return ExitCode.CONFORMANT


def _foreseen(error: Exception, words: Sequence[str]) -> int | None:
    """Tell an error in one paragraph; None for one that nobody has foreseen."""
    if _is_one_of(error, _BAD_INPUT):
        started = _is_one_of(error, _FAILED_AT_START) and not _is_one_of(error, _NOT_STARTED)
        return _explain(f"{error}{_SMOKE if started and list(words[:1]) in _OF_CLIENTS else ''}", ExitCode.USAGE)
    if _is_one_of(error, _BAD_ENVIRONMENT):
        return _explain(str(error), ExitCode.UNDECIDED)
    if isinstance(error, _NobodyReadsError | BrokenPipeError):
        # Whatever is still buffered must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.UNDECIDED
    if isinstance(error, OSError):
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EIO}:
            return _explain(f"the disk cannot be written ({error.strerror}); results so far are incomplete", ExitCode.UNDECIDED)
        return _explain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", ExitCode.USAGE)
    return None


def _explain(message: str, code: int) -> int:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble(("lmconform: ", "bold"), message), soft_wrap=True)
    return int(code)
