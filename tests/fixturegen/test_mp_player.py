"""Conversations over ZeroMQ are recorded as they happened, and a replay finds the first way in which a server differs."""

import contextlib
import threading

import pytest
import zmq

from fixturegen.errors import CaptureError
from fixturegen.mp import memory, player
from fixturegen.mp.player import Abilities, record, replay
from fixturegen.mp.transcript import MpStep, MpTranscript, bind, frame_bytes, named
from fixturegen.vector import patterned
from wire.mp.values import pack

OK = b"\xa2OK"
NOOP = b"\x18"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(player, "RECORDED_SILENCE", 0.05)
    monkeypatch.setattr(player, "POLL_PAUSE", 0.0)


class Router:
    """A server that answers message after message with what it is given; each answer is a list of messages."""

    host = "127.0.0.1"

    def __init__(self, *answers):
        self.received = []
        self._answers = list(answers)
        self._over = threading.Event()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self.port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self._socket.close()
        self._context.term()

    def _serve(self):
        while not self._over.is_set():
            if not self._socket.poll(20):
                continue
            identity, *frames = self._socket.recv_multipart()
            self.received.append(frames)
            with contextlib.suppress(IndexError, TypeError):
                for answer in self._answers.pop(0):
                    self._socket.send_multipart([identity, *answer])


def talk(*steps, **parts):
    return MpTranscript("mp.server.test", "A test.", "control", [MpStep("connect", "a"), *steps], **parts)


def send(*frames, connection="a"):
    return MpStep("send", connection, {"frames": [frame.hex() if isinstance(frame, bytes) else frame for frame in frames]})


def hope(**hints):
    return MpStep("receive", "a", hints)


def got(*frames, connection="a"):
    return MpStep("receive", connection, {"got": {"frames": [f.hex() if isinstance(f, bytes) else f for f in frames]}})


SILENCE = MpStep("receive", "a", {"got": {"silence": True}})
ASKED = (send(b"\0", NOOP), got(b"\0", NOOP, OK))
ANSWERED = [[b"\0", NOOP, OK]]


def recorded(script, *answers, **options):
    with Router(*answers) as server:
        return [step for step in record(server, script, **options).steps if "got" in step.values]


def difference(transcript, *answers, **options):
    with Router(*answers) as server:
        found = replay(server, transcript, patience=0.5, **options)
    return None if found is None else str(found)


def test_the_frames_of_a_reply_are_recorded():
    assert recorded(talk(send(b"\0", NOOP), hope()), ANSWERED) == [got(b"\0", NOOP, OK)]


def test_a_reply_that_does_not_come_is_recorded_as_silence():
    assert recorded(talk(send(b"\0", NOOP), hope(within=0.05)), []) == [SILENCE]
    assert recorded(talk(send(b"\0", NOOP), hope(want="silence")), []) == [SILENCE]


def test_a_reply_in_the_place_of_silence_is_recorded():
    assert recorded(talk(send(b"\0", NOOP), hope(want="silence", within=2.0)), ANSWERED) == [got(b"\0", NOOP, OK)]


def test_a_long_frame_is_kept_as_length_and_hash():
    (step,) = recorded(talk(send(b"\0", NOOP), hope()), [[b"\0", NOOP, bytes(5000)]])
    assert step.values["got"]["frames"][2]["length"] == 5000


def test_the_same_server_has_no_difference():
    assert difference(talk(*ASKED, send(b"\1", NOOP), SILENCE), ANSWERED, []) is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([], "step 2: expected frames 00 18 a24f4b, got silence"),
        ([[b"\1", NOOP, OK]], "got frames 01 18 a24f4b"),
        ([[b"\0", b"\x17", OK]], "got frames 00 17 a24f4b"),
        ([[b"\0", NOOP, b"\xa2NO"]], "got frames 00 18 a24e4f"),
        ([[b"\0", NOOP]], "got frames 00 18"),
        ([[b"\0", NOOP, OK, b""]], "got frames 00 18 a24f4b (empty)"),
        ([[b"\0", NOOP, OK]] * 2, "step 2: expected silence, got frames 00 18 a24f4b"),
    ],
    ids=["silence", "uid", "operation", "result", "no-result", "one-frame-more", "twice"],
)
def test_every_other_answer_is_a_difference(answer, words):
    assert words in difference(talk(*ASKED), answer)


def test_an_answer_in_the_place_of_silence_is_a_difference():
    assert "expected silence, got frames" in difference(talk(send(b"\0", NOOP), SILENCE), ANSWERED, silence=1.0)


def test_a_replay_ends_with_the_first_difference():
    with Router([[b"\0", NOOP, b"\xa2NO"]], ANSWERED) as server:
        assert replay(server, talk(*ASKED, *ASKED)).step == 2
        assert len(server.received) == 1


def test_a_connection_may_have_a_routing_id_and_others_stand_beside_it():
    script = talk(
        MpStep("connect", "b", {"routing_id": b"worker".hex()}), send(b"\1", NOOP, connection="b"),
        got(b"\1", NOOP, connection="b"), MpStep("close", "b"), *ASKED,
    )  # fmt: skip
    assert difference(script, [[b"\1", NOOP]], ANSWERED) is None


def test_a_poll_asks_until_there_is_a_result():
    step = MpStep("poll", "a", {"frames": ["04", "09"]})
    answers = [[[b"\4", b"\x09"]]] * 3 + [[[b"\4", b"\x09", b"\x02"]]]
    (found,) = recorded(talk(step), *answers)
    assert found.values["got"]["frames"] == ["04", "09", "02"]
    assert difference(talk(found), *answers[2:]) is None
    assert "got frames 04 09 01" in difference(talk(found), [[b"\4", b"\x09", b"\x01"]])


def slots(*offsets):
    return pack({"context": {"slots": [{"offset": offset, "length": 4} for offset in offsets]}})


BIND = {"context.slots.*.offset": "place"}


def test_what_differs_from_run_to_run_is_bound_and_everything_else_is_kept():
    (found,) = recorded(talk(send(b"\0", NOOP), hope(bind=BIND)), [[b"\0", NOOP, slots(0, 70000)]])
    recipe = found.values["got"]["frames"][2]
    assert recipe == {"msgpack": {"context": {"slots": [
        {"offset": {"bound": "place.0"}, "length": 4}, {"offset": {"bound": "place.1"}, "length": 4},
    ]}}}  # fmt: skip
    script = talk(send(b"\0", NOOP), found)
    assert difference(script, [[b"\0", NOOP, slots(4096, 8)]]) is None
    assert difference(script, [[b"\0", NOOP, slots(4096)]]) is not None
    assert difference(script, [[b"\0", NOOP, slots(4096, 8).replace(b"\x04", b"\x05")]]) is not None


def test_a_reply_that_is_not_packed_as_msgpack_packs_it_cannot_be_recorded_with_names_in_it():
    wide = pack({"offset": 7}).replace(b"\x07", b"\xcd\x00\x07")
    with pytest.raises(CaptureError, match="is not packed as msgpack packs it"):
        recorded(talk(send(b"\0", NOOP), hope(bind={"offset": "place"})), [[b"\0", NOOP, wide]])


def test_bound_values_are_sent_again():
    script = talk(send(b"\0", b"\x08"), hope(bind={"": "job"}), send(b"\1", b"\x06", {"msgpack": {"bound": "job"}}), hope())
    with Router([[b"\0", b"\x08", b"\x2a"]], [[b"\1", b"\x06"]]) as server:
        found = record(server, script)
        assert server.received[1] == [b"\1", b"\x06", b"\x2a"]
    with Router([[b"\0", b"\x08", b"\x05"]], [[b"\1", b"\x06"]]) as server:
        assert replay(server, found) is None
        assert server.received[1] == [b"\1", b"\x06", b"\x05"]


@pytest.fixture
def pool():
    segment = memory.Segment(64)
    yield segment
    segment.remove()


def moved(pool, *steps):
    naming = pack({"shm_name": f"/{pool.name}"})
    script = talk(send(b"\0", NOOP), hope(bind={"shm_name": "pool"}), *steps)
    with Router([[b"\0", NOOP, naming]]) as server:
        return record(server, script), [[b"\0", NOOP, naming]]


WRITE = MpStep("shm-write", None, {"segment": "pool", "at": 8, "pattern": {"seed": 1, "length": 16}})
READ = MpStep("shm-read", None, {"segment": "pool", "at": 8, "length": 16})


def test_what_was_written_into_shared_memory_is_read_back_by_its_recipe(pool):
    found, answer = moved(pool, WRITE, READ)
    assert found.steps[-1].values["got"] == {"pattern": {"seed": 1, "length": 16}}
    assert memory.read(pool.name, 8, 16) == patterned(1, 16)
    assert difference(found, answer) is None


def test_other_bytes_in_shared_memory_are_a_difference(pool):
    found, answer = moved(pool, WRITE, READ)
    spoiled = MpTranscript(found.id, found.title, found.setting, [step for step in found.steps if step.do != "shm-write"])
    memory.write(pool.name, 8, b"other bytes here")
    assert "got {'hex': '6f74686572" in difference(spoiled, answer)


def test_memory_that_is_not_there_is_a_difference(pool):
    found, _ = moved(pool, WRITE)
    assert "impossible" in difference(found, [[b"\0", NOOP, pack({"shm_name": "/lmconform-gone"})]])


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\0b", "", 5, b"bytes"])
@pytest.mark.parametrize("step", [WRITE, READ])
def test_a_server_that_names_what_is_no_memory_is_a_difference(pool, step, name):
    found, _ = moved(pool, WRITE, READ)
    steps = [*found.steps[:3], *(one for one in found.steps if one.do == step.do)]
    script = MpTranscript(found.id, found.title, found.setting, steps)
    assert "impossible" in difference(script, [[b"\0", NOOP, pack({"shm_name": name})]])


def test_a_link_in_the_place_of_memory_is_not_followed(pool, tmp_path):
    found, _ = moved(pool, WRITE, READ)
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(64))
    link = memory.path_of(f"{pool.name}-link")
    link.symlink_to(secret)
    try:
        assert "impossible" in difference(found, [[b"\0", NOOP, pack({"shm_name": link.name})]])
    finally:
        link.unlink()
    assert secret.read_bytes() == bytes(64)


def test_a_poll_for_what_no_reply_brought_is_a_difference():
    poll = MpStep("poll", "a", {"frames": ["00", {"msgpack": {"bound": "job"}}], "got": {"frames": ["00", "08", "01"]}})
    assert "impossible" in difference(talk(poll), [])


def test_a_step_of_another_lmconform_is_named():
    with pytest.raises(CaptureError, match="no step 'shout' is known"):
        difference(talk(MpStep("shout", "a", {})), [])


def test_a_name_that_leaves_the_folder_of_shared_memory_is_refused():
    for name in ("../etc/passwd", "/", ".hidden"):
        with pytest.raises(ValueError, match="is no name of shared memory"):
            memory.path_of(name)


def test_memory_of_the_client_is_made_and_goes_with_the_conversation():
    steps = (
        MpStep("segment", None, {"name": "cache", "size": 32}),
        MpStep("shm-read", None, {"segment": "cache", "at": 0, "length": 4}),
        send(b"\0", {"parts": ["a1", {"bound": "cache"}]}),
    )
    with Router() as server:
        found = record(server, talk(*steps))
    assert found.steps[2].values["got"] == {"hex": "00000000"}
    with Router([]) as server:
        assert replay(server, talk(*steps[::2], SILENCE)) is None
        name = server.received[0][1][1:].decode()
    assert (len(name), memory.path_of(name).exists()) == (memory.SEGMENT_NAME_LENGTH, False)


def test_bytes_that_came_are_searched_for_patterns():
    data = b"before" + patterned(3, 20) + b"behind"
    look = MpStep("contains", None, {"of": "data", "patterns": [{"seed": 3, "length": 20}, {"seed": 4, "length": 20}]})
    script = talk(send(b"\0", NOOP), hope(bind={"data": "data"}), look)
    with Router([[b"\0", NOOP, pack({"data": data})]]) as server:
        found = record(server, script)
    assert found.steps[-1].values["got"] == [True, False]
    assert "[True, False], got [False, False]" in difference(found, [[b"\0", NOOP, pack({"data": b"nothing"})]])


FIRST, LATER = MpStep("status", None, {"first": True}), MpStep("status", None, {})


def test_counts_are_differences_to_the_first_ones():
    counts = iter([{"objects": 5}, *[{"objects": 7}] * 9])
    found = recorded(talk(FIRST, LATER), abilities=Abilities(counts=lambda: next(counts)))
    assert [step.values["got"] for step in found] == [{"objects": 2}]


def test_counts_are_waited_for_and_passed_over_where_nobody_counts(monkeypatch):
    monkeypatch.setattr(player, "COUNTS_PATIENCE", 0.2)
    script = talk(FIRST, MpStep("status", None, {"got": {"objects": 2}}))
    later = iter([1, 1, 1, 3])
    assert difference(script, abilities=Abilities(counts=lambda: {"objects": next(later)})) is None
    assert "got {'objects': 0}" in difference(script, abilities=Abilities(counts=lambda: {"objects": 1}))
    assert difference(script) is None


def test_a_restart_is_asked_for_where_there_is_one():
    restarted = []
    script = talk(MpStep("restart"), *ASKED)
    assert difference(script, ANSWERED, abilities=Abilities(restart=lambda: restarted.append(True))) is None
    assert restarted == [True]
    with Router() as server, pytest.raises(CaptureError, match="restarts the server"):
        replay(server, script)


def test_a_name_that_no_reply_brought_fails_the_recording():
    with pytest.raises(CaptureError, match="no reply brought 'place'"):
        recorded(talk(send(b"\0", {"msgpack": {"bound": "place"}})))


def test_a_transcript_is_written_and_read_back_with_its_repeated_frames():
    long = "ab" * 40
    script = talk(send(b"\0", long), send(b"\1", long), send(b"\2", "cd" * 40), fatal=True, bound={"x": "y"}, finding="z")
    line = script.to_json()
    assert line["frames"] == [long]
    assert MpTranscript.from_json(line) == script


def test_frames_have_four_forms():
    assert frame_bytes("00ff", {}) == b"\x00\xff"
    assert frame_bytes({"pattern": {"seed": 2, "length": 5}}, {}) == patterned(2, 5)
    assert frame_bytes({"parts": ["00", {"bound": "name"}, "ff"]}, {"name": "x"}) == b"\x00x\xff"
    assert frame_bytes({"msgpack": [{"bound": "n"}, {"hex": "01"}]}, {"n": 7}) == b"\x92\x07\xc4\x01\x01"


def test_names_are_bound_once():
    bound = {}
    assert named({"a": [1, 2], "b": b"x"}, {"a.*": "n", "b": "data"}, bound) == {
        "a": [{"bound": "n.0"}, {"bound": "n.1"}],
        "b": {"bound": "data"},
    }
    assert bound == {"n.0": 1, "n.1": 2, "data": {"hex": "78"}}
    bind({"bound": "n.0"}, 9, bound)
    assert bound["n.0"] == 1
