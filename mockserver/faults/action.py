"""What every fault has in common."""

from __future__ import annotations

import abc
import dataclasses
from typing import ClassVar

from mockserver.faults.outgoing import Outgoing


class NotApplicableError(ValueError):
    """A plan asks for a fault that the wire of the server's release cannot have."""


class Action(abc.ABC):
    """One kind of misbehaviour. Subclasses are frozen dataclasses; their fields are the keys of ``--fault``."""

    fault: ClassVar[str]
    """The name after ``--fault``."""
    stands_for: ClassVar[str]
    """The event in the real world that it stands for, in one paragraph."""

    @property
    @abc.abstractmethod
    def concerns(self) -> str:
        """What it changes. Of two actions that concern the same thing only one can hold: the one that the plan has first."""

    @abc.abstractmethod
    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with the fault; the same object where the fault has nothing to act on."""

    def check(self, reply_fields: tuple[str, ...]) -> None:
        """Refuse a wire that the fault cannot act on.

        Raises:
            NotApplicableError: for example, a field that replies of this release do not have.
        """
        del reply_fields

    def spec(self) -> str:
        """The action as ``--fault`` spells it; fields with their default value are left out."""
        given = [
            f"{field.name}={_spell(value)}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"{self.fault}:{','.join(given)}" if given else self.fault


def _spell(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(str(part) for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
