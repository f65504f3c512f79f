"""Fault plans for the MP mock: named, deterministic misbehaviour, addressed by operation and occurrence.

To add a fault, write a class in the module of its family, put it into the table of ``table``, run
``python -m mockserver.mp.faults.page`` for the reference, and add its tests.
"""

from mockserver.mp.faults.action import MpFault
from mockserver.mp.faults.match import MpMatch
from mockserver.mp.faults.plan import NO_MP_FAULTS, MpFaultPlan, MpPlanProgress, MpRule
from mockserver.mp.faults.spec import parse_mp, parse_mp_plan
from mockserver.mp.faults.table import MP_FAMILIES, MP_FAULTS, MP_PICKING

__all__ = [
    "MP_FAMILIES",
    "MP_FAULTS",
    "MP_PICKING",
    "NO_MP_FAULTS",
    "MpFault",
    "MpFaultPlan",
    "MpMatch",
    "MpPlanProgress",
    "MpRule",
    "parse_mp",
    "parse_mp_plan",
]
