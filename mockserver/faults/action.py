"""What every fault has in common."""

from __future__ import annotations

import abc
import dataclasses
import math
from typing import ClassVar

from mockserver.faults.outgoing import Outgoing
from mockserver.faults.place import Anchor
from mockserver.faults.welcome import Welcome

_LONGEST = 1_000_000.0
"""Seconds, some eleven days; a kernel cannot wait much longer in one call."""


class NotApplicableError(ValueError):
    """A plan asks for a fault that the wire of the server's release cannot have."""


class Action(abc.ABC):
    """One kind of misbehaviour. Subclasses are frozen dataclasses; their fields are the keys of ``--fault``.

    The docstring says what the fault does and is printed by ``--faults`` and in the reference.
    """

    fault: ClassVar[str]
    """The name after ``--fault``."""
    stands_for: ClassVar[str]
    """The event in the real world that it stands for, in one paragraph."""
    example: ClassVar[str]
    """How ``--fault`` may spell it."""

    part: ClassVar[str]
    """What it changes, where that does not depend on the parameters."""

    @property
    def concerns(self) -> str:
        """What it changes. Of two actions that concern the same thing only one can hold: the one that the plan has first."""
        return self.part

    def check(self, reply_fields: tuple[str, ...]) -> None:
        """Refuse a wire that the fault cannot act on.

        Raises:
            NotApplicableError: for example, a field that replies of this release do not have.
        """
        for field in self.named_fields():
            if field not in reply_fields:
                raise NotApplicableError(
                    f"{self.spec()}: replies of this release have no field {field!r}; they have {', '.join(reply_fields)}"
                )

    def named_fields(self) -> list[str]:
        """The fields of the reply header without which it means nothing."""
        values = [value for value in self._values() if isinstance(value, Anchor)]
        return [anchor.field for anchor in values if anchor.field is not None]

    def spec(self) -> str:
        """The action as ``--fault`` spells it; fields with their default value are left out."""
        given = [
            f"{field.name}={_spell(value)}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"{self.fault}:{','.join(given)}" if given else self.fault

    def _values(self) -> list[object]:
        values: list[object] = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            values.extend(value if isinstance(value, tuple) else [value])
        return values


class ReplyFault(Action):
    """A fault of one exchange."""

    @abc.abstractmethod
    def shape(self, outgoing: Outgoing) -> Outgoing:
        """The reply with the fault; the same object where the fault has nothing to act on."""


class ListenerFault(Action):
    """A fault of the port: it is met before a connection has a first exchange, so only ``connection=`` can pick."""

    part: ClassVar[str] = "port"
    """How the next connection is met."""

    @abc.abstractmethod
    def meet(self, welcome: Welcome) -> Welcome:
        """How the next connection is met with the fault."""


def require_seconds(name: str, seconds: float) -> None:
    """Refuse what is no time to wait.

    Raises:
        ValueError: negative, endless or no number.
    """
    if not (math.isfinite(seconds) and 0 <= seconds <= _LONGEST):
        raise ValueError(f"{name} is a time in seconds, from 0 to {_LONGEST:.0f}, not {seconds}")


def _spell(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(str(part) for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
