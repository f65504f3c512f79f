"""Fault plans: named, deterministic misbehaviour of a mock server, addressed by exchange, byte or field.

A plan is a value. It says which exchanges (``Match``) meet which faults (``Action``); a server counts along in a
``PlanProgress``. To add a fault, write a class in the module of its family, put it into the table of ``table``, run
``python -m mockserver.faults.page`` for the reference, and add its tests.
"""

from mockserver.faults.action import Action, ListenerFault, NotApplicableError, ReplyFault
from mockserver.faults.connections import CloseAfter, CloseBetween, HalfClose
from mockserver.faults.content import BytesAfterMiss, ExtendBody, FlipBit, GarbageBefore, ReplaceField, TruncateBody
from mockserver.faults.listening import BacklogFull, Refuse, Restart, SlowAccept
from mockserver.faults.match import Match, Span
from mockserver.faults.number import Stored
from mockserver.faults.outgoing import Outgoing
from mockserver.faults.pacing import Delay, Segments, Stall, StopReading
from mockserver.faults.place import Anchor
from mockserver.faults.plan import NO_FAULTS, FaultPlan, FaultRule, PlanProgress
from mockserver.faults.replies import DropReply, DuplicateReply, ReorderReplies, UnaskedReply
from mockserver.faults.spec import FaultSpecError, format_rule, parse, parse_plan
from mockserver.faults.table import FAMILIES, FAULTS, PICKING, deed, describe, form

__all__ = [
    "FAMILIES",
    "FAULTS",
    "NO_FAULTS",
    "PICKING",
    "Action",
    "Anchor",
    "BacklogFull",
    "BytesAfterMiss",
    "CloseAfter",
    "CloseBetween",
    "Delay",
    "DropReply",
    "DuplicateReply",
    "ExtendBody",
    "FaultPlan",
    "FaultRule",
    "FaultSpecError",
    "FlipBit",
    "GarbageBefore",
    "HalfClose",
    "ListenerFault",
    "Match",
    "NotApplicableError",
    "Outgoing",
    "PlanProgress",
    "Refuse",
    "ReorderReplies",
    "ReplaceField",
    "ReplyFault",
    "Restart",
    "Segments",
    "SlowAccept",
    "Span",
    "Stall",
    "StopReading",
    "Stored",
    "TruncateBody",
    "UnaskedReply",
    "deed",
    "describe",
    "form",
    "format_rule",
    "parse",
    "parse_plan",
]
