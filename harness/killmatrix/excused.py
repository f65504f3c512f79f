"""Executions that need not find a mutant, each with its reason. A case that can never fail has no place here: repair it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

EXCUSED: Final[Mapping[str, str]] = MappingProxyType({})
"""By id, without release and target: ``lm.request.decode[lm.request.decode.plain]``."""


OF_ADAPTERS: Final = "l2.adapter-"
"""Topics of cases that only plugins of kind ``plugin`` meet."""
ALIKE: Final = "it asks the same of both kinds of plugins, and the mutants of kind native_plugin have to be found by it"


def reason_for(case: str, variant: str | None, kind: str | None = None) -> str | None:
    """Why an execution of a case is excused; None if it is not. ``kind`` is that of the plugins that are mutants."""
    if kind == "plugin" and not case.startswith(OF_ADAPTERS):
        return ALIKE
    return EXCUSED.get(case if variant is None else f"{case}[{variant}]")
