"""One object in one file: whole or not there, and known by a checksum. Standard library only."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"lmconform-chunk-1\n"
DIGEST = 16
_numbers = itertools.count(1)


class Damaged(Exception):
    """A file is not what was written."""


@dataclass(frozen=True)
class Head:
    """What stands in a file before the bytes of the object."""

    key: str
    format: str
    dtype: str | None
    shape: tuple[int, ...]
    size: int
    digest: str
    """Of the bytes, in hexadecimal."""


class Files:
    """Objects by key in the files of a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def there(self) -> bool:
        """Whether it can be asked."""
        return self.folder.is_dir()

    def path(self, key: str) -> Path:
        """Where an object lies: keys may be longer than a file name, and have slashes in them."""
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.chunk"

    def has(self, key: str) -> bool:
        """Whether there is an object."""
        return self.path(key).is_file()

    def write(self, key: str, data: memoryview, *, fmt: str, dtype: str | None, shape: tuple[int, ...]) -> None:
        """Store an object: under a name of its own first, so that nobody ever sees half of it.

        Raises:
            OSError: it cannot be written.
        """
        line = encode_head(key, data, fmt=fmt, dtype=dtype, shape=shape)
        target = self.path(key)
        beside = target.with_suffix(f".{os.getpid()}-{next(_numbers)}.part")
        try:
            with beside.open("wb") as file:
                file.write(MAGIC + line)
                file.write(data)
            beside.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise

    def open(self, key: str) -> tuple[Head, BinaryIO]:
        """The head of an object, and the file at the place where its bytes begin.

        Raises:
            FileNotFoundError: there is none.
            Damaged: it is not what was written.
        """
        file = self.path(key).open("rb")
        try:
            return read_head(file, key), file
        except BaseException:
            file.close()
            raise

    def remove(self, key: str) -> bool:
        """Remove an object; whether there was one."""
        try:
            self.path(key).unlink()
        except OSError:
            return False
        return True

    def keys(self) -> list[str]:
        """The keys of all objects whose head can be read."""
        found = []
        for path in sorted(self.folder.glob("*.chunk")):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError), path.open("rb") as file:
                if file.readline() == MAGIC:
                    found.append(str(json.loads(file.readline())["key"]))
        return found


def encode_head(key: str, data: memoryview, *, fmt: str, dtype: str | None, shape: tuple[int, ...]) -> bytes:
    """The line that stands before the bytes of an object, behind :data:`MAGIC`."""
    return json.dumps(vars(Head(key, fmt, dtype, shape, len(data), digest(data)))).encode() + b"\n"


def read_head(file: BinaryIO, key: str) -> Head:
    """The head of the object of a key.

    Raises:
        Damaged: the file begins otherwise.
    """
    if file.readline() != MAGIC:
        raise Damaged("no head")
    try:
        members = json.loads(file.readline())
        head = Head(**{**members, "shape": tuple(members["shape"])})
    except (ValueError, TypeError, KeyError) as error:
        raise Damaged(f"the head cannot be read: {error}") from None
    if head.key != key:
        raise Damaged(f"the object of another key, {head.key}")
    return head


def digest(data: memoryview) -> str:
    """The checksum of some bytes."""
    return hashlib.blake2b(data, digest_size=DIGEST).hexdigest()
