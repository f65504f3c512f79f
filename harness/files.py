"""Results files that a user names, and documents that are made from them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from harness.usage import UsageError
from reports.outputs import RESULTS


def results_file(named: Path) -> Path:
    """The results file of that name, or the one in the folder of that name.

    Raises:
        UsageError: the folder holds none.
    """
    if not named.is_dir():
        return named
    inside = named / RESULTS
    if inside.is_file():
        return inside
    below = sorted(named.glob(f"*/{RESULTS}"))
    if below:
        raise UsageError(
            f"{named}: no {RESULTS} in this folder, but {below[0]} is below it; "
            "name that one, or merge shards with 'lmconform merge'"
        )
    raise UsageError(f"{named}: no {RESULTS} in this folder; name the folder of a run, or a results file")


def write_document(data: bytes, out: Path | None, *, taken: Sequence[Path] = ()) -> None:
    """Write a document to a file, or to standard output.

    Raises:
        UsageError: the file cannot be written, or is one of those that it was made from.
    """
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if out.resolve() in {path.resolve() for path in taken}:
        raise UsageError(f"--out {out}: holds the results that were asked for; name another file")
    if out.is_dir():
        raise UsageError(f"--out {out}: is a folder; name a file")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    try:
        out.write_bytes(data)
    except PermissionError as error:
        raise UsageError(f"--out {out}: cannot be written: {error.strerror}; name another file") from None
