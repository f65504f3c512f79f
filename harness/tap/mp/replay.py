"""Plays a transcript of the multiprocess wire against a server, and tells the first difference in what it answers, by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fixturegen.mp.transcript import MpTranscript
from harness.mp.exchanges import MpPeerFailed
from harness.mp.held_again import LeftOut, hold
from wire.release import KNOWN_RELEASES, Release


@dataclass(frozen=True)
class _Place:
    host: str
    port: int


def play(host: str, port: int, transcript: Mapping[str, Any]) -> Sequence[str]:
    """Where the server answers otherwise than the transcript says, in words; none if it answers the same.

    Nothing is cleared before: what lies in the server decides what a lookup finds.
    """
    said = MpTranscript.from_json(transcript)
    release = Release.parse(transcript.get("release", KNOWN_RELEASES[-1]))
    try:
        hold(release, _Place(host, port), said, None, clear=False, chunk=None)
    except MpPeerFailed as failure:
        return [f"{failure} ({failure.requirement})"]
    except LeftOut as why:
        return [f"it could not be played: {why}"]
    return []
