"""A conversation with a multiprocess server: what was sent over ZeroMQ, what came back, and what lay in shared memory.

Most frames are literal, in hexadecimal. What the server chooses anew in every run has a name instead: ``{"bound": "slot.0"}``
stands for an integer, a text or bytes that one reply brought, and that later steps use. ``bound`` says why each of them differs.
Every other byte is the same in every run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from fixturegen.vector import Json, content_hash, patterned
from wire.mp.values import Value, from_json, pack, to_json

StepKind = Literal[
    "connect", "send", "receive", "poll", "close", "segment", "shm-write", "shm-read", "contains", "status", "restart"
]  # fmt: skip

Setting = Literal["control", "shared-memory", "pickle", "cpu-tensors"]
"""What a conversation needs of a server: nothing; engine-driven with or without shared memory; tensors in shared memory."""

SETTINGS: Final[tuple[Setting, ...]] = ("control", "shared-memory", "pickle", "cpu-tensors")


@dataclass(frozen=True)
class MpStep:
    """One step, seen from the client.

    ============= ============================================================================================================
    ``connect``   opens a DEALER; ``routing_id`` (hexadecimal) if it has a fixed one
    ``send``      one message of ``frames``, see :func:`frame_bytes`
    ``receive``   ``got``: ``frames`` of the reply, or ``silence``
    ``poll``      sends ``frames`` until a reply has a result (a poll before the end has none); ``got`` as for ``receive``
    ``close``     closes the connection
    ``segment``   makes shared memory of the client, ``size`` bytes of zeros; ``name`` is bound to its name
    ``shm-write`` writes ``pattern`` at ``at`` (a number, or bound) into the memory that the bound ``segment`` names
    ``shm-read``  reads ``length`` bytes; ``got`` has them as ``hex``, or the ``pattern`` that they are
    ``contains``  ``got``: whether each of ``patterns`` is in the bytes that ``of`` is bound to
    ``status``    reads the counts of the HTTP state: the ``first`` time to remember them; later ``got`` has the differences
    ``restart``   the server is killed and started again at its address
    ============= ============================================================================================================
    """

    do: StepKind
    connection: str | None = None
    values: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        """The step as an object of the corpus."""
        where = {} if self.connection is None else {"connection": self.connection}
        return {"do": self.do, **where, **self.values}

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> MpStep:
        """Read a step."""
        rest = {name: member for name, member in value.items() if name not in {"do", "connection"}}
        return cls(value["do"], value.get("connection"), rest)


@dataclass(frozen=True)
class MpTranscript:
    """An ordered conversation with a real multiprocess server."""

    id: str
    title: str
    setting: Setting
    steps: Sequence[MpStep]
    bound: Mapping[str, str] = field(default_factory=dict)
    """Names of what differs from run to run (before the first dot), and why it does."""
    fatal: bool = False
    """Whether the message thread of the server is dead afterwards: it answers nobody any more."""
    finding: str | None = None
    """What users should know who rely on it."""

    @property
    def restarts(self) -> bool:
        """Whether the server must be restarted in its course."""
        return any(step.do == "restart" for step in self.steps)

    def to_json(self) -> dict[str, Json]:
        """The line of the corpus file, with its hash; a frame that is sent more than once stands in it once."""
        body: dict[str, Json] = {"id": self.id, "title": self.title, "setting": self.setting}
        if self.bound:
            body["bound"] = dict(self.bound)
        if self.fatal:
            body["fatal"] = True
        if self.finding is not None:
            body["finding"] = self.finding
        repeated = _repeated(self.steps)
        if repeated:
            body["frames"] = repeated
        body["steps"] = [_shortened(step.to_json(), repeated) for step in self.steps]
        return {**body, "hash": content_hash(body)}

    @classmethod
    def from_json(cls, line: Mapping[str, Json]) -> MpTranscript:
        """Read a line whose hash is already checked."""
        steps = [MpStep.from_json(_lengthened(step, line.get("frames", []))) for step in line["steps"]]
        return cls(
            line["id"], line["title"], line["setting"], steps,
            line.get("bound", {}), line.get("fatal", False), line.get("finding"),
        )  # fmt: skip


def _repeated(steps: Sequence[MpStep]) -> list[Json]:
    """Long literal frames that are sent more than once, in the order of their first use."""
    sent = [frame for step in steps for frame in step.values.get("frames", ()) if isinstance(frame, str)]
    return [frame for frame in dict.fromkeys(sent) if len(frame) > _SHORT and sent.count(frame) > 1]


def _shortened(step: dict[str, Json], repeated: Sequence[Json]) -> dict[str, Json]:
    if "frames" not in step:
        return step
    return {**step, "frames": [{"frame": repeated.index(frame)} if frame in repeated else frame for frame in step["frames"]]}


def _lengthened(step: Mapping[str, Json], repeated: Sequence[Json]) -> Mapping[str, Json]:
    if "frames" not in step:
        return step
    frames = [repeated[frame["frame"]] if isinstance(frame, Mapping) and "frame" in frame else frame for frame in step["frames"]]
    return {**step, "frames": frames}


_SHORT: Final = 40

Bound = dict[str, Json]
"""Values of the bound names, as they came in one run: numbers, texts, and bytes as in the contract."""


def frame_bytes(frame: Json, bound: Bound) -> bytes:
    """The bytes of a frame.

    A frame is hexadecimal text; ``{"pattern": {"seed", "length"}}``, see :func:`fixturegen.vector.patterned`;
    ``{"msgpack": VALUE}``, a value of the contract with bound names in it; or ``{"parts": [...]}``, hexadecimal text and bound
    texts, which stand for their UTF-8.

    Raises:
        KeyError: a name is not bound yet.
    """
    if isinstance(frame, str):
        return bytes.fromhex(frame)
    if "pattern" in frame:
        return patterned(frame["pattern"]["seed"], frame["pattern"]["length"])
    if "parts" in frame:
        return b"".join(
            bytes.fromhex(part) if isinstance(part, str) else str(bound[part["bound"]]).encode() for part in frame["parts"]
        )
    return pack(from_json(filled(frame["msgpack"], bound)))


def filled(value: Json, bound: Bound) -> Json:
    """A value of the contract with values for its bound names.

    Raises:
        KeyError: a name is not bound yet.
    """
    if isinstance(value, Mapping):
        if sorted(value) == ["bound"]:
            return bound[value["bound"]]
        return {name: filled(member, bound) for name, member in value.items()}
    if isinstance(value, list):
        return [filled(member, bound) for member in value]
    return value


def bind(recorded: Json, received: Value, bound: Bound) -> None:
    """Give the bound names of a recorded value, where they are new, what was received in their places."""
    if isinstance(recorded, Mapping):
        if sorted(recorded) == ["bound"]:
            if isinstance(received, int | str | bytes) and not isinstance(received, bool):
                bound.setdefault(recorded["bound"], to_json(received))
        elif isinstance(received, dict):
            for name, member in recorded.items():
                if name in received:
                    bind(member, received[name], bound)
    elif isinstance(recorded, list) and isinstance(received, list):
        for member, other in zip(recorded, received, strict=False):
            bind(member, other, bound)


def named(value: Value, places: Mapping[str, str], bound: Bound) -> Json:
    """The JSON of a received value with names in the places that differ from run to run, which are bound with that.

    A place is a path such as ``context.slots.*.offset`` (the empty path is the value itself); where it has a star, the number
    of the element is added to the name.
    """
    found = to_json(value)
    for path, name in places.items():
        found = _named(found, path.split(".") if path else [], name, bound)
    return found


def _named(value: Json, path: Sequence[str], name: str, bound: Bound) -> Json:
    if not path:
        bound[name] = value
        return {"bound": name}
    first, *rest = path
    if first == "*" and isinstance(value, list):
        return [_named(member, rest, f"{name}.{index}", bound) for index, member in enumerate(value)]
    if isinstance(value, dict) and first in value:
        return {**value, first: _named(value[first], rest, name, bound)}
    return value
