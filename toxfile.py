"""Environments of tox that run the matrix with real servers: ``live-RELEASE`` for every captured release, and ``live-all``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.version import Version
from tox.config.loader.memory import MemoryLoader
from tox.plugin import impl

CORPUS = Path(__file__).resolve().parent / "cases" / "corpus"
CAPTURED = sorted((path.parent.name for path in CORPUS.glob("*/manifest.json")), key=Version)
CHOICES = {f"live-{releases}": releases for releases in ("all", *CAPTURED)}
"""Name of an environment to what ``--lmcache`` takes."""


@impl
def tox_extend_envs() -> Iterable[str]:
    """Their names; ``tox.ini`` has no list of them."""
    return tuple(CHOICES)


@impl
def tox_add_core_config(core_conf: Any, state: Any) -> None:
    """Each of them is the section ``live`` of ``tox.ini`` with its releases."""
    del core_conf
    for name, releases in CHOICES.items():
        loader = MemoryLoader(
            base=["live", "testenv"],
            description=f"the matrix of the reference client against the real server: lmcache {releases}",
            set_env={"LMCONFORM_LIVE": releases},
        )
        state.conf.memory_seed_loaders[name].append(loader)
