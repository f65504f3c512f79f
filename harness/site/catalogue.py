"""Every case of the matrix, found by importing its modules: none is executed, and nothing is asked of a corpus."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from harness.case import case_name, spec_of, topic_of
from reports.site.model import Case

PACKAGE: Final = "cases"
"""Above this layer, so it is found by name."""


def all_cases() -> list[Case]:
    """All cases, by name."""
    return sorted(_cases(), key=lambda found: found.name)


def _cases() -> Iterator[Case]:
    package = importlib.import_module(PACKAGE)
    for module in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        if not module.name.rpartition(".")[2].startswith("test_"):
            continue
        loaded = importlib.import_module(module.name)
        for name, function in vars(loaded).items():
            spec = spec_of(function)
            if spec is None or function.__module__ != module.name:
                continue
            yield Case(
                name=f"{topic_of(PurePath(loaded.__file__ or ''))}.{case_name(name)}",
                title=(inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " "),
                cites=spec.cites,
                runs=spec.runs,
                targets=spec.targets,
                releases=str(spec.releases),
            )
