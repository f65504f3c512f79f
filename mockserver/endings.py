"""How a connection ended, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EndingKind = Literal[
    "peer closed",
    "peer reset",
    "cut header",
    "cut payload",
    "bad request",
    "no data",
    "no memory",
    "fault",
    "server stopped",
    "server error",
]


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a connection, as the journal reports it.

    ``peer closed`` is a clean end between two requests, ``cut header`` and ``cut payload`` an end inside one, ``peer reset``
    an error of the socket (a reset, most of the time). ``no data`` is what a GET of a value whose payload was cut leads to.
    ``no memory`` means that the system refused what a length on the wire asked for; other connections go on.
    ``server error`` is a defect of the mock itself: please report it.
    """

    kind: EndingKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


class ConnectionEndedError(Exception):
    """Raised inside a connection's thread when its socket is of no more use."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(str(ending))
        self.ending = ending
