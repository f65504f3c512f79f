"""The faults of the MP mock by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mockserver.mp.faults.action import MpFault
from mockserver.mp.faults.frames import ExtraFrames, GarbageResult, MissingFrames, WrongOperation, WrongUid
from mockserver.mp.faults.replies import DropReply, DuplicateReply, LateReply, LoseRequest, SwapReplies
from mockserver.mp.faults.results import Refuse, ShrinkHits, SlotLength, SlotsOutside, StillRunning, WrongType
from mockserver.mp.faults.server import Die, Restart

MP_FAMILIES: Final[Mapping[str, tuple[type[MpFault], ...]]] = MappingProxyType(
    {
        "Whole replies": (DropReply, LoseRequest, LateReply, DuplicateReply, SwapReplies),
        "Frames": (WrongUid, WrongOperation, ExtraFrames, MissingFrames, GarbageResult),
        "What a reply says": (WrongType, Refuse, StillRunning, ShrinkHits, SlotsOutside, SlotLength),
        "The server": (Die, Restart),
    }
)
"""The faults as a reader looks for them."""
MP_FAULTS: Final[Mapping[str, type[MpFault]]] = MappingProxyType(
    {action.fault: action for family in MP_FAMILIES.values() for action in family}
)
MP_MATCH_KEYS: Final = ("operation", "nth", "connection", "probability", "seed")

MP_PICKING: Final = """\
Every request meets a fault unless keys pick some:

    operation=LOOKUP    requests for this operation, by its name in capitals
    nth=2, nth=2..5     of those that agree with the other keys, the second, or the second to the fifth (2.. without an end);
                        counted over the whole server or, with connection=, on each of these connections
    connection=3..      connections, counted from 1 in the order in which they first sent something
    probability=0.1     a share of those that are left, drawn by seed= (default 0), the fault and the number of the request
                        alone, so that the same run meets the same faults"""
"""How ``--faults`` and the reference page explain the keys that pick requests."""
