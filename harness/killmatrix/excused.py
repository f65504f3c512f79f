"""Executions that need not find a mutant, each with its reason. A case that can never fail has no place here: repair it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

EXCUSED: Final[Mapping[str, str]] = MappingProxyType({})
"""By id, without release and target: ``lm.request.decode[lm.request.decode.plain]``."""


def reason_for(case: str, variant: str | None) -> str | None:
    """Why an execution of a case is excused; None if it is not."""
    return EXCUSED.get(case if variant is None else f"{case}[{variant}]")
