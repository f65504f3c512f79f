"""The ``lm://`` wire for the tap."""

from __future__ import annotations

from typing import Final

from harness.tap.lm.listener import LmListener
from harness.tap.lm.replay import play
from harness.tap.lm.story import tell
from harness.tap.lm.transcribe import transcript_of
from harness.tap.wires import Wire

WIRE: Final = Wire(
    "lm",
    lambda profile, patience: LmListener(profile, patience=patience),
    tell,
    transcribe=lambda events, name, title: transcript_of(events, name, title).to_json(),
    play=play,
)
