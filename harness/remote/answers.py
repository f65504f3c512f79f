"""What an open connector answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raised:
    """An exception that the connector let through."""

    kind: str
    message: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message} (in {self.place})" if self.message else f"{self.kind} (in {self.place})"


@dataclass(frozen=True)
class Stored:
    """What became of objects that were stored; one entry for each."""

    before: tuple[int, ...]
    """References that each had when it was lent."""
    after: tuple[int, ...]
    unchanged: tuple[bool, ...]
    """Whether its bytes are still those that were to be stored."""
    raised: Raised | None


@dataclass(frozen=True)
class Found:
    """A memory object that came back."""

    payload: bytes
    format: str
    dtype: str | None
    shape: tuple[int, ...]
    references: int
    from_pool: bool
    address: int

    @property
    def about(self) -> dict[str, Any]:
        """What must come back besides the bytes."""
        return {"format": self.format, "dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True)
class Got:
    """The answer to a get: an object, or nothing, or something strange."""

    found: Found | None
    raised: Raised | None = None
    strange: str | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.raised is not None:
            return f"raised {self.raised}"
        if self.strange is not None:
            return f"the value {self.strange}"
        return "None" if self.found is None else f"{len(self.found.payload)} bytes, {self.found.about}"


@dataclass(frozen=True)
class GotMany:
    """The answer to a get of several keys; ``found`` is None where it was no list."""

    found: tuple[Got, ...] | None
    raised: Raised | None = None
    strange: str | None = None

    def __str__(self) -> str:
        if self.found is None:
            return f"raised {self.raised}" if self.raised is not None else f"the value {self.strange}"
        return f"[{', '.join('None' if got.found is None and got.strange is None else str(got) for got in self.found)}]"


@dataclass(frozen=True)
class Said:
    """A plain answer, and the class that it had."""

    value: Any
    kind: str | None
    raised: Raised | None

    def __str__(self) -> str:
        return f"raised {self.raised}" if self.raised is not None else f"{self.value!r} ({self.kind})"


@dataclass(frozen=True)
class About:
    """What was opened."""

    place: str
    bases: tuple[str, ...]
    coroutines: Mapping[str, bool]
    own: tuple[str, ...]
    """Methods that are not those of the base class."""
    supports: Mapping[str, Any]
    attributes: Mapping[str, str]
