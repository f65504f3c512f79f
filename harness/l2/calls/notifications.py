"""What the kernel asks about a system call, and what it may be answered (``linux/seccomp.h``)."""

from __future__ import annotations

import fcntl
import struct
from dataclasses import dataclass
from typing import Final

_NOTIFICATION: Final = struct.Struct("=QIIiIQ6Q")
_ANSWER: Final = struct.Struct("=QqiI")
_RECEIVE: Final = 0xC0502100
_SEND: Final = 0xC0182101
_GO_ON: Final = 1


@dataclass(frozen=True)
class Notification:
    """One call that waits for an answer."""

    id: int
    task: int
    """The thread that makes it."""
    number: int
    arguments: tuple[int, ...]
    """Six, unsigned; what a call does not take is whatever was in the register."""


def receive(listener: int) -> Notification | None:
    """The next call; None if it is no longer there, because its process was killed."""
    space = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, space, True)
    except OSError:
        return None
    id_, task, _, number, _, _, *arguments = _NOTIFICATION.unpack(space)
    return Notification(id_, task, number, tuple(arguments))


def go_on(listener: int, notification: Notification) -> None:
    """Let the kernel do the call."""
    _send(listener, _ANSWER.pack(notification.id, 0, 0, _GO_ON))


def refuse(listener: int, notification: Notification, error: int) -> None:
    """Let the call fail with an error of ``errno``, without doing it."""
    _send(listener, _ANSWER.pack(notification.id, 0, -error, 0))


def _send(listener: int, answer: bytes) -> None:
    try:
        fcntl.ioctl(listener, _SEND, answer)
    except OSError:
        return  # it was killed meanwhile
