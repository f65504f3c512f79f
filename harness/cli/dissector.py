"""``lmconform dissector``: the specification as programs read it, written into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.requirements import specification
from harness.usage import UsageError
from reports.verdict import ExitCode

ENDINGS = (".lua", ".ksy")


def command(
    folder: Annotated[Path, typer.Argument(help="Where to write the files; made if it is missing.")],
) -> int:
    """Write the dissectors for Wireshark and the Kaitai Struct descriptions of lm:// into a folder.

    Exit codes: 0 written, 2 the folder cannot be written.
    """
    files = sorted(path for path in (specification() / "machine").iterdir() if path.suffix in ENDINGS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            (folder / path.name).write_bytes(path.read_bytes())
            typer.echo(folder / path.name)
    except OSError as error:
        raise UsageError(f"cannot write to {folder} ({error.strerror}); name a folder that you may write to") from None
    return int(ExitCode.CONFORMANT)
