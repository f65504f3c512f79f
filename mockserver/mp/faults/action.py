"""What every fault of the MP mock has in common."""

from __future__ import annotations

import abc
from typing import ClassVar

from mockserver.faults.action import Action
from mockserver.mp.outgoing import Outgoing


class MpFault(Action):
    """A fault of one request. Subclasses are frozen dataclasses; their fields are the keys of ``--fault``."""

    before: ClassVar[bool] = False
    """Whether it decides before the operation is executed, and keeps it from being so."""

    @abc.abstractmethod
    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with the fault; the same object where the fault has nothing to act on."""
