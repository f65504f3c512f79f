"""Shared memory by name, read and written as the file that Linux shows for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Final

from fixturegen import leash
from fixturegen.mp.server import SHARED_FOLDER

SEGMENT_NAME_LENGTH: Final = 26
"""Characters of the name of memory that we make: where the name is inside other bytes, their lengths stay."""


def path_of(name: str) -> Path:
    """The file behind a name.

    Raises:
        ValueError: the name leaves the folder.
    """
    bare = name.lstrip("/")
    if not bare or "/" in bare or bare.startswith("."):
        raise ValueError(f"{name!r} is no name of shared memory")
    return SHARED_FOLDER / bare


def read(name: str, offset: int, length: int) -> bytes:
    """Bytes at a place; fewer where the memory ends.

    Raises:
        OSError: there is no such memory.
    """
    with _opened(name, os.O_RDONLY) as memory:
        memory.seek(offset)
        return memory.read(length)


def write(name: str, offset: int, data: bytes) -> None:
    """Write bytes at a place.

    Raises:
        OSError: there is no such memory, or it ends before the data does.
    """
    with _opened(name, os.O_RDWR) as memory:
        size = memory.seek(0, os.SEEK_END)
        if offset + len(data) > size:
            raise OSError(f"shared memory {name} has {size} bytes and ends before {offset} + {len(data)}")
        memory.seek(offset)
        memory.write(data)


def _opened(name: str, way: int) -> BinaryIO:
    """The file behind a name, which must not lead elsewhere, nor wait for anybody."""
    descriptor = os.open(path_of(name), way | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    return os.fdopen(descriptor, "rb" if way == os.O_RDONLY else "r+b")


class Segment:
    """Shared memory of ours, of zeros; gone with the block, or with this process."""

    def __init__(self, size: int) -> None:
        self.name = f"lmconform-{os.urandom(8).hex()}"
        self._path = path_of(self.name)
        leash.keep_directory(self._path)
        with self._path.open("xb") as memory:
            memory.truncate(size)

    def remove(self) -> None:
        """Remove it."""
        leash.remove_directory(self._path)
