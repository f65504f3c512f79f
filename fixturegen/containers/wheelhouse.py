"""The build context of images: the requirement set, a wheel for each of its lines, and the wheels of releases."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fixturegen.containers.commands import bounded
from fixturegen.containers.last_words import last_words
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.lock import locked

_PYTHON: Final = "3.11"
_NEWEST_GLIBC: Final = 36
"""Minor number of the glibc 2.x of Debian 12, the older of the two bases in use."""

_DOWNLOAD_SECONDS: Final = 1200
_TORCH_HINT: Final = (
    "the CPU builds of PyTorch have a package index of their own; PyTorch's install page names it. "
    "Set PIP_EXTRA_INDEX_URL to it and try again"
)

_log = logging.getLogger(__name__)


class Wheelhouse:
    """Wheels for an image, downloaded once per requirement set and architecture and kept in the cache.

    Args:
        cache: the folder that build contexts are kept in.
        requirements: text of a requirements file, every line pinned.
        architecture: what wheels are fetched for, as they spell it.
        release_wheel: gives the wheel of a release of lmcache; None: it is downloaded.
        pip_arguments: further arguments of ``pip download``.
    """

    def __init__(
        self,
        cache: Path,
        requirements: str,
        architecture: str,
        *,
        release_wheel: Callable[[str], Path] | None = None,
        pip_arguments: Sequence[str] = (),
    ) -> None:
        self._cache = cache
        self._requirements = requirements
        self._architecture = architecture
        self._release_wheel = release_wheel
        self._pip_arguments = tuple(pip_arguments)

    @property
    def path(self) -> Path:
        """The folder of this requirement set, whether it is filled yet or not."""
        return self._cache / f"context-{digest(self._requirements, self._architecture)}"

    def context(self, release: str) -> Path:
        """The build context: ``requirements.txt``, ``wheels/``, and ``release/`` with at least the wheel of the release.

        Raises:
            EnvironmentUnavailable: a wheel could not be downloaded.
        """
        with locked(self.path.with_suffix(".lock")):
            if not self.path.exists():
                self._fill()
            if not any((self.path / "release").glob(f"lmcache-{release}-*.whl")):
                self._add_release(release)
        return self.path

    def _fill(self) -> None:
        _log.info("downloading the wheels that lmcache needs")
        with tempfile.TemporaryDirectory(dir=self._cache, prefix="download-") as made:
            half_done = Path(made) / "context"
            (half_done / "release").mkdir(parents=True)
            requirements = half_done / "requirements.txt"
            requirements.write_text(self._requirements, encoding="utf-8")
            self._download(half_done / "wheels", ["--requirement", str(requirements)], "what lmcache needs")
            half_done.rename(self.path)

    def _add_release(self, release: str) -> None:
        with tempfile.TemporaryDirectory(dir=self._cache, prefix="download-") as made:
            if self._release_wheel is None:
                self._download(Path(made), [f"lmcache=={release}"], f"lmcache {release}")
            else:
                shutil.copy(self._release_wheel(release), made)
            for wheel in Path(made).glob("*.whl"):
                wheel.rename(self.path / "release" / wheel.name)

    def _download(self, directory: Path, what: Sequence[str], name: str) -> None:
        """Fetch the wheels that fit the image, whatever interpreter runs this."""
        platforms = [f"manylinux_2_{minor}_{self._architecture}" for minor in range(_NEWEST_GLIBC, 4, -1)]
        platforms += [f"{old}_{self._architecture}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"),
            *("--no-deps", "--only-binary=:all:", "--dest", str(directory)),
            *("--implementation", "cp", "--python-version", _PYTHON, "--abi", "cp311", "--abi", "abi3", "--abi", "none"),
            *(argument for platform in platforms for argument in ("--platform", platform)),
            *self._pip_arguments,
            *what,
        ]
        done = bounded(command, f"downloading {name}", _DOWNLOAD_SECONDS, dict(os.environ))
        if done.returncode != 0:
            raise EnvironmentUnavailable(self._reason(name, done.stderr))

    def _reason(self, name: str, written: str) -> str:
        """Why a download failed, from what pip wrote."""
        if "No module named pip" in written:
            return f"{sys.executable} has no pip to download wheels with: run `{sys.executable} -m ensurepip`"
        missing = re.search(r"No matching distribution found for (\S+)", written)
        if missing is None:
            return f"downloading {name} failed{last_words(written)}"
        if missing.group(1).startswith("torch"):
            return f"{missing.group(1)} is not at hand: {_TORCH_HINT}"
        return (
            f"no wheel of {missing.group(1)} for Python {_PYTHON} on {self._architecture} can be found: "
            f"check the version, and that pip reaches a package index{last_words(written)}"
        )


def digest(*parts: str) -> str:
    """A short name for some texts: equal exactly for equal ones."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
