"""Plays a conversation against a multiprocess server: to record what comes back, or to compare it with what was recorded."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final, Protocol

from fixturegen.errors import CaptureError
from fixturegen.mp import memory
from fixturegen.mp.dealer import Dealers
from fixturegen.mp.transcript import Bound, MpStep, MpTranscript, bind, frame_bytes, named
from fixturegen.vector import Json, patterned, raw
from wire.errors import WireError
from wire.mp.values import unpack

REPLY_PATIENCE: Final = 20.0
"""Seconds to wait for a reply that should come."""
RECORDED_SILENCE: Final = 0.4
"""Seconds without a reply that a recording calls silence, where the step does not say how long."""
REPLAYED_SILENCE: Final = 0.05
"""The same for a replay: enough for a server on this machine that has nothing else to do."""
COUNTS_PATIENCE: Final = 5.0
COUNTS_PAUSE: Final = 0.04
STEADY: Final = 4
"""So many equal readings of the counts, with pauses between, are taken for the end of what a server does after its reply."""
POLLS: Final = 400
POLL_PAUSE: Final = 0.02
LONGEST_LITERAL: Final = 4096
"""Frames with more bytes than this are kept as length and sha256."""


class Peer(Protocol):
    """Where a server listens."""

    @property
    def host(self) -> str:
        """Its address."""

    @property
    def port(self) -> int:
        """Its port."""


@dataclass(frozen=True)
class Abilities:
    """What else can be done to a server."""

    counts: Callable[[], Mapping[str, int]] | None = None
    """Counts of its state; without it ``status`` steps are passed over."""
    settled: Callable[[int], None] | None = None
    """Waits until so many messages, all that were sent, have been dealt with; a mock can tell, and silence is short then."""
    restart: Callable[[], None] | None = None
    """Kills it and starts it again at its address; without it, conversations with a restart cannot be played."""


@dataclass(frozen=True)
class Difference:
    """A step that went another way than it was recorded."""

    step: int
    """Its index."""
    expected: Json
    got: Json

    def __str__(self) -> str:
        return f"step {self.step}: expected {_words(self.expected)}, got {_words(self.got)}"


class _Play:
    """One conversation while it is held."""

    def __init__(self, peer: Peer, abilities: Abilities, stack: ExitStack) -> None:
        self.bound: Bound = {}
        self.dealers = stack.enter_context(Dealers(peer.host, peer.port))
        self._abilities = abilities
        self._stack = stack
        self._before: Mapping[str, int] | None = None
        self._written: list[dict[str, int]] = []
        self._sent = 0

    def act(self, step: MpStep) -> None:
        """A step that brings nothing back."""
        match step.do:
            case "connect":
                self.settle()  # messages of two connections overtake each other
                routing_id = step.values.get("routing_id")
                self.dealers.connect(_connection(step), None if routing_id is None else bytes.fromhex(routing_id))
            case "send":
                self._send(step)
            case "close":
                self.dealers.close(_connection(step))
            case "segment":
                segment = memory.Segment(step.values["size"])
                self._stack.callback(segment.remove)
                self.bound[step.values["name"]] = segment.name
            case "shm-write":
                pattern = step.values["pattern"]
                self._written.append(pattern)
                memory.write(self._segment(step), self._at(step), patterned(pattern["seed"], pattern["length"]))
            case "status":
                self._before = self._abilities.counts() if self._abilities.counts is not None else None
            case "restart":
                if self._abilities.restart is None:
                    raise CaptureError("this conversation restarts the server, and nothing here can do that")
                self._abilities.restart()
            case _:
                raise CaptureError(f"no step {step.do!r:.40} is known; the corpus is of another lmconform")

    def receive(self, step: MpStep, patience: float) -> list[bytes] | None:
        """The frames of a reply, or None for silence; a poll asks until there is a result."""
        if step.do == "receive":
            return self.dealers.receive(_connection(step), patience)
        frames = None
        for _ in range(POLLS):
            self._send(step)
            frames = self.dealers.receive(_connection(step), patience)
            if frames is None or len(frames) > 2:  # uid and operation, and no result yet
                return frames
            time.sleep(POLL_PAUSE)
        return frames

    def settle(self) -> None:
        """Wait until everything that was sent has been dealt with, where that can be known."""
        if self._abilities.settled is not None:
            self._abilities.settled(self._sent)

    def read(self, step: MpStep) -> Json:
        """What lies in shared memory; by its recipe, where this conversation wrote the same."""
        data = memory.read(self._segment(step), self._at(step), step.values["length"])
        for recipe in self._written:
            if data == patterned(recipe["seed"], recipe["length"]):
                return {"pattern": recipe}
        return {"hex": data.hex()}

    def contained(self, step: MpStep) -> Json:
        """Whether each pattern is in bytes that came."""
        data = raw(self.bound[step.values["of"]])
        return [patterned(pattern["seed"], pattern["length"]) in data for pattern in step.values["patterns"]]

    def counted(self, expected: Json = None) -> Json:
        """How the counts of the state differ from those at the first status step; None where nobody counts.

        A server goes on a little after its reply: they are read until they are as expected, or until they stay as they are.
        """
        if self._abilities.counts is None:
            return None
        before = self._before or {}
        until = time.monotonic() + COUNTS_PATIENCE
        found: list[Json] = []
        while time.monotonic() < until:
            found.append({name: count - before.get(name, 0) for name, count in self._abilities.counts().items()})
            if found[-1] == expected or (expected is None and len(found) >= STEADY and found[-STEADY:] == [found[-1]] * STEADY):
                break
            time.sleep(COUNTS_PAUSE)
        return found[-1]

    def _send(self, step: MpStep) -> None:
        self._sent += 1
        self.dealers.send(_connection(step), self._frames(step))

    def _frames(self, step: MpStep) -> list[bytes]:
        return [frame_bytes(frame, self.bound) for frame in step.values["frames"]]

    def _segment(self, step: MpStep) -> str:
        return str(self.bound[step.values["segment"]])

    def _at(self, step: MpStep) -> int:
        at = step.values["at"]
        return int(at if isinstance(at, int) else self.bound[at["bound"]])


def record(peer: Peer, script: MpTranscript, abilities: Abilities | None = None) -> MpTranscript:
    """Play a script and return it with what came back.

    A script's ``receive`` and ``poll`` steps may hold hints, which are not recorded: ``want`` (``"silence"`` where no reply is
    expected), ``within`` (seconds), and ``bind``, which names the places of a result that differ from run to run.

    Raises:
        CaptureError: a reply with bound names cannot be given back byte for byte.
    """
    steps: list[MpStep] = []
    with ExitStack() as stack:
        play = _Play(peer, abilities or Abilities(), stack)
        for step in script.steps:
            try:
                recorded = _recorded(play, script, step)
            except KeyError as error:
                so_far = [step.values["got"] for step in steps if "got" in step.values]
                raise CaptureError(f"{script.id}: no reply brought {error}; the last one was {so_far[-1:]}") from None
            if recorded is not None:
                steps.append(recorded)
    return replace(script, steps=steps)


def replay(
    peer: Peer,
    transcript: MpTranscript,
    abilities: Abilities | None = None,
    *,
    patience: float = REPLY_PATIENCE,
    silence: float = REPLAYED_SILENCE,
) -> Difference | None:
    """Play a transcript and return the first step that went another way, or None.

    So many seconds without a reply are ``silence``; a reply that comes later than that is a surplus one.
    ``status`` steps are passed over where nobody counts. Behind the last reply on a connection nothing more may come.

    Raises:
        CaptureError: it has a ``restart`` step, and ``abilities`` has no restart.
    """
    with ExitStack() as stack:
        play = _Play(peer, abilities or Abilities(), stack)
        for index, step in enumerate(transcript.steps):
            try:
                found = _played(play, index, step, patience, silence)
            except (KeyError, TypeError, ValueError, OSError) as error:  # what a reply said leads to no memory, or to no number
                found = Difference(index, step.to_json(), {"impossible": f"{type(error).__name__}: {error}"})
            if found is not None:
                return found
        for name in {step.connection for step in transcript.steps if step.connection is not None}:
            surplus = _surplus(play, transcript, name, silence)
            if surplus is not None:
                return surplus
    return None


def _played(play: _Play, index: int, step: MpStep, patience: float, silence: float) -> Difference | None:
    """One step of a replay; what was bound in it came from the server, and may be anything."""
    if step.do in ("receive", "poll"):
        return _compared(play, index, step, patience, silence)
    if step.do == "shm-read":
        return _equal(index, step.values["got"], play.read(step))
    if step.do == "contains":
        return _equal(index, step.values["got"], play.contained(step))
    if step.do == "status" and "got" in step.values:
        counts = play.counted(step.values["got"])
        return None if counts is None else _equal(index, step.values["got"], counts)
    play.act(step)
    return None


def _recorded(play: _Play, script: MpTranscript, step: MpStep) -> MpStep | None:
    """The step with what it brought; None where it can bring nothing here."""
    match step.do:
        case "receive" | "poll":
            return _recorded_reply(play, script, step)
        case "shm-read":
            return replace(step, values={**step.values, "got": play.read(step)})
        case "contains":
            return replace(step, values={**step.values, "got": play.contained(step)})
        case "status" if not step.values.get("first"):
            counts = play.counted()
            return None if counts is None else replace(step, values={"got": counts})
    play.act(step)
    return step


def _recorded_reply(play: _Play, script: MpTranscript, step: MpStep) -> MpStep:
    silent = step.values.get("want") == "silence"
    patience = step.values.get("within", RECORDED_SILENCE if silent else REPLY_PATIENCE)
    frames = play.receive(step, patience)
    kept = {name: value for name, value in step.values.items() if name == "frames"}
    if frames is None:
        return replace(step, values={**kept, "got": {"silence": True}})
    got: list[Json] = [_literal(frame) for frame in frames]
    places = step.values.get("bind")
    if places and len(frames) > 2:  # the result stands behind uid and operation
        got[2] = {"msgpack": named(unpack(frames[2]), places, play.bound)}
        if frame_bytes(got[2], play.bound) != frames[2]:
            raise CaptureError(f"{script.id}: the reply {frames[2].hex()} is not packed as msgpack packs it")
    return replace(step, values={**kept, "got": {"frames": got}})


def _compared(play: _Play, index: int, step: MpStep, patience: float, silence: float) -> Difference | None:
    expected = step.values["got"]
    if "silence" in expected and step.do == "receive":
        play.settle()
    frames = play.receive(step, silence if "silence" in expected else patience)
    if frames is None:
        return _equal(index, expected, {"silence": True})
    got = {"frames": [_literal(frame) for frame in frames]}
    if "silence" in expected or len(frames) != len(expected["frames"]):
        return Difference(index, expected, got)
    for recorded, frame in zip(expected["frames"], frames, strict=True):
        if not _same(recorded, frame, play.bound):
            return Difference(index, expected, got)
    return None


def _same(recorded: Json, frame: bytes, bound: Bound) -> bool:
    if isinstance(recorded, str) or "length" in recorded:
        return bool(recorded == _literal(frame))
    try:
        bind(recorded["msgpack"], unpack(frame), bound)
        return frame_bytes(recorded, bound) == frame
    except (KeyError, WireError):
        return False


def _surplus(play: _Play, transcript: MpTranscript, name: str, silence: float) -> Difference | None:
    last = max(index for index, step in enumerate(transcript.steps) if step.connection == name)
    if transcript.steps[last].do == "close":
        return None
    play.settle()
    frames = play.dealers.receive(name, silence)
    if frames is None:
        return None
    return Difference(last, {"silence": True}, {"frames": [_literal(frame) for frame in frames]})


def _equal(index: int, expected: Json, got: Json) -> Difference | None:
    return None if expected == got else Difference(index, expected, got)


def _literal(frame: bytes) -> Json:
    if len(frame) <= LONGEST_LITERAL:
        return frame.hex()
    return {"length": len(frame), "sha256": hashlib.sha256(frame).hexdigest()}


def _connection(step: MpStep) -> str:
    if step.connection is None:
        raise CaptureError(f"a {step.do} step names no connection")
    return step.connection


def _words(outcome: Json) -> str:
    if isinstance(outcome, Mapping) and "frames" in outcome:
        return "frames " + " ".join(_frame_words(frame) for frame in outcome["frames"])
    return "silence" if outcome == {"silence": True} else str(outcome)


def _frame_words(frame: Json) -> str:
    return (frame or "(empty)") if isinstance(frame, str) else str(frame)
