"""Tells the story of a recording in one of several forms."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from harness.tap.event import Event
from harness.tap.recording import Recording
from harness.tap.story import Story
from harness.tap.wires import wire
from reports import pcap
from wire.release import Release


def read_story(path: Path, profile: Release | None = None) -> Story:
    """Read a recording and listen to it once more; ``profile`` stands in for what it says of both sides.

    Raises:
        RecordingError: the file cannot be read, or is no recording.
        UsageError: nothing can listen to its protocol.
    """
    with Recording(path) as recording:
        said = profile
        if said is None and recording.header.profile is not None:
            said = Release.parse(recording.header.profile)
        story = wire(recording.header.protocol).tell(recording.header, recording.events(), said)
        return replace(story, trouble=recording.trouble)


def write_pcap(path: Path, file: BinaryIO) -> None:
    """Write the packets of a recording; payload that was left out becomes zero bytes.

    Raises:
        RecordingError: the file cannot be read, or is no recording.
    """
    with Recording(path) as recording:
        started = dt.datetime.fromisoformat(recording.header.started).timestamp()
        pcap.write_pcap(file, pcap.segments(_events(recording.events())), started=started)


def _events(events: Iterable[Event]) -> Iterator[pcap.Event]:
    for event in events:
        if event.do == "error" or not event.connection:
            continue
        data = event.data if event.length is None else bytes(event.length)
        yield pcap.Event(event.at, event.connection, event.side, event.do, data)
