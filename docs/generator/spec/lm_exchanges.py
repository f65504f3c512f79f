"""What each request was answered in the captured conversations of all releases, counted.

A request counts where it is whole, where at most PUTs were sent with it before the answer came, and where its connection went on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from docs.generator.spec.corpus import captured, captures
from docs.generator.spec.words import code, listed
from docs.generator.table import table
from fixturegen.vector import Step
from wire.lm.enums import CODES, COMMANDS
from wire.lm.frames import header_numbers
from wire.lm.profile import LmProfile, lm_profile
from wire.release import Release

_PAYLOADS: Final = {"PUT": "`length` bytes"}
"""What follows a request; nothing for the others."""
_NO_REPLY: Final = "no reply"


@dataclass
class _Stream:
    """What a connection has sent and nobody has answered yet."""

    waiting: bytearray = field(default_factory=bytearray)
    asked: list[str] = field(default_factory=list)
    spoiled: bool = False
    """Bytes were sent of which this program cannot tell what they ask for."""


def exchanges() -> str:
    """One row for each command."""
    found = _counted()
    head = (
        "request",
        "payload after the request",
        "reply",
        "payload after the reply",
        "seen so, in conversations of all releases",
    )
    return table(head, _rows(found))


def _rows(found: dict[str, Counter[tuple[str, bool]]]) -> Iterator[tuple[str, ...]]:
    for command in COMMANDS:
        outcomes = found[command]
        codes = sorted({reply for reply, _ in outcomes if reply != _NO_REPLY})
        silent = any(reply == _NO_REPLY for reply, _ in outcomes)
        if silent and codes:
            raise ValueError(f"{command} was answered in some conversations and in others not: {dict(outcomes)}")
        filled = sorted({reply for reply, payload in outcomes if payload})
        yield (
            code(command),
            _PAYLOADS.get(command, "none"),
            "**none**" if silent else listed(codes, "or"),
            f"`length` bytes after {listed(filled, 'or')}" if filled else "-" if silent else "none",
            f"{sum(outcomes.values()):,} times",
        )


def _counted() -> dict[str, Counter[tuple[str, bool]]]:
    found: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for release in captured():
        profile = lm_profile(Release.parse(release))
        for transcript in captures(release).transcripts:
            streams: dict[str, _Stream] = defaultdict(_Stream)
            for step in transcript.steps:
                _take(profile, streams[step.connection], step, found)
    return found


def _take(profile: LmProfile, stream: _Stream, step: Step, found: dict[str, Counter[tuple[str, bool]]]) -> None:
    if step.do == "send":
        stream.waiting += step.payload()
        _ask(profile, stream)
    elif step.do == "receive":
        got = step.values["got"]
        asked = [command for command in stream.asked if command != "PUT"] or stream.asked[-1:]
        puts = stream.asked.count("PUT") - (asked == ["PUT"])
        if not stream.spoiled and not stream.waiting and len(asked) == 1 and not got["closed"] and "bytes" in got:
            outcome = _outcome(profile, bytes.fromhex(got["bytes"]))
            if outcome is not None:
                found[asked[0]][outcome] += 1
                found["PUT"][_NO_REPLY, False] += puts
        stream.asked.clear()
        stream.spoiled |= got["closed"]
    elif step.do != "connect":
        stream.spoiled = True


def _ask(profile: LmProfile, stream: _Stream) -> None:
    names = {number: name for name, number in COMMANDS.items()}
    size = profile.header.request_size
    while len(stream.waiting) >= size and not stream.spoiled:
        numbers = header_numbers(profile.header.request, bytes(stream.waiting))
        command = names.get(numbers["command"])
        length = max(numbers["length"], 0) if command == "PUT" else 0
        if command is None:
            stream.spoiled = True
        if len(stream.waiting) < size + length:
            return
        del stream.waiting[: size + length]
        stream.asked.append(command or "")


def _outcome(profile: LmProfile, data: bytes) -> tuple[str, bool] | None:
    """The code of the one reply and whether a payload is behind it; None where the bytes are something else."""
    size = profile.header.reply_size
    if not data:
        return _NO_REPLY, False
    if len(data) < size:
        return None
    numbers = header_numbers(profile.header.reply, data)
    names = {number: f"{number} ({name.lower()})" for name, number in CODES.items()}
    if numbers["code"] not in names or len(data) - size != max(numbers["length"], 0):
        return None
    return names[numbers["code"]], len(data) > size
