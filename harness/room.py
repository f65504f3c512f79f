"""Whether results can be written, found out before the run and not after it; and one run at a time in a folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.usage import UsageError, require_writable
from reports.outputs import ALWAYS, JUNIT, PAGE, RESULTS, Wanted


def require_room_for_reports(wanted: Sequence[Wanted], folder: Path, taken: Sequence[Path] = ()) -> None:
    """Find out before the run whether its reports can be written after it, beside the results in ``folder``.

    Raises:
        UsageError: one is a folder, there is no folder for it, it cannot be written, or results are there or are to be.
    """
    for one in wanted:
        _require_room_for(one, folder, taken)


def _require_room_for(one: Wanted, folder: Path, taken: Sequence[Path]) -> None:
    path, what = one.path, "summary" if one.format.name == "markdown" else f"report in {one.format.name}"
    kept = {folder / RESULTS: None, **{folder / form.file: form for form in ALWAYS}, **dict.fromkeys(taken)}
    if any(path.resolve() == other.resolve() and one.format is not form for other, form in kept.items()):
        raise UsageError(f"cannot write the {what} {path}: results are kept under that name; name another file")
    if path.is_dir():
        raise UsageError(f"cannot write the {what} {path}: it is a folder; name a file")
    if not path.parent.is_dir() and path.parent.resolve() != folder.resolve():
        raise UsageError(f"cannot write the {what} {path}: there is no folder {path.parent}")
    try:
        if not path.exists():
            path.touch()
            path.unlink()
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UsageError(f"cannot write the {what} {path}: {error.strerror}; name another file") from None


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
