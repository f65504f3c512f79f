"""Changes between two captures: what changed, how badly for whom, and the captured example that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Level(IntEnum):
    """How badly a change hits an implementation that is right for the older release and stays as it is."""

    NONE = 0
    """It notices nothing."""
    ADDITIVE = 1
    """All that was right stays right; there is something more, to use or to meet."""
    BEHAVIOURAL = 2
    """It still speaks and is understood, but some answer, decision or odd input has another outcome."""
    BREAKING = 3
    """Its bytes are refused or misread, it misreads what comes, or it looks for keys that nobody stores."""

    @property
    def word(self) -> str:
        """The level as text."""
        return self.name.lower()


class Role(StrEnum):
    """Who speaks on the wire; an implementation may have several roles."""

    STORES = "stores"
    """Makes keys and sends PUT with a payload."""
    LOADS = "loads"
    """Makes keys, sends GET, EXIST, LIST and HEALTH, and reads the replies and payloads."""
    SERVER = "server"
    """Reads requests and answers them."""


class Aspect(StrEnum):
    """The parts of the wire that are compared, in the order in which they are reported."""

    MP_COLLISIONS = "mp collisions"
    REQUEST_HEADER = "request header"
    REPLY_HEADER = "reply header"
    NUMBERS = "header numbers"
    SHAPES = "shapes"
    KEY_STRING = "key string"
    KEY_READING = "keys accepted"
    CHUNK_CHAIN = "chunk chain"
    CHUNKS = "chunk keys"
    DEFAULTS = "defaults"
    ANSWERS = "server answers"
    METADATA = "remote metadata"
    TOKEN_HASHES = "token hashes"  # noqa: S105  # no secret: tokens of a language model
    LAYOUTS = "payload layouts"
    OTHER = "other operations"
    MP_OPERATIONS = "mp operations"
    MP_PAYLOADS = "mp payloads"
    MP_RECORDS = "mp records"
    MP_FRAMES = "mp frames"
    MP_READING = "mp reading"
    MP_REGISTRATION = "mp registrations"
    MP_OBJECTS = "mp object keys"
    MP_ANSWERS = "mp answers"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Levels:
    """The level of a change for each role."""

    stores: Level = Level.NONE
    loads: Level = Level.NONE
    server: Level = Level.NONE

    def __getitem__(self, role: Role) -> Level:
        level: Level = getattr(self, role.value)
        return level

    @property
    def worst(self) -> Level:
        """The highest of the three."""
        return max(self.stores, self.loads, self.server)

    def __or__(self, other: Levels) -> Levels:
        return Levels(max(self.stores, other.stores), max(self.loads, other.loads), max(self.server, other.server))

    @classmethod
    def all(cls, level: Level) -> Levels:
        """The same level for every role."""
        return cls(level, level, level)

    @classmethod
    def clients(cls, level: Level) -> Levels:
        """A level for both kinds of client, none for a server."""
        return cls(level, level, Level.NONE)


def worst_of(levels: Iterable[Levels]) -> Levels:
    """The highest level of each role."""
    worst = Levels()
    for found in levels:
        worst |= found
    return worst


@dataclass(frozen=True)
class Side:
    """One half of an example: what a capture says, in words, and the bytes that were written or that were to be read."""

    text: str
    data: bytes | None = None


@dataclass(frozen=True)
class Example:
    """A captured input whose outcome shows a change; a side is None where that release was not asked."""

    id: str
    before: Side | None
    after: Side | None


@dataclass(frozen=True)
class Table:
    """Rows of text under headings, for what is read best side by side."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Change:
    """One change on the wire, however many captured inputs show it."""

    aspect: Aspect
    title: str
    """What changed, as one sentence without a full stop."""
    levels: Levels
    must: str
    """One sentence on what a client must change."""
    examples: tuple[Example, ...] = ()
    detail: tuple[str, ...] = ()
    """Further sentences."""
    table: Table | None = None
    evidence: int = 1
    """How many captured inputs show it."""


@dataclass(frozen=True)
class Drift:
    """All changes between two captures, worst first, and what was or could not be compared."""

    old: str
    new: str
    changes: tuple[Change, ...]
    compared: int
    """Vectors and transcripts that both captures have."""
    only_old: int
    only_new: int
    notes: tuple[str, ...] = ()
    """What the captures cannot show, and what differs without touching the wire."""

    @property
    def levels(self) -> Levels:
        """The highest level of each role over all changes."""
        return worst_of(change.levels for change in self.changes)

    @property
    def worst(self) -> Level:
        """The highest level of all."""
        return self.levels.worst

    def at(self, level: Level) -> list[Change]:
        """The changes whose highest level is this one."""
        return [change for change in self.changes if change.levels.worst is level]


@dataclass
class Findings:
    """What the comparison of one aspect gives: changes, notes, and the captured inputs that the changes account for."""

    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    accounted: set[str] = field(default_factory=set)

    def add(self, changes: Sequence[Change]) -> None:
        """Further changes."""
        self.changes += changes


def in_order(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Worst first; within a level in the order of the aspects."""
    aspects = list(Aspect)
    return tuple(sorted(changes, key=lambda change: (-change.levels.worst, aspects.index(change.aspect))))
