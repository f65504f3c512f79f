"""``lmconform smoke``: does an adapter keep the contract at all?"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from harness.cli import options
from harness.client import ClientUnavailable
from harness.clients.session import ClientSession
from harness.clients.spec import open_client
from harness.runner import own_output
from harness.smoke import smoke
from reports.escape import escape_lines
from reports.verdict import ExitCode


def command(client: options.Client = "reference") -> int:
    """Check the adapter itself before any case: handshake, unknown operation, bytes both ways, errors, state, bye.

    Exit codes: 0 all right, 1 a check failed, 2 the client cannot be started.
    """
    unavailable: list[ClientUnavailable] = []

    def start() -> ClientSession:
        try:
            return open_client(client)
        except ClientUnavailable as error:
            unavailable.append(error)
            raise

    checks = smoke(start)
    if unavailable:
        raise unavailable[0]
    failed = sum(not check.ok for check in checks)
    with own_output() as output:
        console = Console(file=output, highlight=False, soft_wrap=True)
        for check in checks:
            console.print(Text.assemble(("ok    ", "green") if check.ok else ("FAIL  ", "bold red"), check.name))
            for line in [] if check.ok and not check.detail else escape_lines(check.detail):
                console.print(Text(f"      {line}"))
        console.print(f"\n{len(checks) - failed} passed, {failed} failed")
    return int(ExitCode.NOT_CONFORMANT if failed else ExitCode.CONFORMANT)
