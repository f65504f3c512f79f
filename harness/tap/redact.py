"""Takes keys and payloads out of a recording afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import Recorder, Recording, Redacted
from harness.tap.wires import wire


def redact(source: Path, target: Path, what: Redacted) -> None:
    """Write a recording once more, with pseudonyms for keys and without payloads.

    Raises:
        RecordingError: the one cannot be read, or the other cannot be written.
        UsageError: nothing can listen to its protocol.
    """
    with Recording(source) as recording:
        before = recording.header.redacted
        header = replace(recording.header, redacted=Redacted(before.keys or what.keys, before.payloads or what.payloads))
        known = wire(header.protocol)
        listener = known.listen(None, float("inf"))
        keeper = known.keep(listener, limit=1 << 62, redacted=what, pseudonyms=Pseudonyms())
        recorder = Recorder(target, header)
        try:
            for event in recording.events():
                for _ in listener.hear(event):
                    pass
                pieces = tuple(listener.pieces()) if event.do == "data" else ()
                for kept in keeper.keep(event, pieces):
                    recorder.event(kept)
            for kept in keeper.finish():
                recorder.event(kept)
        except BaseException:
            recorder.discard()
            raise
        if recording.trouble:
            recorder.incomplete(f"the recording that it was made of is not: {recording.trouble}")
        counts = dict(recording.footer.counts) if recording.footer is not None else {}
        recorder.close(counts, recording.footer.findings if recording.footer is not None else None)
