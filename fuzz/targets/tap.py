"""The tap: streams, frames, whole conversations and recordings, mutated."""

from __future__ import annotations

import io
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

from fuzz.target import Bytes, Target, in_pieces, require
from fuzz.targets.captured import MP_RELEASES, RELEASES, lm_conversations, mp_messages
from harness.tap.case import make_case, read_case
from harness.tap.event import DEEDS, Event, Side
from harness.tap.explain import read_story, write_pcap
from harness.tap.lm.listener import LmListener
from harness.tap.mp.lint import MpListener
from harness.tap.mp.packed import Malformed, places
from harness.tap.mp.redact import Redactor
from harness.tap.mp.zmtp import Stream, properties
from harness.tap.page import story_page
from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import Header, Recorder, RecordingError, Redacted, load
from harness.tap.redact import redact
from harness.tap.story import story_to_json
from harness.tap.text import story_lines
from harness.tap.wires import wire
from harness.usage import UsageError

_SIDES: Final[tuple[Side, ...]] = ("client", "server")
_BOTH: Final = Redacted(keys=True, payloads=True)
_GREETING: Final = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(48)
_READY: Final = b"\x04\x26\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x00"


def zmtp(data: bytes) -> None:
    """A direction of a connection: cut anywhere, it reads the same."""
    given = Bytes(data)
    cut = given.number() + 1
    rest = given.rest()
    whole, pieces = Stream(), Stream()
    found = list(whole.feed(rest))
    parts = [rest[at : at + cut] for at in range(0, len(rest), cut)]
    again = [item for part in parts for item in pieces.feed(part)]
    require(holds=found == again, what="the segments of a stream change what it says")
    require(holds=whole.pending == pieces.pending, what="the segments of a stream change what is unfinished in it")


def zmtp_hole(data: bytes) -> None:
    """A direction of which parts were left out."""
    given = Bytes(data)
    stream = Stream(keep_bodies=True)
    for number, piece in enumerate(given.pieces()):
        list(stream.skip(int.from_bytes(piece[:3], "little")) if number % 3 == 2 else stream.feed(piece))
        assert isinstance(stream.pending, str)
    properties(data)


def packed(data: bytes) -> None:
    """The values of a frame and their places, which cover it."""
    last = 0
    for place in places(data):
        require(holds=place.start >= last, what="a place begins before the one in front of it")
        last = place.start


def redacted_frames(data: bytes) -> None:
    """Frames of a message without keys and payloads, each as long as it was."""
    frames = Bytes(data).pieces()
    made = Redactor.of(_BOTH, Pseudonyms(b"secret" * 6)).message(frames)
    require(holds=[len(frame) for frame in made] == [len(frame) for frame in frames], what="redaction changes lengths")


def events_of(data: bytes) -> Iterator[Event]:
    """Events in two bytes for what happens and where, and a piece for what is sent."""
    given = Bytes(data)
    at = 0.0
    while True:
        head = given.take(2)
        if len(head) < 2:
            return
        deed = DEEDS[head[0] % len(DEEDS)] if head[0] & 0x40 else "data"
        at += (head[0] & 3) * 2.6
        side, connection = _SIDES[head[1] & 1], (head[1] >> 1) % 5 + 1
        piece = given.piece()
        if deed != "data":
            yield Event(at, connection, side, deed, text=piece.decode("utf-8", "surrogateescape"))
        elif head[1] & 0x80:
            yield Event(at, connection, side, deed, length=int.from_bytes(piece[:3], "little"))
        else:
            yield Event(at, connection, side, deed, piece)


def _heard(listener: Any, events: Sequence[Event]) -> None:
    found = []
    for event in events:
        found += [*listener.tick(event.at), *listener.hear(event)]
        if event.do == "data":
            covered = sum(piece.length for piece in listener.pieces())
            require(holds=covered in {event.size, 0}, what=f"pieces of {covered} bytes for a segment of {event.size}")
    found += listener.finish(events[-1].at + 60 if events else 60)
    for one in found:
        assert one.summary
    for side in _SIDES:
        assert listener.guess(side).words


def lm_conversation(data: bytes) -> None:
    """Conversations of ``lm://``, heard and judged."""
    given = Bytes(data)
    profile = given.choice((None, *RELEASES))
    _heard(LmListener(profile), list(events_of(given.rest())))


def mp_conversation(data: bytes) -> None:
    """Conversations of the multiprocess wire, likewise."""
    given = Bytes(data)
    profile = given.choice((None, *MP_RELEASES))
    _heard(MpListener(profile), list(events_of(given.rest())))


def _kept(protocol: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        given = Bytes(data)
        limit, redacted = given.number(), given.choice((Redacted(), Redacted(keys=True), _BOTH))
        known = wire(cast("Any", protocol))
        listener = known.listen(None, 5.0)
        keeper = known.keep(listener, limit=limit, redacted=redacted, pseudonyms=Pseudonyms(b"secret" * 6))
        before = after = 0
        events = list(events_of(given.rest()))
        for event in events:
            list(listener.hear(event))
            kept = keeper.keep(event, tuple(listener.pieces()) if event.do == "data" else ())
            before += event.size if event.do == "data" else 0
            after += sum(one.size for one in kept if one.do == "data")
        after += sum(one.size for one in keeper.finish() if one.do == "data")
        require(holds=before == after, what=f"of {before} bytes, {after} are recorded")

    return run


def _told(protocol: str) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        known = wire(cast("Any", protocol))
        events = list(events_of(data))
        story = known.tell(Header(cast("Any", protocol), "127.0.0.1:1", "127.0.0.1:2"), events, None)
        json.dumps(story_to_json(story))
        assert [line.plain for line in story_lines(story, 100)]
        story_page(story)
        if known.transcribe is not None:
            json.dumps(known.transcribe(events, "fuzzed", "A conversation."))

    return run


def _file(data: bytes, folder: str) -> Path:
    path = Path(folder) / "recording.jsonl"
    path.write_bytes(data)
    return path


def recording(data: bytes) -> None:
    """The file of a recording, read."""
    with tempfile.TemporaryDirectory() as folder:
        load(_file(data, folder))


def explained(data: bytes) -> None:
    """The same, told, and as packets."""
    with tempfile.TemporaryDirectory() as folder:
        path = _file(data, folder)
        story = read_story(path)
        json.dumps(story_to_json(story))
        story_page(story).encode()
        assert [line.plain for line in story_lines(story, 100)]
        if not any(b'"length"' in line for line in data.split(b"\n")):  # so much was left out that it takes a while
            write_pcap(path, io.BytesIO())


def redacted_recording(data: bytes) -> None:
    """The same without keys and payloads: what is written can be read."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "new.jsonl"
        redact(_file(data, folder), target, _BOTH)
        load(target)


def case_of_recording(data: bytes) -> None:
    """The same as a case."""
    with tempfile.TemporaryDirectory() as folder:
        json.dumps(make_case(_file(data, folder), "fuzzed"))


def case_file(data: bytes) -> None:
    """The file of a case."""
    with tempfile.TemporaryDirectory() as folder:
        read_case(_file(data, folder))


def _event(deed: int, side: str, data: bytes) -> bytes:
    return bytes([deed, _SIDES.index(cast("Side", side))]) + in_pieces([data])


def _lm_seeds() -> list[bytes]:
    return [b"".join(_event(0, side, data) for _, side, data in said) for said in lm_conversations()]


def _messages() -> list[list[tuple[str, bytes]]]:
    def sent(frames: Sequence[bytes]) -> bytes:
        return b"".join(
            (bytes([more, len(frame)]) if len(frame) < 256 else bytes([more | 2]) + len(frame).to_bytes(8, "big")) + frame
            for frame, more in itertools.zip_longest(frames, [1] * (len(frames) - 1), fillvalue=0)
            if isinstance(frame, bytes)
        )

    hello = [(side, _GREETING[:64] + _READY) for side in _SIDES]
    return [[*hello, *((side, sent(frames)) for _, side, frames in said)] for said in mp_messages()]


def _mp_seeds() -> list[bytes]:
    return [b"".join(_event(0, side, data) for side, data in said) for said in _messages()]


def _with(before: bytes, seeds: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    return lambda: [before + seed for seed in seeds()]


def _streams() -> list[bytes]:
    return [b"\7" + b"".join(data for side, data in said if side == "client") for said in _messages()]


def _frames() -> list[bytes]:
    return [in_pieces(frames) for said in mp_messages() for *_, frames in said][:16]


def _recordings() -> list[bytes]:
    found = []
    plans: tuple[tuple[Any, Callable[[], list[bytes]]], ...] = (("lm", _lm_seeds), ("mp", _mp_seeds))
    for protocol, seeds in plans:
        for seed in seeds()[:3]:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "recording.jsonl"
                recorder = Recorder(
                    path, Header(protocol, "127.0.0.1:1", "127.0.0.1:2", "0.5.6", started="2026-11-30T12:00:00+00:00")
                )
                recorder.event(Event(0.0, 1, "client", "open", text="127.0.0.1:3"))
                for event in events_of(seed):
                    recorder.event(event)
                recorder.event(Event(9.0, 1, "client", "data", length=99, sha256="ab" * 32, until=9.5))
                recorder.event(Event(10.0, 1, "client", "close"))
                recorder.close({"connections": 1}, {"half-dtype": 1})
                found.append(path.read_bytes())
    return found


_CASE: Final = json.dumps(
    {
        "protocol": "lm",
        "release": "0.5.6",
        "transcript": {"id": "x", "title": "y", "steps": [{"do": "connect", "connection": "a"}]},
    }
).encode()
_LINES: Final = 12000

TARGETS: Final = (
    Target("tap.zmtp", zmtp, (), _streams),
    Target("tap.zmtp-hole", zmtp_hole, (), lambda: [in_pieces([seed[1:70], seed[70:], b"\5\0\0"]) for seed in _streams()]),
    Target(
        "tap.packed",
        packed,
        (Malformed,),
        lambda: [frame for said in mp_messages() for *_, frames in said for frame in frames][:20],
    ),
    Target("tap.redacted-frames", redacted_frames, (), _frames),
    Target("tap.lm-conversation", lm_conversation, (), _with(b"\0", _lm_seeds)),
    Target("tap.mp-conversation", mp_conversation, (), _with(b"\0", _mp_seeds)),
    Target("tap.lm-kept", _kept("lm"), (), _with(b"\x08\2", _lm_seeds)),
    Target("tap.mp-kept", _kept("mp"), (), _with(b"\x08\2", _mp_seeds)),
    Target("tap.lm-told", _told("lm"), (), _lm_seeds),
    Target("tap.mp-told", _told("mp"), (), _mp_seeds),
    Target("tap.recording", recording, (RecordingError,), _recordings, _LINES),
    Target("tap.explained", explained, (RecordingError, UsageError), _recordings, _LINES),
    Target("tap.redacted-recording", redacted_recording, (RecordingError, UsageError), _recordings, _LINES),
    Target("tap.case-of-recording", case_of_recording, (RecordingError, UsageError), _recordings, _LINES),
    Target("tap.case-file", case_file, (RecordingError,), lambda: [_CASE, *_recordings()[:1]], _LINES),
)
