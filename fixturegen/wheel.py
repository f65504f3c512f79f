"""Wheels: their names and digests, and their unpacking into folders that go on an import path."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fixturegen.errors import EnvironmentUnavailable


@dataclass(frozen=True)
class Wheel:
    """A wheel as the package index served it."""

    name: str
    sha256: str


def wheel_of(path: Path) -> Wheel:
    """Name and digest of a wheel file."""
    return Wheel(path.name, file_sha256(path))


def file_sha256(path: Path) -> str:
    """The hexadecimal sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack_wheel(wheel: Path, tree: Path, wanted: Callable[[str], bool] = lambda _: True) -> None:
    """Unpack the wanted files of a wheel, and nothing else, into a folder that goes on PYTHONPATH.

    Raises:
        EnvironmentUnavailable: the wheel is damaged.
    """
    shutil.rmtree(tree, ignore_errors=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tree, [name for name in archive.namelist() if wanted(name)])
    except zipfile.BadZipFile as error:
        raise EnvironmentUnavailable(f"{wheel} is damaged ({error}); remove it so that it is downloaded again") from None
