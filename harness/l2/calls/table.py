"""The system calls by which a program reads and changes files: their numbers, and where their arguments are.

Numbers: ``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64) of Linux. None where a machine has no such call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What ``seccomp`` calls a machine (``linux/audit.h``), by the name that ``platform.machine`` gives."""


@dataclass(frozen=True)
class Shape:
    """Which argument is what; None where a call has none of that kind."""

    x86_64: int | None
    aarch64: int | None
    file: int | None = None
    """A descriptor of the file."""
    path: int | None = None
    to: int | None = None
    """A second path: the new name."""
    folder: int | None = None
    """A descriptor to which the path is relative."""
    to_folder: int | None = None
    size: int | None = None
    """Bytes that are written."""
    flags: int | None = None
    reads: bool = False
    """It changes nothing."""

    def number(self, machine: str) -> int | None:
        """The number of the call on a machine."""
        return self.x86_64 if machine == "x86_64" else self.aarch64


CALLS: Final[dict[str, Shape]] = {
    "open": Shape(2, None, path=0, flags=1),
    "openat": Shape(257, 56, folder=0, path=1, flags=2),
    "creat": Shape(85, None, path=0),
    "write": Shape(1, 64, file=0, size=2),
    "pwrite64": Shape(18, 68, file=0, size=2),
    "writev": Shape(20, 66, file=0),
    "pwritev": Shape(296, 70, file=0),
    "pwritev2": Shape(328, 287, file=0),
    "sendfile": Shape(40, 71, file=0),
    "copy_file_range": Shape(326, 285, file=2),
    "fallocate": Shape(285, 47, file=0),
    "truncate": Shape(76, 45, path=0),
    "ftruncate": Shape(77, 46, file=0),
    "fsync": Shape(74, 82, file=0),
    "fdatasync": Shape(75, 83, file=0),
    "sync": Shape(162, 81),
    "syncfs": Shape(306, 267, file=0),
    "rename": Shape(82, None, path=0, to=1),
    "renameat": Shape(264, 38, folder=0, path=1, to_folder=2, to=3),
    "renameat2": Shape(316, 276, folder=0, path=1, to_folder=2, to=3),
    "link": Shape(86, None, path=0, to=1),
    "linkat": Shape(265, 37, folder=0, path=1, to_folder=2, to=3),
    "unlink": Shape(87, None, path=0),
    "unlinkat": Shape(263, 35, folder=0, path=1),
    "rmdir": Shape(84, None, path=0),
    "mkdir": Shape(83, None, path=0),
    "mkdirat": Shape(258, 34, folder=0, path=1),
    "read": Shape(0, 63, file=0, reads=True),
    "pread64": Shape(17, 67, file=0, reads=True),
    "readv": Shape(19, 65, file=0, reads=True),
    "preadv": Shape(295, 69, file=0, reads=True),
    "preadv2": Shape(327, 286, file=0, reads=True),
}
"""Calls by name. What else changes files, a mapping of one into memory or io_uring, is not seen."""

WRITES: Final = frozenset({"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range", "fallocate"})
OPENS: Final = frozenset({"open", "openat", "creat"})
RENAMES: Final = frozenset({"rename", "renameat", "renameat2"})
LINKS: Final = frozenset({"link", "linkat"})
REMOVES: Final = frozenset({"unlink", "unlinkat", "rmdir"})
MAKES: Final = frozenset({"mkdir", "mkdirat"})
CUTS: Final = frozenset({"truncate", "ftruncate"})
SYNCS: Final = frozenset({"fsync", "fdatasync"})
CHANGES: Final = frozenset(name for name, shape in CALLS.items() if not shape.reads)
"""Every call that may change something, or makes what was changed durable."""
