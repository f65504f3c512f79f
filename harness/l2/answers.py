"""What a plugin answered, as cases look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Buffer:
    """Memory in the plugin's process, by number; see :meth:`harness.l2.plugin_process.Plugin.buffers`."""

    number: int
    size: int


@dataclass(frozen=True)
class Stored:
    """The one verdict about a batch of objects."""

    ok: bool
    error: str
    seconds: float
    changed: Sequence[int] = ()
    """Places in the batch of objects whose source was written to."""
    fenced: bool = True
    """Nobody wrote beside the sources."""


@dataclass(frozen=True)
class Loaded:
    """What a load brought."""

    ok: bool
    error: str
    found: Sequence[bool]
    data: Sequence[bytes | None]
    """The whole buffer of each key that was found; None for the others."""
    touched: Sequence[bool]
    """Which buffers do not hold what they held before; for a key that was found as well, unless its bytes are the same."""
    seconds: float
    fenced: bool = True
    """Nobody wrote beside the buffers."""


@dataclass(frozen=True)
class Looked:
    """What a lookup told."""

    ok: bool
    error: str
    found: Sequence[bool]


@dataclass(frozen=True)
class Deleted:
    """What a delete told."""

    ok: bool
    error: str
    gone: Sequence[bool] | None
    """One for each key, or None where the plugin does not tell."""


@dataclass(frozen=True)
class Submitted:
    """What a submit gave at once; ``at`` is a moment of the plugin's process, ``seconds`` how long the call took."""

    id: int
    type: str
    seconds: float
    at: float

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Self:
        """From the host's answer."""
        return cls(members["id"], members["type"], members["seconds"], members["at"])


@dataclass(frozen=True)
class Completion:
    """One completion, read as the server reads it: whole, or ``broken`` with what the server would stumble over."""

    id: int | None
    ok: bool
    error: str
    results: Sequence[bool] | None
    at: float
    """When the drain that gave it came back."""
    types: Sequence[str]
    """Of the completion, and of its four parts."""
    result_types: Sequence[str]
    """Of the single results, each once."""
    shown: str
    broken: str | None

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Self:
        """From the host's answer."""
        return cls(
            id=members["id"],
            ok=members.get("ok", False),
            error=members.get("error", ""),
            results=members.get("results"),
            at=members["at"],
            types=members.get("types", ()),
            result_types=members.get("result_types", ()),
            shown=members.get("shown", members.get("broken", "")),
            broken=members.get("broken"),
        )


@dataclass(frozen=True)
class Drained:
    """What one drain gave."""

    completions: Sequence[Completion]
    type: str
    """Of the collection that came back."""
    seconds: float
    at: float


@dataclass(frozen=True)
class Readiness:
    """What a wait for the descriptor found."""

    ready: bool
    broken: bool
    """The descriptor is none, or in error."""
    seconds: float


@dataclass(frozen=True)
class Resources:
    """What the plugin's process holds."""

    descriptors: Sequence[str]
    """What each open descriptor leads to."""
    threads: Sequence[str]
    """Names of Python's threads."""
    tasks: int
    """Threads of any kind."""
    children: int
    """Processes that it started and that are not gone."""


@dataclass(frozen=True)
class Step:
    """A command of a thread in :meth:`harness.l2.plugin_process.Plugin.together`."""

    op: str
    args: Mapping[str, Any]
    times: int = 1
