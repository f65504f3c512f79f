"""A recording is written as it goes, can be read when it was cut short, and says where it is wrong."""

import errno
import json
import os

import pytest

from harness.tap import recording
from harness.tap.event import DEEDS, Event
from harness.tap.recording import Header, Recorder, Recording, RecordingError, Redacted, load

HEADER = Header("lm", "127.0.0.1:1", "127.0.0.1:2", "0.5.6", Redacted(keys=True), "2026-11-30T12:00:00.000+00:00")
EVENTS = (
    Event(0.25, 1, "client", "open", text="127.0.0.1:3"),
    Event(0.5, 1, "client", "data", b"\x00\xff", more=True),
    Event(0.5, 1, "client", "data", length=3 << 20, sha256="ab" * 32, until=0.75),
    Event(1.0, 1, "server", "half-close"),
    Event(1.5, 2, "server", "error", text="refused"),
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "tap.jsonl"


def written(file, events=EVENTS, **counts):
    recorder = Recorder(file, HEADER)
    for event in events:
        recorder.event(event)
    recorder.close({"connections": 2, **counts}, {"half-dtype": 1})
    return file.read_text().splitlines()


def test_what_was_written_is_read(file):
    written(file)
    found = load(file)
    assert (found.header, found.events, found.trouble) == (HEADER, EVENTS, "")
    assert found.footer.counts == {"connections": 2, "events": 5}
    assert found.footer.findings == {"half-dtype": 1}


def test_every_line_keeps_the_schema(file):
    assert [recording.LINES.fault_in(json.loads(line)) for line in written(file)] == [None] * 7


@pytest.mark.parametrize("do", DEEDS)
def test_every_deed_can_be_written(file, do):
    event = Event(1.0, 1, "client", do, b"x" if do == "data" else b"")
    written(file, [event])
    assert load(file).events == (event,)


def test_only_its_owner_can_read_it(file):
    written(file)
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_is_flushed_is_in_the_file_while_it_is_written(file):
    recorder = Recorder(file, HEADER)
    recorder.event(EVENTS[0])
    recorder.flush()
    found = load(file)
    recorder.close({})
    assert found.events == EVENTS[:1]
    assert "no footer" in found.trouble


def test_a_file_that_ends_in_the_middle_of_a_line_is_read_up_to_there(file):
    lines = written(file)
    file.write_text("\n".join(lines[:3]) + "\n" + lines[3][:20])
    found = load(file)
    assert found.events == EVENTS[:2]
    assert found.trouble == "it ends in the middle of line 4"


def test_a_file_that_is_there_is_never_overwritten(file):
    file.write_text("precious")
    with pytest.raises(RecordingError, match="is there already"):
        Recorder(file, HEADER)
    assert file.read_text() == "precious"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: [], "the file is empty"),
        (lambda lines: lines[1:], "line 1: a recording begins with its header"),
        (lambda lines: [lines[0], "{]", *lines[1:]], "line 2: not JSON"),
        (lambda lines: [lines[0], "7", *lines[1:]], "line 2: a line must be a JSON object"),
        (lambda lines: [lines[0], lines[2].replace("00ff", "0g"), *lines[3:]], "line 2: member data"),
        (lambda lines: [lines[0], lines[2].replace('"connection":1', '"connection":0'), *lines[3:]], "line 2: member connection"),
        (lambda lines: [*lines, lines[1]], "line 8: nothing may stand behind the footer"),
        (lambda lines: [lines[0], *lines], "line 2: a second header"),
        (lambda lines: [lines[0].replace('"schema_version":1', '"schema_version":2')], "line 1: member schema_version"),
        (lambda _: ["\x1b[31m"], "line 1: not JSON"),
        (lambda lines: [lines[0].replace("0.5.6", "0.5.6')\\nimport os"), *lines[1:]], "line 1: member profile"),
        (lambda lines: [lines[0].replace("-11-30T12", "-11-30T99"), *lines[1:]], "line 1: member started"),
        (lambda lines: [lines[0], lines[1].replace("0.25", "NaN")], "line 2: not JSON"),
        (lambda lines: [lines[0], lines[1].replace("0.25", "1e300")], "line 2: member at"),
        (lambda lines: [lines[0], lines[3].replace("3145728", "1" * 30)], "line 2: member length"),
        (lambda _: ['{"record":"header","client":"c","releases":[],"targets":[]}'], "holds the results of a run"),
    ],
)
def test_what_is_no_recording_is_told_with_its_line(file, change, said):
    file.write_text("".join(f"{line}\n" for line in change(written(file))))
    with pytest.raises(RecordingError) as error:
        load(file)
    assert said in str(error.value)
    assert "\x1b" not in str(error.value)


def test_a_line_without_end_is_not_read_into_memory(file, monkeypatch):
    monkeypatch.setattr(recording, "LONGEST_LINE", 1000)
    file.write_text(written(file)[0] + "\n" + "x" * 5000)
    with pytest.raises(RecordingError, match="line 2: longer than 1000 bytes"):
        load(file)


def test_a_full_disk_leaves_whole_lines_and_is_told(file, monkeypatch):
    recorder = Recorder(file, HEADER)
    recorder.event(EVENTS[0])
    recorder.flush()
    write, full = os.write, [True]

    def refuse(descriptor, data):
        if full[0]:
            write(descriptor, bytes(data)[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", refuse)
    recorder.event(EVENTS[1])
    recorder.flush()
    recorder.event(EVENTS[3])
    full[0] = False
    recorder.close({})
    found = load(file)
    assert found.events == EVENTS[:1]
    assert found.trouble == "the disk took no more: No space left on device"


def test_at_its_largest_size_it_stops_to_record(file):
    recorder = Recorder(file, HEADER, max_bytes=600)
    for _ in range(100):
        recorder.event(EVENTS[0])
    recorder.close({})
    found = load(file)
    assert 0 < len(found.events) < 10
    assert "reached 600 bytes" in found.trouble


def test_events_are_not_all_in_memory(file):
    written(file)
    with Recording(file) as opened:
        events = opened.events()
        assert next(events) == EVENTS[0]
        assert opened.footer is None
