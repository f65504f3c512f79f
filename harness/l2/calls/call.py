"""A system call of another process about a file, in words."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.l2.calls.notifications import Notification
from harness.l2.calls.table import CALLS, CHANGES, OPENS, Shape

_CWD: Final = -100
_PATH_LIMIT: Final = 4096
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_PROC: Final = Path("/proc")


@dataclass(frozen=True)
class FileCall:
    """One call, before it happens."""

    name: str
    path: Path
    to: Path | None
    """The new name, for calls that give one."""
    size: int | None
    """Bytes that are to be written, where the call says so."""
    flags: int
    """Those of an open; 0 for other calls."""
    notification: Notification

    @property
    def changes(self) -> bool:
        """Whether it may change what lies on the disk, or make a change durable; an open for reading does neither."""
        return self.name in CHANGES and (self.name not in OPENS or self.name == "creat" or bool(self.flags & _WRITING))

    def about(self, folder: Path) -> bool:
        """Whether it is about something in a folder, or the folder itself."""
        return any(place is not None and place.is_relative_to(folder) for place in (self.path, self.to))

    def status(self) -> os.stat_result | None:
        """What the file is at this moment; None if there is none."""
        place = self._descriptor_place() or self.path
        try:
            return place.stat() if self._descriptor_place() else place.lstat()
        except OSError:
            return None

    def offset(self) -> int:
        """Where a write begins; 0 where that cannot be told."""
        if self.name in {"pwrite64", "pwritev", "pwritev2"}:
            return self.notification.arguments[3]
        if self.name in {"write", "writev"}:
            return _position(self.notification.task, self.notification.arguments[0])
        return 0

    def write_part(self, size: int) -> None:
        """Do the beginning of a plain write in place of the process, as if the call had been cut short."""
        address, offset = self.notification.arguments[1], self.offset()
        with (_PROC / str(self.notification.task) / "mem").open("rb", buffering=0) as memory:
            memory.seek(address)
            content = memory.read(size)
        place = self._descriptor_place()
        assert place is not None
        descriptor = os.open(place, os.O_WRONLY)
        try:
            os.pwrite(descriptor, content, offset)
        finally:
            os.close(descriptor)

    def __str__(self) -> str:
        size = f" of {self.size} bytes" if self.size is not None else ""
        to = f" to {self.to.name}" if self.to is not None else ""
        return f"{self.name}{size}: {'/'.join(self.path.parts[-2:])}{to}"

    def _descriptor_place(self) -> Path | None:
        file = CALLS[self.name].file
        if file is None:
            return None
        return _PROC / str(self.notification.task) / "fd" / str(_signed(self.notification.arguments[file]))


def read_call(name: str, notification: Notification) -> FileCall | None:
    """The call that a notification is about; None for one that is about no file, such as a write to a pipe."""
    shape = CALLS[name]
    if name == "sync":
        return FileCall(name, Path("/"), None, None, 0, notification)
    path = _path(notification, shape)
    if path is None:
        return None
    to = _named(notification, shape.to, shape.to_folder)
    size = notification.arguments[shape.size] if shape.size is not None else None
    flags = notification.arguments[shape.flags] if shape.flags is not None else 0
    return FileCall(name, path, to, size, flags, notification)


def _path(notification: Notification, shape: Shape) -> Path | None:
    if shape.file is not None:
        return _target(_PROC / str(notification.task) / "fd" / str(_signed(notification.arguments[shape.file])))
    return _named(notification, shape.path, shape.folder)


def _named(notification: Notification, path: int | None, folder: int | None) -> Path | None:
    """The path in the process's memory, made absolute."""
    if path is None:
        return None
    text = _text(notification.task, notification.arguments[path])
    if text is None:
        return None
    if text.startswith("/"):
        return Path(os.path.normpath(text))
    descriptor = _CWD if folder is None else _signed(notification.arguments[folder])
    process = _PROC / str(notification.task)
    base = _target(process / "cwd" if descriptor == _CWD else process / "fd" / str(descriptor))
    return None if base is None else Path(os.path.normpath(base / text))


def _target(place: Path) -> Path | None:
    """Where a link of ``/proc`` leads, if to a file that has or had a name."""
    try:
        target = str(place.readlink())
    except OSError:
        return None
    return Path(target.removesuffix(" (deleted)")) if target.startswith("/") else None


def _text(task: int, address: int) -> str | None:
    try:
        with (_PROC / str(task) / "mem").open("rb", buffering=0) as memory:
            memory.seek(address)
            # A path may end just before memory that is not there: up to the end of its page first.
            found = memory.read(min(_PATH_LIMIT, _PATH_LIMIT - address % _PATH_LIMIT))
            if b"\0" not in found:
                found += memory.read(_PATH_LIMIT)
    except OSError:
        return None
    return os.fsdecode(found.partition(b"\0")[0])


def _position(task: int, descriptor: int) -> int:
    try:
        text = (_PROC / str(task) / "fdinfo" / str(_signed(descriptor))).read_text()
        place = _PROC / str(task) / "fd" / str(_signed(descriptor))
        fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        if int(fields["flags"].strip(), 8) & os.O_APPEND:
            return place.stat().st_size
        return int(fields["pos"])
    except (OSError, KeyError, ValueError):
        return 0


def _signed(argument: int) -> int:
    """A 32-bit argument as C reads it."""
    low = argument & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low
