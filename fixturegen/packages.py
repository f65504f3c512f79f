"""Requirement sets beside the base environment: each installed into a folder of its own that goes on an import path."""

from __future__ import annotations

import hashlib
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fixturegen.errors import EnvironmentUnavailable
from fixturegen.lock import locked
from fixturegen.pip import FOR_PYTHON, pip
from fixturegen.settings import OFFLINE_SETTING, offline

REQUIREMENTS: Final = Path(__file__).resolve().parent / "requirements"
INSTALL_TIMEOUT: Final = 1800.0
_GLIBC: Final = 31
"""Minor number of the oldest glibc 2.x that packages must run with, in a container as well as here."""


def packages_folder(cache: Path, name: str) -> Path:
    """Where the packages of ``requirements/<name>.txt`` lie, whether they are installed yet or not; its name tells the set."""
    text = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
    key = hashlib.sha256(f"{text}\0{platform.machine()}".encode()).hexdigest()[:12]
    return cache / f"{name}-{key}"


def installed_packages(cache: Path, name: str, what: str) -> Path:
    """The packages of a requirement set, installed on first use; ``what`` says in words what they are.

    Raises:
        EnvironmentUnavailable: they are not cached and cannot be fetched.
    """
    folder = packages_folder(cache, name)
    if not folder.is_dir():
        require_online(f"{what} ({name}.txt)")
        with locked(cache / f"{folder.name}.lock"):
            if not folder.is_dir():
                _install(REQUIREMENTS / f"{name}.txt", folder, what)
    return folder


def without_dependencies(machine: str, *, newest_glibc: int) -> Sequence[str]:
    """Arguments of pip that take exactly the wheels that are named, for the pinned interpreter."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(newest_glibc, 4, -1)]
    platforms += [f"{old}_{machine}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
    return (
        *("--quiet", "--no-deps", *FOR_PYTHON, "--abi", "cp311", "--abi", "abi3", "--abi", "none"),
        *(word for name in platforms for word in ("--platform", name)),
    )


def require_online(what: str) -> None:
    """Nothing, where something may be fetched.

    Raises:
        EnvironmentUnavailable: the settings forbid it.
    """
    if offline():
        raise EnvironmentUnavailable(f"{what} is not cached and {OFFLINE_SETTING} forbids fetching it")


def _install(requirements: Path, folder: Path, what: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="install-") as made:
        half_done = Path(made) / "packages"
        pip(
            sys.executable,
            "install",
            [
                *without_dependencies(platform.machine(), newest_glibc=_GLIBC),
                *("--no-compile", "--target", str(half_done), "--requirement", str(requirements)),
            ],
            what=f"install {what} ({requirements.name})",
            timeout=INSTALL_TIMEOUT,
        )
        half_done.rename(folder)
