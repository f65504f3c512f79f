"""The faults by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mockserver.faults.action import Action
from mockserver.faults.actions import CloseAfter, Delay, ReplaceField, Segments, Stall, TruncateBody

FAULTS: Final[Mapping[str, type[Action]]] = MappingProxyType(
    {action.fault: action for action in (Segments, Delay, Stall, CloseAfter, TruncateBody, ReplaceField)}
)


def describe(name: str) -> str:
    """The paragraph that says which event in the real world a fault stands for.

    Raises:
        KeyError: no fault has this name.
    """
    return FAULTS[name].stands_for
