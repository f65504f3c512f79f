"""One captured input and output, and one captured conversation, with the hashes that make them immutable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Json = Any
"""A value that JSON can hold."""

MASKED: Final[Json] = {"masked": True}
"""Stands where a value differs from process to process; the vector's ``volatile`` says why."""


def canonical(value: Json) -> bytes:
    """The one JSON text that hashes are taken over: sorted members, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def content_hash(value: Json) -> str:
    """The first 16 hexadecimal digits of sha256 over the canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


@dataclass(frozen=True)
class Vector:
    """What the real lmcache answered for one input.

    ``op`` and ``args`` are an operation of the client contract (without ``release``) and ``outcome`` holds either ``ok``, with
    the members of its answer, or ``error`` with the exception's type and message as the real code raised it.
    """

    id: str
    op: str
    args: Mapping[str, Json]
    outcome: Mapping[str, Json]
    source: str
    """Upstream module and name that was called."""
    volatile: str | None = None
    """Why parts of the outcome are masked: they differ from process to process."""
    finding: str | None = None
    """What users should know who rely on the outcome, although it is the same in every process here."""

    @property
    def ok(self) -> Mapping[str, Json] | None:
        """The members of the answer, or None where the real code refused."""
        found: Mapping[str, Json] | None = self.outcome.get("ok")
        return found

    @property
    def answer(self) -> Mapping[str, Json]:
        """The members of the answer.

        Raises:
            LookupError: the real code refused.
        """
        if self.ok is None:
            raise LookupError(f"vector {self.id} holds a refusal, not an answer")
        return self.ok

    @property
    def refusal(self) -> str:
        """What the real code raised, in words.

        Raises:
            LookupError: it answered.
        """
        error = self.outcome.get("error")
        if error is None:
            raise LookupError(f"vector {self.id} holds an answer, not a refusal")
        return f"lmcache raises {error['type']}: {error['message']}" if error["message"] else f"lmcache raises {error['type']}"

    def to_json(self) -> dict[str, Json]:
        """The line of the corpus file, with its hash."""
        body: dict[str, Json] = {"id": self.id, "op": self.op, "args": dict(self.args), **self.outcome, "source": self.source}
        if self.volatile is not None:
            body["volatile"] = self.volatile
        if self.finding is not None:
            body["finding"] = self.finding
        return {**body, "hash": content_hash(body)}

    @classmethod
    def from_json(cls, line: Mapping[str, Json]) -> Vector:
        """Read a line whose hash is already checked."""
        outcome = {name: line[name] for name in ("ok", "error") if name in line}
        return cls(line["id"], line["op"], line["args"], outcome, line["source"], line.get("volatile"), line.get("finding"))


StepKind = Literal["connect", "send", "receive", "half-close", "close", "reset"]


@dataclass(frozen=True)
class Step:
    """One step of a conversation, seen from the client.

    ``send`` has ``bytes`` (hexadecimal) or ``pattern`` (see :func:`patterned`), and ``pieces`` if it went out in pieces of so
    many bytes. ``receive`` has ``got``: ``bytes`` (or ``length`` and ``sha256`` of many) and ``closed``; neither bytes nor a
    close is silence.
    """

    do: StepKind
    connection: str
    values: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The step as an object of the corpus."""
        return {"do": self.do, "connection": self.connection, **self.values}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Step:
        """Read a step."""
        rest = {name: member for name, member in value.items() if name not in {"do", "connection"}}
        return cls(value["do"], value["connection"], rest)

    def payload(self) -> bytes:
        """What a ``send`` step sends."""
        if "pattern" in self.values:
            return patterned(self.values["pattern"]["seed"], self.values["pattern"]["length"])
        return bytes.fromhex(self.values["bytes"])


@dataclass(frozen=True)
class Transcript:
    """An ordered conversation with a real server: what was sent, and the bytes, silence or close that came back."""

    id: str
    title: str
    steps: Sequence[Step]

    def to_json(self) -> dict[str, Json]:
        """The line of the corpus file, with its hash."""
        body = {"id": self.id, "title": self.title, "steps": [step.to_json() for step in self.steps]}
        return {**body, "hash": content_hash(body)}

    @classmethod
    def from_json(cls, line: Mapping[str, Json]) -> Transcript:
        """Read a line whose hash is already checked."""
        return cls(line["id"], line["title"], [Step.from_json(step) for step in line["steps"]])


def raw(value: Mapping[str, Json]) -> bytes:
    """The bytes behind ``{"hex": ...}``."""
    return bytes.fromhex(value["hex"])


def patterned(seed: int, length: int) -> bytes:
    """A recipe for a large payload: sha256 of ``seed:0``, ``seed:1`` ... joined and cut to the length."""
    blocks = -(-length // 32)
    return b"".join(hashlib.sha256(f"{seed}:{index}".encode()).digest() for index in range(blocks))[:length]
