"""Writes the site into a folder: never over anything that is not a site of ours, and whole only when all is there."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

MARK: Final = "lmconform-site.json"
"""The file that says that the folder is ours, which files are, and whether the site is whole."""
FIRST_PAGE: Final = "index.html"
_FORMAT: Final = 1


class FolderError(Exception):
    """The folder cannot be written to; the message says why and what to do."""


def check_folder(folder: Path) -> None:
    """Look at a folder before any work is done; nothing is left behind, since what is to be written may yet be refused.

    Raises:
        FolderError: it is no folder, holds something that is no site of ours, or cannot be written to.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise FolderError(f"{folder}: expected a folder, this is none; name one that is empty or does not exist")
        if folder.is_dir() and any(folder.iterdir()) and _ours(folder) is None:
            raise FolderError(
                f"{folder}: holds files and no {MARK}, so it is no site of ours; name a folder that is empty or does not exist"
            )
    except OSError as error:
        raise FolderError(f"{folder}: cannot be read: {error.strerror}") from None
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        with tempfile.TemporaryDirectory(dir=there):
            pass
    except OSError as error:
        raise FolderError(f"{folder}: cannot be written: {error.strerror}; name another folder") from None


def write_site(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files, and remove those of the site that was there before which are no more.

    While it lasts there is no first page, and :data:`MARK` says that the site is not complete; both come last.

    Raises:
        FolderError: as :func:`check_folder`, or the folder cannot be written to.
    """
    check_folder(folder)
    old = _ours(folder) or []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _mark(folder, sorted({*old, *files}), complete=False)
        (folder / FIRST_PAGE).unlink(missing_ok=True)
        for name in sorted(set(old) - set(files)):
            _remove(folder, name)
        for name, data in files.items():
            if name != FIRST_PAGE:
                _write(folder / name, data)
        if FIRST_PAGE in files:
            _write(folder / FIRST_PAGE, files[FIRST_PAGE])
        _mark(folder, sorted(files), complete=True)
    except OSError as error:
        raise FolderError(f"{error.filename or folder}: cannot be written: {error.strerror}") from None


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a whole site."""
    try:
        return json.loads((folder / MARK).read_bytes()).get("complete") is True
    except (OSError, ValueError, AttributeError):
        return False


def _ours(folder: Path) -> list[str] | None:
    """The files of the site that is there; None where there is none."""
    try:
        found: Any = json.loads((folder / MARK).read_bytes())
        names = found["files"] if found["format"] == _FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(names, list):
        return None
    return [name for name in names if isinstance(name, str) and _inside(name)]


def _inside(name: str) -> bool:
    """Whether a name stays below the folder."""
    parts = Path(name).parts
    return bool(parts) and not Path(name).is_absolute() and ".." not in parts


def _mark(folder: Path, names: list[str], *, complete: bool) -> None:
    text = json.dumps({"format": _FORMAT, "complete": complete, "files": names}, indent=1) + "\n"
    _write(folder / MARK, text.encode())


def _write(path: Path, data: bytes) -> None:
    """One file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(data)
    beside.replace(path)


def _remove(folder: Path, name: str) -> None:
    path = folder / name
    if path.resolve().is_relative_to(folder.resolve()):
        path.unlink(missing_ok=True)
        if path.parent != folder and path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()
