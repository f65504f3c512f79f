"""Faults of the MP mock as text, in the same grammar as those of the lm mock: ``wrong-uid:operation=PING,nth=2``."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from mockserver.faults.match import Ordinals
from mockserver.faults.spec import Grammar
from mockserver.mp.faults.action import MpFault
from mockserver.mp.faults.match import MpMatch
from mockserver.mp.faults.plan import MpFaultPlan, MpRule
from mockserver.mp.faults.table import MP_FAULTS, MP_MATCH_KEYS

_GRAMMAR: Final[Grammar[MpMatch, MpFault]] = Grammar(
    MP_FAULTS,
    MpMatch,
    MappingProxyType({"operation": str, "nth": Ordinals, "connection": Ordinals, "probability": float, "seed": int}),
    lambda _: MP_MATCH_KEYS,
)


def parse_mp(text: str) -> MpRule:
    """Read one fault.

    Raises:
        FaultSpecError: an unknown name or key, a value that does not fit, or one that is missing.
    """
    match, action = _GRAMMAR.parse(text)
    return MpRule(match=match, action=action)


def parse_mp_plan(texts: Iterable[str]) -> MpFaultPlan:
    """Read several faults, in order of precedence.

    Raises:
        FaultSpecError: as :func:`parse_mp` does.
    """
    return MpFaultPlan(tuple(parse_mp(text) for text in texts))
