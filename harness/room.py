"""Whether results can be written, found out before the run and not after it; and one run at a time in a folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.usage import UsageError, require_writable
from reports.outputs import JUNIT, PAGE, RESULTS


def require_room_for_summary(path: Path | None, folder: Path, taken: Sequence[Path] = ()) -> None:
    """Find out before the run whether the summary can be written after it, beside the results in ``folder``.

    Raises:
        UsageError: it is a folder, there is no folder for it, it cannot be written, or results are there or are to be.
    """
    if path is None:
        return
    if path.resolve() in {other.resolve() for other in (*(folder / name for name in (RESULTS, JUNIT, PAGE)), *taken)}:
        raise UsageError(f"cannot write the summary {path}: results are kept under that name; name another file")
    if path.is_dir():
        raise UsageError(f"cannot write the summary {path}: it is a folder; name a file")
    if not path.parent.is_dir():
        raise UsageError(f"cannot write the summary {path}: there is no folder {path.parent}")
    try:
        if not path.exists():
            path.touch()
            path.unlink()
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UsageError(f"cannot write the summary {path}: {error.strerror}; name another file") from None


def require_room_for_results(folder: Path) -> None:
    """Find out before the run, not after it.

    Raises:
        UsageError: the folder cannot be written, or a file of it is a folder.
    """
    require_writable(folder, "results")
    for name in (RESULTS, JUNIT, PAGE):
        if (folder / name).is_dir():
            raise UsageError(f"cannot write {folder / name}: it is a folder; name another one with --out")


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other runs from writing into the folder of results until this one has read its own back.

    Raises:
        UsageError: another run writes there.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another run writes into {folder}; wait for it, or name another folder with --out") from None
        yield
    finally:
        os.close(lock)
