"""The scratch directory: where bytes travel that are too long for a line."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Final

from fixturegen import leash
from harness.clients.contract import ContractViolation, shorten

_SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # mkdtemp makes a private directory in it
_ROOM: Final = 1 << 30
FILE_LIMIT: Final = 1 << 30
"""Bytes of the longest file; a file with holes could announce more than any machine has memory for."""
_BLOCK: Final = 512
_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW


class ScratchLost(ContractViolation):
    """The directory is no longer there."""


class Scratch:
    """A private directory, removed by :meth:`remove`, or when the interpreter ends, or by the keeper if that was killed."""

    def __init__(self, parent: Path | None = None) -> None:
        self.path = (parent or _default_parent()) / f"lmconform-{secrets.token_hex(8)}"
        leash.keep_directory(self.path)
        self.path.mkdir(mode=0o700)
        self._name = str(self.path)
        self._identity = _identity(self.path)
        self.remove = weakref.finalize(self, leash.remove_directory, self.path)
        self._names = itertools.count(1)

    def require_in_place(self) -> None:
        """Look whether the directory is the one that was made.

        Raises:
            ScratchLost: the client removed it, or put something else in its place.
        """
        if _identity(self._name) != self._identity:
            raise ScratchLost("the scratch directory", f"the client to leave it in place, and found {_what_is_there(self.path)}")

    def leave(self, data: bytes) -> str:
        """Write a file for the client; answers its name.

        Raises:
            ScratchLost: the client removed the directory, or made it something else.
        """
        self.require_in_place()
        name = f"harness-{next(self._names)}"
        try:
            leave(self.path, name, data)
        except OSError:
            self.require_in_place()
            raise
        return name

    def sweep(self, names: list[str]) -> int:
        """Delete the files of these names that are still there; answers how many there were."""
        return sum(_unlinked(self.path / name) for name in names)

    def size(self) -> int:
        """Bytes that its files take up, which may be memory; what a link in its place leads to counts for nothing."""
        if _identity(self.path) != self._identity:
            return 0
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                with contextlib.suppress(OSError):
                    total += (Path(folder) / name).lstat().st_blocks * _BLOCK
        return total

    def empty(self) -> None:
        """Make the directory anew with nothing in it, as after a client died in the middle of a call."""
        leash.discard(self.path)
        self.path.mkdir(mode=0o700, exist_ok=True)
        self._identity = _identity(self.path)


def leave(directory: Path, name: str, data: bytes) -> None:
    """Write a new file."""
    descriptor = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def take(directory: Path, name: str, length: int) -> bytes:
    """Read a file that the other side left, and delete it.

    Raises:
        ContractViolation: the name is a path, or there is no regular file of that name and length.
    """
    if name in {"", ".", ".."} or any(character in name for character in "/\\\0"):
        raise ContractViolation("file", "a name without a path", name)
    try:
        # O_NONBLOCK: opening a named pipe must not wait for its writer.
        descriptor = os.open(directory / name, os.O_RDONLY | os.O_NONBLOCK | _FLAGS)
    except OSError as error:
        raise ContractViolation("file", f"a regular file {shorten(name)} in {directory} ({error.strerror})") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ContractViolation("file", f"{shorten(name)} to be a regular file")
        if status.st_size != length:
            raise ContractViolation("length", f"the size of file {shorten(name)}, {status.st_size} bytes", length)
        if length > FILE_LIMIT:
            raise ContractViolation("length", f"at most {FILE_LIMIT}", length)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(length)
    finally:
        os.close(descriptor)
    if len(data) != length:
        raise ContractViolation("file", f"{shorten(name)} to stay as it is once its line was sent")
    _unlinked(directory / name)
    return data


def _identity(path: Path | str) -> tuple[int, int] | None:
    """What tells a directory from another that took its place; None where there is none, as behind a link."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _what_is_there(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "nothing"
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "another directory" if stat.S_ISDIR(mode) else "a file"


def _default_parent() -> Path:
    try:
        free = shutil.disk_usage(_SHARED_MEMORY).free
    except OSError:
        return Path(tempfile.gettempdir())
    roomy = free >= _ROOM and os.access(_SHARED_MEMORY, os.W_OK | os.X_OK)
    return _SHARED_MEMORY if roomy else Path(tempfile.gettempdir())


def _unlinked(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
