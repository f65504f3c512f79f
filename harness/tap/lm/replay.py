"""Plays a transcript of ``lm://`` against a server, and tells the first difference by its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from fixturegen.player import Difference, replay
from fixturegen.vector import Transcript
from harness.tap.lm.headers import DECIDES, FIRST, request_layout
from reports.difference import frame_difference
from wire.lm.enums import COMMANDS
from wire.lm.frames import describe_reply, header_numbers
from wire.lm.profile import KEY_FIELD_SIZE, lm_profile
from wire.release import KNOWN_RELEASES, Release

PATIENCE: Final = 10.0
"""Seconds that a reply is waited for."""
_COMMANDS: Final = {number: name for name, number in COMMANDS.items()}


def play(host: str, port: int, transcript: Mapping[str, Any]) -> Sequence[str]:
    """Where the server answers otherwise than the transcript says, in words; none if it answers the same."""
    said = Transcript.from_json(transcript)
    return [line for found in replay(host, port, said, patience=PATIENCE) for line in _words(said, found)]


def _words(said: Transcript, found: Difference) -> Sequence[str]:
    lines = [f"{_asked(said, found.step)}: {found}"]
    expected = bytes.fromhex(found.expected.get("bytes", ""))
    if expected and found.received:
        oldest, newest = (lm_profile(Release.parse(KNOWN_RELEASES[place])) for place in (0, -1))
        profile = oldest if len(expected) == FIRST.reply_size else newest
        size = profile.header.reply_size
        difference = frame_difference(expected[:size], found.received[:size], partial(describe_reply, profile))
        lines += [f"{row.name}: expected {row.expected}, got {row.got}" for row in difference.fields]
    return lines


def _asked(said: Transcript, step: int) -> str:
    """The last request on the connection before a step."""
    connection = said.steps[step].connection
    for one in reversed(said.steps[:step]):
        data = bytes.fromhex(one.values.get("bytes", "")) if one.do == "send" and one.connection == connection else b""
        if len(data) >= DECIDES and len(data) >= request_layout(data).request_size:
            layout = request_layout(data)
            number = header_numbers(layout.request, data)["command"]
            key = data[layout.request_size - KEY_FIELD_SIZE : layout.request_size].decode(errors="backslashreplace").rstrip()
            return f"{_COMMANDS.get(number, number)} {key!r} on {connection}"
    return f"on {connection}"
