"""Why a case did not pass: what was expected, what came, where on the wire, and how to see it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

from reports.conversation import Conversation
from reports.plain import JsonObject, JsonValue, clip, plain

Level: TypeAlias = Literal["MUST", "SHOULD", "MAY"]

LONGEST_STDERR: Final = 16_384
LONGEST_COUNTEREXAMPLE: Final = 262_144


@dataclass(frozen=True)
class FieldDifference:
    """A named field of a frame whose value is wrong; ``None`` for a side on which the field is not there.

    ``offset`` and ``size`` are bytes in the expected frame, or in the one that came where only that has the field.
    """

    offset: int
    size: int
    name: str
    expected: str | None
    got: str | None
    note: str = ""

    def to_json(self) -> JsonObject:
        """The member of a results line."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(data["offset"], data["size"], data["name"], data["expected"], data["got"], data.get("note", ""))


@dataclass(frozen=True)
class ValueDifference:
    """A place in an answer whose value is wrong: ``keys[3].end``, or ``""`` for the whole answer.

    ``note`` tells a value that is absent from a ``null`` that is there.
    """

    path: str
    expected: JsonValue
    got: JsonValue
    note: str = ""

    def to_json(self) -> JsonObject:
        """The member of a results line."""
        return {**vars(self), "expected": plain(self.expected), "got": plain(self.got)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(data["path"], data["expected"], data["got"], data.get("note", ""))


@dataclass(frozen=True)
class FrameDump:
    """Bytes to show as a hexdump; all offsets count from the start of the whole frame, not of ``data``."""

    title: str
    data: bytes
    offset: int = 0
    """Where ``data`` begins in the frame."""
    cuts: tuple[int, ...] = ()
    """Offsets at which the stream was cut into segments."""
    marks: tuple[tuple[int, int], ...] = ()
    """(offset, length) of the bytes that differ."""
    truncated_from: int | None = None
    """The frame's length where ``data`` is only a part of it."""

    def to_json(self) -> JsonObject:
        """The member of a results line; bytes as hex."""
        return {
            "title": self.title,
            "data": self.data.hex(),
            "offset": self.offset,
            "cuts": list(self.cuts),
            "marks": [list(mark) for mark in self.marks],
            "truncated_from": self.truncated_from,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        return cls(
            title=data["title"],
            data=bytes.fromhex(data["data"]),
            offset=data.get("offset", 0),
            cuts=tuple(data.get("cuts", ())),
            marks=tuple((offset, length) for offset, length in data.get("marks", ())),
            truncated_from=data.get("truncated_from"),
        )


@dataclass(frozen=True)
class Diagnosis:
    """Everything that explains one verdict; only ``summary`` is always there.

    Texts may hold anything that a client said: whoever shows them escapes them.
    """

    summary: str
    """One sentence: what went wrong."""
    requirement: str | None = None
    level: Level | None = None
    statement: str | None = None
    """The requirement's sentence."""
    why_it_matters: str | None = None
    exchange: str | None = None
    """Where in the conversation, such as ``exchange 2 (EXIST), connection 1``."""
    delivery: str | None = None
    """How the bytes were served, such as ``sent in 2 segments: 10 + 26 bytes``."""
    fields: tuple[FieldDifference, ...] = ()
    frames: tuple[FrameDump, ...] = ()
    values: tuple[ValueDifference, ...] = ()
    expected: JsonValue = None
    """With ``got``: whole values, where neither frames nor paths would say it better. Both ``None``: nothing to show."""
    got: JsonValue = None
    client_answered: str | None = None
    conformant_answer: str | None = None
    provenance: str | None = None
    """Where the expected value comes from: release, vector, wheel digest, upstream module."""
    counterexample: str | None = None
    """The smallest example of a property that was found to fail, as a JSON line that can be kept and replayed."""
    rerun: str | None = None
    """The command that runs just this case again."""
    client_stderr: str | None = None
    conversation: Conversation | None = None
    """What crossed the wire before, where something of ours could see it."""

    def to_json(self) -> JsonObject:
        """The ``diagnosis`` member of a case line: what is not set is left out, what is very long is clipped."""
        members = {name: clip(value) if isinstance(value, str) else plain(value) for name, value in self._scalars().items()}
        if self.client_stderr is not None:
            members["client_stderr"] = clip(self.client_stderr, LONGEST_STDERR, keep="end")
        if self.counterexample is not None:
            members["counterexample"] = clip(self.counterexample, LONGEST_COUNTEREXAMPLE)
        lists = {
            "fields": [field.to_json() for field in self.fields],
            "frames": [frame.to_json() for frame in self.frames],
            "values": [value.to_json() for value in self.values],
        }
        told = {"conversation": self.conversation.to_json()} if self.conversation is not None else {}
        return {**members, **{name: rows for name, rows in lists.items() if rows}, **told}

    def _scalars(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if value is not None and not isinstance(value, tuple | Conversation)
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`; members that this version does not know are dropped."""
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        known["fields"] = tuple(map(FieldDifference.from_json, data.get("fields", ())))
        known["frames"] = tuple(map(FrameDump.from_json, data.get("frames", ())))
        known["values"] = tuple(map(ValueDifference.from_json, data.get("values", ())))
        told = data.get("conversation")
        known["conversation"] = None if told is None else Conversation.from_json(told)
        return cls(**known)
