"""The commands, and what becomes of the errors that they raise."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

import click
import typer
from rich.console import Console
from rich.padding import Padding
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

app = typer.Typer(
    help="Does it speak LMCache's wires exactly as release X of LMCache does, and what breaks when X becomes Y?",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.command)
app.command("list")(list_cases.command)
app.command("smoke")(smoke.command)
app.command("serve")(serve.command)
app.command("capture")(capture.command)
app.command("verify")(verify.command)
app.command("test", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(test.command)

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
        result = app(args=list(words), prog_name="lmconform", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.ctx.get_help() if error.ctx is not None else error.format_message())
        return ExitCode.USAGE
    except click.ClickException as error:
        return _explain(error.format_message(), ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
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
    return int(result) if isinstance(result, int) else ExitCode.CONFORMANT


def _explain(message: str, code: int) -> int:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Padding(Text.assemble(("lmconform: ", "bold"), message), 0))
    return int(code)
