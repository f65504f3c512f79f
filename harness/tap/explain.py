"""Tells the story of a recording in one of several forms."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from harness.tap.event import Event
from harness.tap.recording import Recording, RecordingError
from harness.tap.story import Story
from harness.tap.wires import wire
from reports import pcap
from wire.release import Release

MOST_ZEROS: Final = 1 << 30
"""Bytes of payload that was left out, for which packets are made up."""
_ZEROS: Final = 1 << 20
_LATEST: Final = float(1 << 31)
"""Seconds that a capture file can count from."""


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
        RecordingError: the file cannot be read, is no recording, or so much was left out that the packets would fill a disk.
    """
    with Recording(path) as recording:
        started = min(max(0.0, dt.datetime.fromisoformat(recording.header.started).timestamp()), _LATEST)
        pcap.write_pcap(file, pcap.segments(_events(recording.events())), started=started)


def _events(events: Iterable[Event]) -> Iterator[pcap.Event]:
    left_out = 0
    for event in events:
        if event.do == "error" or not event.connection:
            continue
        if event.length is None:
            yield pcap.Event(event.at, event.connection, event.side, event.do, event.data)
            continue
        left_out += event.length
        if left_out > MOST_ZEROS:
            raise RecordingError(
                f"more than {MOST_ZEROS} bytes of payload were left out, which would all be packets of zero bytes; "
                "record for a shorter time (--for)"
            )
        for place in range(0, event.length, _ZEROS):
            data = bytes(min(_ZEROS, event.length - place))
            yield pcap.Event(event.at, event.connection, event.side, event.do, data)
