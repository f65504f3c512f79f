"""``lmconform smoke``: does an adapter keep the contract at all?"""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from harness import meeting
from harness.cli import options
from harness.client import ClientUnavailable
from harness.clients.contract import shorten
from harness.clients.session import ClientSession
from harness.clients.spec import open_client
from harness.runner import own_output
from harness.smoke import State, smoke
from reports.escape import escape_lines
from reports.verdict import ExitCode

_SHOWN: Final = {State.OK: ("ok    ", "green"), State.FAIL: ("FAIL  ", "bold red"), State.NOT_APPLICABLE: ("n/a   ", "dim")}


def command(
    client: options.Client = "reference",
    lines: Annotated[bool, typer.Option("--lines", help="Show every line of the conversation before the checks.")] = False,
) -> int:
    """Check the adapter itself before any case: handshake, unknown operation, bytes both ways, errors, sockets, deadline, bye.

    Exit codes: 0 all right, 1 a check failed, 2 the client cannot be started.
    """
    unavailable: list[ClientUnavailable] = []
    heard: list[str] = []

    def listen(direction: str, line: bytes) -> None:
        if lines:
            heard.append(f"{direction} {shorten(line)}")

    def start() -> ClientSession:
        try:
            return open_client(client, apart=True, listen=listen)
        except ClientUnavailable as error:
            unavailable.append(error)
            raise

    with meeting.expected(client):
        checks = smoke(start)
    if unavailable:
        raise unavailable[0]
    count = {state: sum(check.state is state for check in checks) for state in State}
    with own_output() as output:
        console = Console(file=output, highlight=False, soft_wrap=True)
        for line in heard:
            for part in escape_lines(line):
                console.print(Text(part))
        for check in checks:
            console.print(Text.assemble(_SHOWN[check.state], check.name))
            for part in escape_lines(check.detail):
                console.print(Text(f"      {part}"))
        console.print(f"\n{count[State.OK]} passed, {count[State.FAIL]} failed, {count[State.NOT_APPLICABLE]} not applicable")
    return int(ExitCode.NOT_CONFORMANT if count[State.FAIL] else ExitCode.CONFORMANT)
