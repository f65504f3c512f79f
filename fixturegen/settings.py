"""Environment variables that change how pinned environments are made."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PYTHON_SETTING = "LMCONFORM_PYTHON"
TORCH_SETTING = "LMCONFORM_TORCH"
PIP_SETTING = "LMCONFORM_PIP_ARGS"
CACHE_SETTING = "LMCONFORM_CACHE"
OFFLINE_SETTING = "LMCONFORM_OFFLINE"
SETTINGS = {
    PYTHON_SETTING: "the CPython 3.11 that runs the real lmcache (default: the one that runs lmconform)",
    TORCH_SETTING: "the requirement for torch (default: the CPU build pinned in fixturegen/requirements/base.txt)",
    PIP_SETTING: "further arguments of pip, such as an extra index that has CPU builds of torch",
    CACHE_SETTING: "the folder for environments and wheels (default: the user cache folder)",
    OFFLINE_SETTING: "1: build nothing, download nothing; what is not cached is unavailable",
}


def cache_directory() -> Path:
    """Where environments, wheels and images' wheelhouses are kept."""
    chosen = os.environ.get(CACHE_SETTING)
    return Path(chosen) if chosen else Path(platformdirs.user_cache_path("lmcache-conformance"))


def offline() -> bool:
    """Whether nothing may be built or downloaded."""
    return os.environ.get(OFFLINE_SETTING, "") not in {"", "0"}


def pip_arguments() -> list[str]:
    """Further arguments for every call of pip that meets the package index."""
    return os.environ.get(PIP_SETTING, "").split()
