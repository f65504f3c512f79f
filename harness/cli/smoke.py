"""``lmconform smoke``: does an adapter keep the contract at all?"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from harness.cli import options
from harness.clients.spec import open_client
from harness.smoke import smoke
from reports.escape import escape_lines
from reports.verdict import ExitCode


def command(client: options.Client = "reference") -> int:
    """Check the adapter itself before any case: handshake, unknown operation, bytes both ways, errors, state, bye.

    Exit codes: 0 all right, 1 a check failed, 2 the client cannot be started.
    """
    checks = smoke(lambda: open_client(client))
    console = Console(highlight=False, soft_wrap=True)
    for check in checks:
        console.print(Text.assemble(("ok    ", "green") if check.ok else ("FAIL  ", "bold red"), check.name))
        for line in [] if check.ok and not check.detail else escape_lines(check.detail):
            console.print(Text(f"      {line}"))
    failed = sum(not check.ok for check in checks)
    console.print(f"\n{len(checks) - failed} passed, {failed} failed")
    return int(ExitCode.NOT_CONFORMANT if failed else ExitCode.CONFORMANT)
