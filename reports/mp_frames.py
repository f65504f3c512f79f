"""Messages of the multiprocess server for people: frame by frame, what each holds as msgpack, and where two messages differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.diagnosis import FrameDump, ValueDifference
from reports.difference import frame_difference, frame_dump
from reports.plain import clip
from reports.value_difference import value_differences
from wire.mp.values import ValueRefused, to_json, unpack

DUMPED: Final = 3
"""Frames of a message whose bytes are shown."""
_LONGEST: Final = 80


@dataclass(frozen=True)
class MessageDifference:
    """How a message that came differs from the one that was expected; the members go into a ``Diagnosis``."""

    summary: str
    """Such as ``frame 2 of 3: 4 of 36 bytes differ, the first at 0x4``; empty if the two are equal."""
    values: tuple[ValueDifference, ...]
    """Where what the frames hold differs; none where only the bytes do."""
    frames: tuple[FrameDump, ...]


def message_difference(expected: Sequence[bytes], got: Sequence[bytes]) -> MessageDifference:
    """Compare two messages, each as its frames behind the uid."""
    pairs = list(zip(expected, got, strict=False))
    differing = [index for index, (one, other) in enumerate(pairs) if one != other]
    dumps: list[FrameDump] = []
    words: list[str] = []
    for index in differing[:DUMPED]:
        one, other = pairs[index]
        name = frame_name(index)
        found = frame_difference(one, other, titles=(f"expected, {name}", f"got, {name}"))
        dumps += found.frames
        words.append(f"{name}: {found.summary}")
    if len(expected) != len(got):
        words.insert(0, f"{len(got)} frames behind the uid, expected {len(expected)}")
        longer, title = (expected, "expected, and not there:") if len(expected) > len(got) else (got, "got, and not expected:")
        more = range(len(pairs), min(len(longer), len(pairs) + DUMPED))
        dumps += [frame_dump(f"{title} {frame_name(index)}", longer[index]) for index in more]
    return MessageDifference("; ".join(words), value_differences(in_words(expected), in_words(got)), tuple(dumps))


def in_words(frames: Sequence[bytes]) -> dict[str, Any]:
    """What the frames behind a uid hold, by their names."""
    return {frame_name(index): meaning(frame) for index, frame in enumerate(frames)}


def frame_name(index: int) -> str:
    """What a frame behind the uid is called."""
    return "operation" if index == 0 else f"frame {index}"


def meaning(frame: bytes) -> Any:
    """The msgpack value of a frame as JSON, or why it has none."""
    try:
        return to_json(unpack(frame))
    except ValueRefused as refusal:
        return f"({refusal})"


def message_text(frames: Sequence[bytes]) -> str:
    """The frames behind a uid on one line, shortened."""
    return ", ".join(clip(str(meaning(frame)), _LONGEST) for frame in frames) or "nothing"
