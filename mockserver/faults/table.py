"""The faults by name: what the command line, its error messages and the reference page know of them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mockserver.faults.action import Action, ListenerFault
from mockserver.faults.connections import CloseAfter, CloseBetween, HalfClose
from mockserver.faults.content import BytesAfterMiss, ExtendBody, FlipBit, GarbageBefore, ReplaceField, TruncateBody
from mockserver.faults.listening import BacklogFull, Refuse, Restart, SlowAccept
from mockserver.faults.pacing import Delay, Segments, Stall, StopReading
from mockserver.faults.replies import DropReply, DuplicateReply, ReorderReplies, UnaskedReply

FAMILIES: Final[Mapping[str, tuple[type[Action], ...]]] = MappingProxyType(
    {
        "Time": (Segments, Delay, Stall, StopReading),
        "What a reply says": (ReplaceField, FlipBit, TruncateBody, ExtendBody, BytesAfterMiss, GarbageBefore),
        "Whole replies": (DropReply, DuplicateReply, ReorderReplies, UnaskedReply),
        "The connection": (CloseAfter, CloseBetween, HalfClose),
        "The server": (SlowAccept, Refuse, BacklogFull, Restart),
    }
)
"""The faults as a reader looks for them."""
FAULTS: Final[Mapping[str, type[Action]]] = MappingProxyType(
    {action.fault: action for family in FAMILIES.values() for action in family}
)


def describe(name: str, faults: Mapping[str, type[Action]] | None = None) -> str:
    """The paragraph that says which event in the real world a fault stands for.

    Raises:
        KeyError: no fault has this name.
    """
    return (faults or FAULTS)[name].stands_for


def deed(name: str, faults: Mapping[str, type[Action]] | None = None) -> str:
    """What a fault does, on one line.

    Raises:
        KeyError: no fault has this name.
    """
    return " ".join((inspect.getdoc((faults or FAULTS)[name]) or "").split())


def form(name: str, faults: Mapping[str, type[Action]] | None = None) -> str:
    """A fault with its parameters, those that can be left out in brackets: ``close-after:bytes=...[,reset=false]``.

    Raises:
        KeyError: no fault has this name.
    """
    fields = dataclasses.fields((faults or FAULTS)[name])  # type: ignore[arg-type]  # actions are dataclasses
    needed = ",".join(f"{field.name}=..." for field in fields if field.default is dataclasses.MISSING)
    optional = [f"{field.name}={_shown(field.default)}" for field in fields if field.default is not dataclasses.MISSING]
    if needed:
        return f"{name}:{needed}" + "".join(f"[,{word}]" for word in optional)
    return f"{name}[:{','.join(optional)}]" if optional else name


def picks(name: str) -> tuple[str, ...]:
    """The keys that say which exchanges or connections meet the fault.

    Raises:
        KeyError: no fault has this name.
    """
    return ("connection",) if issubclass(FAULTS[name], ListenerFault) else MATCH_KEYS


PICKING: Final = """\
Every exchange meets a fault unless keys pick some:

    command=GET         requests with this command: PUT, GET, EXIST, LIST or HEALTH
    nth=2, nth=2..5     of those that agree with the other keys, the second, or the second to the fifth (2.. without an end);
                        counted over the whole server or, with connection=, on each of these connections
    connection=3..      connections, counted from 1 in the order of their acceptance
    probability=0.1     a share of those that are left, drawn by seed= (default 0), the fault and the numbers of connection
                        and exchange alone, so that the same run meets the same faults
    key=...             one key; it stands last, since keys may hold commas"""
"""How ``--faults`` and the reference page explain the keys that pick exchanges."""
MATCH_KEYS: Final = ("command", "nth", "connection", "probability", "seed", "key")


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
