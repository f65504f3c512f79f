"""Rules that say which exchanges meet which faults, and their counting."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from mockserver.faults.action import Action, ListenerFault, ReplyFault
from mockserver.faults.match import Match, includes
from mockserver.faults.welcome import OPEN, Welcome


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
        for action in self.actions:
            if isinstance(action, ListenerFault) and replace(self.match, connection=None) != Match():
                raise ValueError(f"{action.fault} is met before the first exchange of a connection, so only connection= can pick")

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

    @property
    def guards_the_door(self) -> bool:
        """Whether it concerns connections before their first exchange."""
        return any(isinstance(action, ListenerFault) for rule in self._rules for action in rule.actions)

    def welcome(self, connection: int) -> Welcome:
        """How the connection that is to get this number is met."""
        welcome = OPEN
        decided: set[str] = set()
        for rule in self._rules:
            for action in rule.actions:
                if isinstance(action, ListenerFault) and includes(rule.match.connection, connection):
                    if action.concerns not in decided:
                        welcome = replace(action.meet(welcome), faults=(*welcome.faults, action.spec()))
                    decided.add(action.concerns)
        return welcome

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
        self.idle = not plan
        """Whether no exchange can meet anything."""
        self._seen: Counter[tuple[int, int | None]] = Counter()
        """By the number of the rule and, where it counts for each connection, of the connection."""
        self._lock = threading.Lock()

    def actions_for(self, command: str, connection: int, key: str, exchange: int = 1) -> list[ReplyFault]:
        """Count an exchange, and say which actions it meets, in the order of the plan.

        ``exchange`` is its number on its connection, from 1.
        """
        if self.idle:
            return []
        found: list[ReplyFault] = []
        for index, rule in enumerate(self.plan.rules):
            match = rule.match
            if not match.agrees(command, connection, key):
                continue
            if match.nth is not None and not includes(match.nth, self._count(index, connection if match.connection else None)):
                continue
            found.extend(
                action
                for action in rule.actions
                if isinstance(action, ReplyFault) and match.draws(action.spec(), connection, exchange)
            )
        return found

    def forget(self, connection: int) -> None:
        """Drop the counts of a connection that has ended."""
        if self._seen:
            with self._lock:
                for index in range(len(self.plan.rules)):
                    self._seen.pop((index, connection), None)

    def _count(self, rule: int, connection: int | None) -> int:
        with self._lock:
            self._seen[rule, connection] += 1
            return self._seen[rule, connection]


Reply = TypeVar("Reply")


class Shaping(Protocol[Reply]):
    """A fault of one reply, of either wire."""

    @property
    def concerns(self) -> str:
        """What it decides on."""

    def spec(self) -> str:
        """It as ``--fault`` spells it."""

    def shape(self, outgoing: Reply) -> Reply:
        """The reply with the fault; the same object where the fault has nothing to act on."""


def shape(outgoing: Reply, actions: Iterable[Shaping[Reply]]) -> tuple[Reply, tuple[str, ...]]:
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
