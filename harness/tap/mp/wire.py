"""The wire of the multiprocess server for the tap."""

from __future__ import annotations

from typing import Final

from harness.tap.mp.keeper import MpKeeper
from harness.tap.mp.lint import MpListener
from harness.tap.mp.replay import play
from harness.tap.mp.story import tell
from harness.tap.mp.transcribe import transcript_of
from harness.tap.wires import Wire

WIRE: Final = Wire("mp", lambda profile, patience: MpListener(profile, patience=patience), tell, MpKeeper, transcript_of, play)
