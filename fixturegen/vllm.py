"""vLLM beside the real lmcache: the Python files of a few versions, and the packages that they import.

vLLM gives lmcache its hash functions and its NONE_HASH. Neither needs a GPU, so a wheel without its libraries is enough.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fixturegen.lock import locked
from fixturegen.packages import installed_packages, packages_folder, require_online, without_dependencies
from fixturegen.pip import pip
from fixturegen.settings import cache_directory
from fixturegen.wheel import Wheel, unpack_wheel, wheel_of

VLLM_VERSIONS: Final = ("0.10.1", "0.11.0", "0.28.0", "0.33.0")
"""One of each kind: integers, digests, digests with xxhash, and a NONE_HASH that does not need PYTHONHASHSEED."""

HASHING: Final = "vllm-hashing"
COMPLETE: Final = "vllm"
SETS: Final = (HASHING, COMPLETE)
"""Requirement sets, each the stem of a file: what hash functions import, and what NONE_HASH needs besides."""

DOWNLOAD_TIMEOUT: Final = 1800.0
_VLLM_PLATFORM: Final = "x86_64"
"""Only Python files are kept, so every machine takes the same wheel."""


@dataclass(frozen=True)
class VllmTree:
    """An unpacked vLLM: where its ``vllm`` package lies, and the wheel it came from."""

    folder: Path
    wheel: Wheel


class VllmTrees:
    """vLLM versions and requirement sets, fetched once and kept in the cache."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = (cache or cache_directory()) / "vllm"

    def tree(self, version: str) -> VllmTree:
        """The Python files of a version.

        Raises:
            EnvironmentUnavailable: they are not cached and cannot be fetched.
        """
        folder = self._cache / f"vllm-{version}"
        marker = folder / ".wheel.json"
        if not marker.is_file():
            require_online(f"vLLM {version}")
            with locked(self._cache / f"vllm-{version}.lock"):
                if not marker.is_file():
                    self._fetch(version, folder)
        return VllmTree(folder, Wheel(**json.loads(marker.read_text(encoding="utf-8"))))

    def packages(self, name: str) -> Path:
        """The unpacked packages of a requirement set.

        Raises:
            EnvironmentUnavailable: they are not cached and cannot be fetched.
        """
        return installed_packages(self._cache, name, "what vLLM imports")

    def cached(self, version: str) -> list[Path] | None:
        """The folders that make the hash functions of a version importable, or None where they are not in the cache."""
        folder, packages = self._cache / f"vllm-{version}", packages_folder(self._cache, HASHING)
        return [folder, packages] if (folder / ".wheel.json").is_file() and packages.is_dir() else None

    def _fetch(self, version: str, folder: Path) -> None:
        print(f"lmconform: fetching the Python files of vLLM {version}, once", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=self._cache, prefix="download-") as made:
            pip(
                sys.executable,
                "download",
                [*without_dependencies(_VLLM_PLATFORM, newest_glibc=35), "--dest", made, f"vllm=={version}"],
                what=f"download vLLM {version}",
                timeout=DOWNLOAD_TIMEOUT,
            )
            (path,) = Path(made).glob("*.whl")
            wheel = wheel_of(path)
            half_done = Path(made) / "tree"
            unpack_wheel(path, half_done, _is_python)
            (half_done / ".wheel.json").write_text(json.dumps({"name": wheel.name, "sha256": wheel.sha256}), encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            half_done.rename(folder)


def import_paths(version: str, trees: VllmTrees, *, complete: bool) -> list[Path]:
    """Folders that make a version importable: all of it as far as we need, or its hash functions alone.

    Raises:
        EnvironmentUnavailable: something cannot be fetched.
    """
    return [trees.tree(version).folder, *(trees.packages(name) for name in (SETS if complete else SETS[:1]))]


def versions_in(job: Mapping[str, Any]) -> list[str]:
    """The versions of vLLM that the vectors of a job ask for."""
    asked = {vector["args"].get("vllm") for vector in job["vectors"]}
    return [version for version in VLLM_VERSIONS if version in asked]


def _is_python(name: str) -> bool:
    return name.endswith((".py", "/METADATA", "/RECORD"))
