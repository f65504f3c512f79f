"""A run in parts: what it selected, which shard of it a file holds, and which shards a merged file came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from reports.plain import JsonObject


def ids_digest(ids: Iterable[str]) -> str:
    """SHA-256 over the ids of executions in their order, one a line, as hex."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()


@dataclass(frozen=True)
class Selection:
    """What a run selected, all shards together, and the settings that a verdict may depend on and no other member tells."""

    cases: int
    ids: str
    """:func:`ids_digest` of all of them."""
    examples: int | None
    """Examples of each property; ``None`` where nobody asked for a number."""
    deadline: float
    """Seconds that a call may take."""
    client_start: float
    """Seconds that the client may take to start."""
    runtime: str
    """Where live servers run."""
    require: str | None = None
    """The lowest level whose failures count, ``must`` or ``should``; ``None`` in files of a harness that did not note it."""

    def to_json(self) -> JsonObject:
        """The ``selection`` member of the header line."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        known: dict[str, Any] = {name: data.get(name) for name in cls.__dataclass_fields__}
        return cls(**known)


@dataclass(frozen=True)
class Shard:
    """One of several parts of a run, counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def to_json(self) -> JsonObject:
        """The ``shard`` member of the header line."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(data["index"], data["count"])


@dataclass(frozen=True)
class Part:
    """A shard that went into a merged file."""

    index: int
    started: str
    seconds: float
    python: str
    platform: str
    command_line: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """A member of ``parts``."""
        return {**vars(self), "command_line": list(self.command_line)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        known = {name: data[name] for name in cls.__dataclass_fields__}
        return cls(**{**known, "command_line": tuple(data["command_line"])})


@dataclass(frozen=True)
class Merged:
    """Where a merged file comes from."""

    count: int
    """Shards that the run was cut into."""
    parts: tuple[Part, ...]
    faults: tuple[str, ...] = ()
    """Why they are not the whole run: shards that are missing or did not end."""

    def to_json(self) -> JsonObject:
        """The ``merged`` member of the header line."""
        return {"count": self.count, "parts": [part.to_json() for part in self.parts], "faults": list(self.faults)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(data["count"], tuple(map(Part.from_json, data["parts"])), tuple(data.get("faults", ())))
