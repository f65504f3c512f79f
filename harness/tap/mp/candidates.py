"""Which releases a side may be: those that would have written all that it wrote, and what excluded the others.

A client is known by its requests: numbers, counts and types of payloads, members of records. A server is known by its replies:
that there is one at all, and its form. Silence excludes little, since every failure is silent on this wire; but a server that
lives on after what ends the message thread of a release is not of that release.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from harness.tap.mp.fits import Misfit, kind, misfit
from harness.tap.mp.packed import path_text, place_of
from harness.tap.mp.parts import STREAM, Part, Parts
from reports.collisions.dialect import Dialect, generations
from wire.mp.operations import FIRST_RELEASE, Operation, OperationTable, UnknownOperationError, operation_table
from wire.mp.registration import DATA_ONLY, MODULES
from wire.mp.types import Optional
from wire.release import KNOWN_RELEASES, Release

Reading = Literal["exact", "loose"]
READINGS: Final[tuple[Reading, ...]] = ("exact", "loose")


@dataclass(frozen=True)
class Wrong:
    """The first byte of a message that a release would not have written, or does not take."""

    frame: int
    """Index in the message; the uid is 0. One behind the last for a frame that is missing."""
    offset: int
    """In the frame."""
    stream: int
    """In all that the side sent on the connection."""
    what: str
    """The field: ``operation``, ``payload 0 of LOOKUP, token_ids[3]``, ``number of payloads`` ..."""
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, got {self.got} (frame {self.frame}, byte {self.offset})"


@dataclass(frozen=True)
class Evidence:
    """Why a side is not of a release."""

    connection: int
    at: float
    operation: str
    """What the message was about, as far as that is known."""
    wrong: Wrong


@functools.lru_cache(maxsize=1)
def groups() -> tuple[tuple[Release, ...], ...]:
    """Releases that nothing on the wire tells apart, together; oldest first."""
    known = [Release.parse(text) for text in KNOWN_RELEASES if Release.parse(text) >= FIRST_RELEASE]
    found: list[tuple[Release, ...]] = []
    for same in generations([Dialect.of(operation_table(release)) for release in known]):
        by_wrapper: dict[tuple[object, ...], list[Release]] = {}
        for dialect in same:
            seal = (DATA_ONLY[dialect.release], *(modules[dialect.release] for modules in MODULES.values()))
            by_wrapper.setdefault(seal, []).append(dialect.release)
        found += [tuple(releases) for releases in by_wrapper.values()]
    return tuple(sorted(found))


@functools.lru_cache(maxsize=256)
def group_of(release: Release) -> tuple[Release, ...]:
    """The group that a release belongs to; one that is not known here is taken to be as the newest before it."""
    at_or_before = [group for group in groups() if group[0] <= release]
    return next((group for group in groups() if release in group), at_or_before[-1] if at_or_before else groups()[0])


@dataclass
class Side:
    """What is known of one side so far."""

    alive: dict[Reading, dict[Release, None]] = field(default_factory=dict)
    """Newest releases of the groups that are not excluded."""
    excluded: dict[Reading, dict[Release, Evidence]] = field(default_factory=dict)
    seen: int = 0
    """Messages that said anything."""

    def __post_init__(self) -> None:
        for reading in READINGS:
            self.alive[reading] = dict.fromkeys(group[-1] for group in groups())
            self.excluded[reading] = {}

    @property
    def reading(self) -> Reading:
        """How the side is read: as lmcache itself as long as one release writes just this."""
        return "exact" if self.alive["exact"] else "loose"

    @property
    def candidates(self) -> tuple[Release, ...]:
        """The newest release of each group that the side may be; none if no release writes all of this."""
        return tuple(self.alive[self.reading])

    def weigh(self, connection: int, at: float, operation: str, look: Callable[[Release, Reading], Wrong | None]) -> bool:
        """Exclude the groups that a message speaks against; whether any was."""
        self.seen += 1
        changed = False
        for reading in READINGS:
            for release in list(self.alive[reading]):
                wrong = look(release, reading)
                if wrong is not None:
                    del self.alive[reading][release]
                    self.excluded[reading][release] = Evidence(connection, at, operation, wrong)
                    changed = True
        return changed


def spans(releases: Iterable[Release]) -> str:
    """Releases as ranges: ``0.4.7, 0.5.0 to 0.5.2``."""
    known = [Release.parse(text) for text in KNOWN_RELEASES]
    runs: list[list[Release]] = []
    for release in sorted(set(releases)):
        if runs and release in known and runs[-1][-1] in known and known.index(release) == known.index(runs[-1][-1]) + 1:
            runs[-1].append(release)
        else:
            runs.append([release])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def whole_groups(candidates: Iterable[Release]) -> list[Release]:
    """All releases of the groups that candidates stand for."""
    return [release for candidate in candidates for release in group_of(candidate)]


# What one message says


def wrong_request(release: Release, parts: Parts, reading: Reading) -> Wrong | None:
    """The first byte of a request that a release would not have written (exact) or does not take (loose); None for none."""
    table = operation_table(release)
    if parts.of_stream:
        return None if STREAM in table else wrong_operation(table, parts)
    operation = operation_in(table, parts)
    if operation is None:
        return wrong_operation(table, parts)
    if reading == "exact" and (not parts.parts[1].canonical or parts.number != operation.number):
        return at_frame(parts, 1, 0, "operation", f"{operation.number!r} in its shortest form", parts.parts[1].data[:8].hex())
    wrong = wrong_count(operation, parts)
    if wrong is not None:
        return wrong
    for index, (type_, part) in enumerate(zip(operation.payloads, parts.behind, strict=True)):
        found = wrong_value(release, type_, parts, part, index + 2, f"payload {index} of {operation.name}", reading)
        if found is not None:
            return found
    return None


def wrong_result(release: Release, operation: Operation, sent: bytes, reply: Parts, reading: Reading) -> Wrong | None:
    """The first byte of a reply that is not as an operation's replies are; ``sent`` is the frame of the operation."""
    if reply.operation != sent:
        got = "no frame" if reply.operation is None else reply.operation[:16].hex()
        return at_frame(reply, 1, 0, "operation", f"{sent[:16].hex()}, as it was sent", got)
    results = reply.behind
    name = f"result of {operation.name}"
    if not results:
        ends = operation.name == STREAM  # a stream ends with a reply that has no result
        due = operation.result is not None and not isinstance(operation.result, Optional) and not ends
        return at_frame(reply, 2, 0, name, str(operation.result), "no frame") if due else None
    if operation.result is None:
        if reading == "loose" and not results[0].refused and results[0].value is None:
            return None
        return at_frame(reply, 2, 0, name, "no frame", kind(results[0].value))
    if reading == "exact" and len(results) > 1:
        return at_frame(reply, 3, 0, f"behind the {name}", "nothing", f"{len(results) - 1} more frames")
    if reading == "exact" and not results[0].refused and results[0].value is None:
        return at_frame(reply, 2, 0, name, "no frame for nil", "nil in a frame of its own")
    return wrong_value(release, operation.result, reply, results[0], 2, name, reading)


def operation_in(table: OperationTable, parts: Parts) -> Operation | None:
    """The operation that a server executes for a message; None for none."""
    if len(parts.parts) < 2 or parts.parts[1].refused:
        return None
    try:
        return table.numbered(parts.number)
    except (UnknownOperationError, TypeError):
        return None


def wrong_operation(table: OperationTable, parts: Parts) -> Wrong:
    """That the operation's frame names no operation of a release."""
    if len(parts.parts) < 2:
        return at_frame(parts, 1, 0, "operation", "a frame", "nothing: the message has a single frame")
    numbers = [operation.number for operation in table.operations if isinstance(operation.number, int)]
    part = parts.parts[1]
    got = "an empty frame" if not part.data else part.refused or _told(part.value)
    return at_frame(parts, 1, 0, "operation", f"{min(numbers)} to {max(numbers)}", got)


def wrong_count(operation: Operation, parts: Parts) -> Wrong | None:
    """That there are too many or too few payloads."""
    count = parts.message.count - 2
    if count == len(operation.payloads):
        return None
    wanted = ", ".join(map(str, operation.payloads)) or "none"
    frame = 2 + min(count, len(operation.payloads))
    expected = f"{len(operation.payloads)} ({wanted})"
    return at_frame(parts, frame, 0, f"number of payloads of {operation.name}", expected, str(count))


def wrong_value(
    release: Release, type_: object, parts: Parts, part: Part, frame: int, name: str, reading: Reading
) -> Wrong | None:
    """Where the value of a frame is not what a release writes or takes there."""
    if part.refused:
        return at_frame(parts, frame, 0, name, str(type_), part.refused)
    if reading == "exact" and not part.canonical:
        return at_frame(parts, frame, 0, name, "numbers and lengths in their shortest forms", "longer ones")
    found = misfit(release, type_, part.value, exact=reading == "exact")  # type: ignore[arg-type]
    return None if found is None else misplaced(parts, part, frame, name, found)


def misplaced(parts: Parts, part: Part, frame: int, name: str, found: Misfit) -> Wrong:
    """A misfit with its place in the bytes."""
    place = place_of(part.data, found.path)
    field_name = f"{name}, {path_text(found.path)}" if found.path else name
    return at_frame(parts, frame, place.start if place is not None else 0, field_name, found.expected, found.got)


def at_frame(parts: Parts, frame: int, offset: int, what: str, expected: str, got: str) -> Wrong:
    """A place in a message; a frame that is missing begins where the message ends."""
    kept = parts.message.frames
    stream = kept[frame].offset + offset if frame < len(kept) else parts.message.end
    return Wrong(frame, offset, stream, what, expected, got)


def _told(value: object) -> str:
    return repr(value)[:40] if isinstance(value, int | str) else kind(value)


def newest(releases: Sequence[Release]) -> Release:
    """The newest of some."""
    return max(releases)
