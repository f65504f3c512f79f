"""Plays a conversation against a server: to record what comes back, or to compare it with what was recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final

from fixturegen.connection import Connection
from fixturegen.vector import Step, Transcript

REPLY_PATIENCE: Final = 20.0
"""Seconds to wait for bytes or a close that should come."""
RECORDED_SILENCE: Final = 1.0
"""Seconds without a byte that a recording calls silence."""
QUIET: Final = 0.15
"""Seconds without a further byte after which a recorded answer is over."""
REPLAYED_SILENCE: Final = 0.02
"""Seconds without a byte that a replay calls silence: enough for a server on this machine that has nothing else to do."""
LONGEST_LITERAL: Final = 4096
"""Answers with more bytes than this are kept as length and sha256."""


@dataclass(frozen=True)
class Goodbye:
    """A request behind the end of a conversation, and the reply that every server gives to it at once.

    With it nobody needs to wait: whatever a server sent too much, and a connection that it closed, show in the reply.
    """

    request: bytes
    reply: bytes

    @classmethod
    def of(cls, transcript: Transcript) -> Goodbye:
        """The first request of a captured conversation, and its captured reply."""
        sent, received = transcript.steps[1:3]
        return cls(sent.payload(), bytes.fromhex(received.values["got"]["bytes"]))


@dataclass(frozen=True)
class Difference:
    """A server's answer that is not the recorded one."""

    step: int
    """Index of the ``receive`` step."""
    expected: Mapping[str, Any]
    got: Mapping[str, Any]
    received: bytes
    after: bool = False
    """It showed after the step, in what came around the reply to the :class:`Goodbye`."""

    def __str__(self) -> str:
        where = f"step {self.step}" if not self.after else f"after step {self.step}, answering one more request"
        return f"{where}: expected {_words(self.expected)}, got {_words(self.got)}"


def record(host: str, port: int, script: Transcript) -> Transcript:
    """Play a script and return it with what came back.

    A script's ``receive`` steps hold a hint, ``want``: how many bytes to wait for, 0 for silence, None for a close.
    """
    steps = []
    with ExitStack() as stack:
        connections: dict[str, Connection] = {}
        for step in script.steps:
            if step.do != "receive":
                _act(stack, connections, step, host, port)
                steps.append(step)
                continue
            want = step.values["want"]
            patience = RECORDED_SILENCE if want == 0 else REPLY_PATIENCE
            data, closed = connections[step.connection].receive(want or None if want != 0 else 1, patience, QUIET)
            steps.append(replace(step, values={"got": _outcome(data, closed=closed)}))
    return Transcript(script.id, script.title, steps)


def replay(
    host: str, port: int, transcript: Transcript, *, goodbye: Goodbye | None = None, patience: float = REPLY_PATIENCE
) -> list[Difference]:
    """Play a transcript and return every answer that differs from the recorded one, at the latest after the first.

    Behind the last answer on a connection nothing more may come. Without ``goodbye`` that takes a short wait.
    """
    followed = _followed(transcript)
    open_ended = _open_ended(transcript) if goodbye is not None else {}
    with ExitStack() as stack:
        connections: dict[str, Connection] = {}
        for index, step in enumerate(transcript.steps):
            if step.do != "receive":
                _act(stack, connections, step, host, port)
                continue
            expected = step.values["got"]
            length = expected["length"] if "length" in expected else len(expected["bytes"]) // 2
            silent = length == 0 and not expected["closed"]
            want = None if expected["closed"] else max(length, 1)
            # Surplus bytes show in the next answer on the connection; only its last one is listened to for longer.
            quiet = 0.0 if index in followed or index in open_ended.values() else REPLAYED_SILENCE
            data, closed = connections[step.connection].receive(want, REPLAYED_SILENCE if silent else patience, quiet)
            got = _outcome(data, closed=closed)
            if got != expected:
                return [Difference(index, expected, got, data)]
        for name, index in open_ended.items():
            assert goodbye is not None
            connections[name].send(goodbye.request, None)
            connections[name].half_close()
            data, closed = connections[name].receive(None, patience, 0.0)
            expected, got = _outcome(goodbye.reply, closed=True), _outcome(data, closed=closed)
            if got != expected:
                return [Difference(index, expected, got, data, after=True)]
    return []


def _followed(transcript: Transcript) -> set[int]:
    """Indices of ``receive`` steps after which the same connection is listened to again."""
    found: set[int] = set()
    last: dict[str, int] = {}
    for index, step in enumerate(transcript.steps):
        if step.do == "receive":
            if step.connection in last:
                found.add(last[step.connection])
            last[step.connection] = index
    return found


def _open_ended(transcript: Transcript) -> dict[str, int]:
    """Connections that are open at the end, with nothing sent since their last answer, and the index of that answer."""
    found: dict[str, int] = {}
    half_closed = {step.connection for step in transcript.steps if step.do == "half-close"}
    for index, step in enumerate(transcript.steps):
        found.pop(step.connection, None)
        if step.do == "receive" and not step.values["got"]["closed"] and step.values["got"].get("bytes") != "":
            found[step.connection] = index
    return {name: index for name, index in found.items() if name not in half_closed}


def _act(stack: ExitStack, connections: dict[str, Connection], step: Step, host: str, port: int) -> None:
    if step.do == "connect":
        connection = Connection(host, port)
        stack.callback(connection.close)
        connections[step.connection] = connection
    elif step.do == "send":
        connections[step.connection].send(step.payload(), step.values.get("pieces"))
    elif step.do == "reset":
        connections[step.connection].reset()
    elif step.do == "half-close":
        connections[step.connection].half_close()
    else:
        connections[step.connection].close()


def _outcome(data: bytes, *, closed: bool) -> dict[str, Any]:
    if len(data) > LONGEST_LITERAL:
        return {"length": len(data), "sha256": hashlib.sha256(data).hexdigest(), "closed": closed}
    return {"bytes": data.hex(), "closed": closed}


def _words(outcome: Mapping[str, Any]) -> str:
    if "length" in outcome:
        what = f"{outcome['length']} bytes with sha256 {outcome['sha256'][:12]}"
    else:
        size = len(outcome["bytes"]) // 2
        what = f"{size} bytes {outcome['bytes'][:80]}" if size else ("nothing" if outcome["closed"] else "silence")
    return what + (", then a close" if outcome["closed"] else "")
