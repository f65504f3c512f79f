"""The commands, and what becomes of the errors that they raise."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import typer
from rich.console import Console
from rich.text import Text

from fixturegen.errors import CaptureError, CorpusError, EnvironmentUnavailable
from harness.cli import capture, list_cases, run, serve, smoke, test, verify
from harness.client import ClientFailure
from harness.matrix import UsageError
from harness.requirements import RequirementError
from mockserver.faults import FaultSpecError, NotApplicableError
from mockserver.listener import PortInUseError, RemoteHostError
from reports.results import ResultsError
from reports.verdict import ExitCode
from wire.errors import WireError


class _InterruptedError(Exception):
    """Ctrl-C; typer would end with status 1, which says something about a client."""


def _end_with(code: object, **_: object) -> None:
    raise typer.Exit(code if isinstance(code, int) else ExitCode.CONFORMANT)


def _guarded(command: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(command)
    def call(*args: Any, **kwargs: Any) -> object:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            raise _InterruptedError from None

    return call


app = typer.Typer(
    help="Does it speak LMCache's wires exactly as release X of LMCache does, and what breaks when X becomes Y?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    result_callback=_end_with,
)
app.command("run")(_guarded(run.command))
app.command("list")(_guarded(list_cases.command))
app.command("smoke")(_guarded(smoke.command))
app.command("serve")(_guarded(serve.command))
app.command("capture")(_guarded(capture.command))
app.command("verify")(_guarded(verify.command))
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
    RequirementError,
    ClientFailure,
)
_BAD_ENVIRONMENT: Final = (EnvironmentUnavailable, CaptureError)
INTERRUPTED: Final = 130


def run_app(words: Sequence[str]) -> int:
    """Run the command line; every foreseen error is one paragraph on standard error, never a traceback."""
    try:
        app(args=list(words), prog_name="lmconform")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.CONFORMANT
    except _InterruptedError:
        return _explain("interrupted", INTERRUPTED)
    except _BAD_INPUT as error:
        return _explain(str(error), ExitCode.USAGE)
    except _BAD_ENVIRONMENT as error:
        return _explain(str(error), ExitCode.UNDECIDED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.UNDECIDED
    except OSError as error:
        return _explain(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", ExitCode.USAGE)
    return ExitCode.CONFORMANT


def _explain(message: str, code: int) -> int:
    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble(("lmconform: ", "bold"), message), soft_wrap=True)
    return int(code)
