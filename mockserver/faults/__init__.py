"""Fault plans: named, deterministic misbehaviour of a mock server, addressed by exchange, byte or field.

A plan is a value. It says which exchanges (``Match``) meet which faults (``Action``); a server counts along in a
``PlanProgress``. To add a fault, write a class in ``actions`` and put it into the table of ``table``.
"""

from mockserver.faults.action import Action, NotApplicableError
from mockserver.faults.actions import CloseAfter, Delay, ReplaceField, Segments, Stall, TruncateBody
from mockserver.faults.outgoing import Outgoing
from mockserver.faults.plan import NO_FAULTS, FaultPlan, FaultRule, Match, PlanProgress
from mockserver.faults.spec import FaultSpecError, format_rule, parse, parse_plan
from mockserver.faults.table import FAULTS, describe

__all__ = [
    "FAULTS",
    "NO_FAULTS",
    "Action",
    "CloseAfter",
    "Delay",
    "FaultPlan",
    "FaultRule",
    "FaultSpecError",
    "Match",
    "NotApplicableError",
    "Outgoing",
    "PlanProgress",
    "ReplaceField",
    "Segments",
    "Stall",
    "TruncateBody",
    "describe",
    "format_rule",
    "parse",
    "parse_plan",
]
