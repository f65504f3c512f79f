"""Which exchanges meet which faults."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mockserver.faults.action import Action
from mockserver.faults.outgoing import Outgoing
from wire.lm.enums import COMMANDS


@dataclass(frozen=True, slots=True)
class Match:
    """Which exchanges a rule concerns; what is None does not matter.

    ``nth`` counts, from 1, the exchanges of the whole server that agree with the rest of the match, since the plan was set.
    ``key`` is the text of the key field without its padding.
    """

    command: str | None = None
    nth: int | None = None
    connection: int | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.command is not None and self.command not in COMMANDS:
            raise ValueError(f"no command is called {self.command!r}; there are {', '.join(COMMANDS)}")
        for name, number in (("nth", self.nth), ("connection", self.connection)):
            if number is not None and number < 1:
                raise ValueError(f"{name} counts from 1, not from {number}")

    def agrees(self, command: str, connection: int, key: str) -> bool:
        """Whether an exchange fits, ``nth`` aside."""
        return self.command in {None, command} and self.connection in {None, connection} and self.key in {None, key}


@dataclass(frozen=True, slots=True)
class FaultRule:
    """Exchanges, and what goes wrong in each: one action, or several that concern different things."""

    match: Match = field(default_factory=Match, kw_only=True)
    action: Action | tuple[Action, ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        concerns = Counter(action.concerns for action in self.actions)
        if not concerns:
            raise ValueError("a fault rule needs an action")
        for what, count in concerns.items():
            if count > 1:
                rivals = ", ".join(action.spec() for action in self.actions if action.concerns == what)
                raise ValueError(f"these actions cannot go together, they all decide on the {what}: {rivals}")

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions, however many there are."""
        return self.action if isinstance(self.action, tuple) else (self.action,)


class FaultPlan:
    """Rules in order. Every rule that matches an exchange acts on it; where two decide on one thing, the first holds."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Iterable[FaultRule] = ()) -> None:
        self._rules = tuple(rules)

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        """The rules."""
        return self._rules

    def check(self, reply_fields: tuple[str, ...]) -> None:
        """Refuse rules that replies with these fields cannot meet.

        Raises:
            NotApplicableError: the message names the action.
        """
        for rule in self._rules:
            for action in rule.actions:
                action.check(reply_fields)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FaultPlan) and self._rules == other.rules

    def __hash__(self) -> int:
        return hash(self._rules)

    def __repr__(self) -> str:
        return f"FaultPlan({list(self._rules)!r})"


NO_FAULTS = FaultPlan()
"""The plan of a server that behaves."""


class PlanProgress:
    """A plan at work: counts, for every rule, the exchanges that agreed with its match. Safe from any thread."""

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self._seen = [0] * len(plan.rules)
        self._lock = threading.Lock()

    def actions_for(self, command: str, connection: int, key: str) -> list[Action]:
        """Count an exchange, and say which actions it meets, in the order of the plan."""
        if not self.plan:
            return []
        actions: list[Action] = []
        with self._lock:
            for index, rule in enumerate(self.plan.rules):
                if rule.match.agrees(command, connection, key):
                    self._seen[index] += 1
                    if rule.match.nth in {None, self._seen[index]}:
                        actions.extend(rule.actions)
        return actions


def shape(outgoing: Outgoing, actions: Iterable[Action]) -> tuple[Outgoing, tuple[str, ...]]:
    """A reply with faults, and the faults that took effect."""
    decided: set[str] = set()
    effective = []
    for action in actions:
        if action.concerns in decided:
            continue
        shaped = action.shape(outgoing)
        if shaped is not outgoing:
            decided.add(action.concerns)
            effective.append(action.spec())
            outgoing = shaped
    return outgoing, tuple(effective)
