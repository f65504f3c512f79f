"""The reference client on a wire that misbehaves: in step or closed, within the time it was given."""

import struct
import time

import pytest
from scripted_server import TIMEOUT, Close, Read

from harness.client import Error, Miss, Ok, Unsupported
from wire.release import Release, ReleaseRange

REQUEST = 186
PAYLOAD = bytes(range(8))


def reply(code=200, **changes):
    values = {"length": 8, "format": 1, "dtype": 6, "shape": (2, 1, 2, 2), "location": 0, **changes}
    numbers = (values["length"], values["format"], values["dtype"], *values["shape"], values["location"])
    return struct.pack("<9i", code, *numbers)


NONE = {"length": 0, "format": 1, "dtype": 2, "shape": (0, 0, 0, 0)}
YES = reply(200, **NONE)
NO = reply(400, **NONE)


def kind(answer):
    assert isinstance(answer, Error), answer
    return answer.kind


def test_a_reply_in_single_bytes_is_assembled(play):
    pieces = [bytes([byte]) for byte in reply() + PAYLOAD]
    _, link = play([Read(REQUEST), *pieces, Read(REQUEST), YES])
    about = {"format": "KV_2LTD", "dtype": "uint8", "shape": [2, 1, 2, 2]}
    assert link.get() == Ok({"payload": PAYLOAD, **about})
    assert link.exist() == Ok({"exists": True})


def test_a_miss_leaves_the_connection_in_step(play):
    _, link = play([Read(REQUEST), NO, Read(REQUEST), NO, Read(REQUEST), YES])
    assert link.get() == Miss()
    assert link.exist() == Ok({"exists": False})
    assert link.call("health", connection="c") == Ok({"healthy": True})
    assert link.open_connections() == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": 2}, "refused"),
        ({"dtype": 2}, "refused"),
        ({"shape": (2, 1, 1, 4)}, "refused"),
        ({"length": 9}, "refused"),
        ({"length": 7}, "refused"),
        ({"length": -1}, "refused"),
        ({"length": 2**31 - 1}, "refused"),
        ({"code": 300}, "protocol"),
        ({"format": 99}, "protocol"),
        ({"dtype": 99}, "protocol"),
        ({"location": 7}, "protocol"),
        ({"code": 400, "length": 5}, "protocol"),
    ],
    ids=str,
)
def test_a_reply_that_is_not_what_was_expected_closes_the_connection(play, change, expected):
    server, link = play([Read(REQUEST), reply(**change) + PAYLOAD], [Read(REQUEST), YES])
    assert kind(link.get()) == expected
    assert link.open_connections() == 0
    assert server.ended[0].wait(5)
    assert link.exist() == Ok({"exists": True})


def test_a_promise_of_two_gibibytes_allocates_nothing(play):
    _, link = play([Read(REQUEST), reply(length=2**31 - 1)])
    before = link.call("state").values["resident_bytes"]
    assert kind(link.get()) == "refused"
    assert link.call("state").values["resident_bytes"] - before < 50_000_000


def test_a_reply_without_body_that_announces_one_closes_the_connection(play):
    _, link = play([Read(REQUEST), reply(length=4)])
    assert kind(link.exist()) == "protocol"
    assert link.open_connections() == 0


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("sent", [b"", YES[:10], reply(), reply() + PAYLOAD[:7]], ids=lambda sent: f"{len(sent)} bytes")
def test_a_connection_that_ends_early_is_an_error_and_never_reused(play, sent, reset):
    server, link = play([Read(REQUEST), sent, Close(reset=reset)], [Read(REQUEST), YES])
    assert kind(link.get()) == "connection"
    assert link.open_connections() == 0
    assert link.exist() == Ok({"exists": True})
    assert len(server.received[1]) == REQUEST


@pytest.mark.parametrize("sent", [b"", YES[:35], reply() + PAYLOAD[:7]], ids=lambda sent: f"{len(sent)} bytes")
def test_silence_ends_after_the_time_of_the_connection(play, sent):
    _, link = play([Read(REQUEST), sent], [Read(REQUEST), YES])
    begin = time.monotonic()
    assert kind(link.get()) == "timeout"
    assert TIMEOUT * 0.9 < time.monotonic() - begin < TIMEOUT + 3
    assert link.open_connections() == 0
    assert link.exist() == Ok({"exists": True})


def test_a_list_waits_its_time_and_closes(play):
    _, link = play([])
    assert kind(link.call("list", connection="c")) == "timeout"
    assert link.open_connections() == 0


def test_a_list_that_is_answered_is_read(play):
    _, link = play([Read(REQUEST), reply(length=7) + b"one\ntwo"])
    assert link.call("list", connection="c") == Ok({"keys": ["one", "two"]})


def test_a_list_of_absurd_length_is_refused(play):
    _, link = play([Read(REQUEST), reply(length=2**31 - 1)])
    assert kind(link.call("list", connection="c")) == "refused"


def test_a_put_is_header_and_payload_and_waits_for_nothing(play):
    server, link = play([Read(REQUEST + 8), Read(REQUEST), YES])
    assert link.put(PAYLOAD) == Ok({})
    assert link.exist() == Ok({"exists": True})
    sent = bytes(server.received[0])
    assert struct.unpack_from("<9i", sent) == (1, 8, 1, 6, 0, 2, 1, 2, 2)
    assert sent[36:REQUEST] == b"m@1@0@7@half".ljust(150)
    assert sent[REQUEST : REQUEST + 8] == PAYLOAD
    assert struct.unpack_from("<i", sent, REQUEST + 8) == (3,)


def test_a_put_into_a_closed_window_ends_in_time(play):
    _, link = play([Read(1), Close(reset=True)])
    size = 64 << 20
    answer = link.put(bytes(size), shape=(2, 1, size // 2, 1))
    assert kind(answer) in {"connection", "timeout"}
    assert link.open_connections() == 0


def test_bytes_that_nobody_asked_for_are_not_taken_for_a_reply(play):
    server, link = play([Read(REQUEST), NO + YES, Read(REQUEST), Close()], [Read(REQUEST), NO])
    assert link.exist() == Ok({"exists": False})
    assert link.exist() == Ok({"exists": False})
    assert len(server.received[1]) == REQUEST


def test_a_failure_to_open_again_is_a_connection_error(play):
    server, link = play([Read(REQUEST), Close()])
    assert kind(link.exist()) == "connection"
    server.stop()
    assert kind(link.exist()) in {"connection", "timeout"}


def test_an_expectation_that_cannot_be_is_refused_before_anything_is_sent(play):
    server, link = play([Read(REQUEST), YES])
    assert kind(link.get(shape=(2, -1, 2, 2))) == "refused"
    assert kind(link.get(shape=(2**20, 2**20, 1, 1))) == "refused"
    assert kind(link.get(dtype="int8")) == "refused"
    assert kind(link.get(format_name="KV_NEW")) == "refused"
    assert link.exist() == Ok({"exists": True})
    assert len(server.received[0]) == REQUEST


def test_a_key_that_does_not_fit_is_refused_before_anything_is_sent(play):
    server, link = play([Read(REQUEST), YES])
    assert kind(link.call("exist", connection="c", key={**link.key, "model": "é" * 70})) == "refused"
    assert link.exist() == Ok({"exists": True})
    assert len(server.received[0]) == REQUEST


def test_a_short_shape_comes_back_without_its_padding(play):
    _, link = play([Read(REQUEST), reply(shape=(2, 4, 0, 0)) + PAYLOAD])
    assert link.get(shape=(2, 4)).values["shape"] == [2, 4]


def test_binary_values_have_the_length_of_their_shape(play):
    _, link = play([Read(REQUEST), reply(format=5, shape=(8, 0, 0, 0)) + PAYLOAD])
    answer = link.get(format_name="BINARY_BUFFER", shape=(8, 0, 0, 0))
    assert answer.values["payload"] == PAYLOAD


@pytest.mark.parametrize("release", ["0.3.1", "0.3.3", "0.3.6", "0.4.4"])
def test_each_generation_of_headers_is_spoken(play, release):
    old = Release.parse(release) in ReleaseRange.parse("up to 0.3.2")
    size = 182 if old else 186
    _, link = play([Read(size), YES[:32] if old else YES, Read(size), (NO[:32] if old else NO)], release=release)
    assert link.call("health", connection="c") == Ok({"healthy": True})
    assert link.exist() == Ok({"exists": False})


def test_names_of_connections(play):
    server, link = play([], [])
    assert kind(link.connect(server)) == "refused"
    assert link.call("close", connection="never") == Ok({})
    assert kind(link.call("health", connection="never")) == "connection"
    assert link.connect(server, name="d") == Ok({})
    assert link.open_connections() == 2


def test_a_closed_connection_stays_closed_until_its_name_is_used_again(play):
    server, link = play([], [Read(REQUEST), YES])
    assert link.call("close", connection="c") == Ok({})
    assert link.call("close", connection="c") == Ok({})
    assert kind(link.exist()) == "connection"
    assert link.connect(server) == Ok({})
    assert link.exist() == Ok({"exists": True})


def test_what_cannot_be_connected_is_told(play):
    server, link = play([])
    args = {"connection": "x", "host": "127.0.0.1", "port": server.port, "release": "0.5.6", "timeout_ms": 100}
    assert isinstance(link.call("connect", **args, protocol="mp"), Unsupported)
    assert isinstance(link.call("connect", **{**args, "release": "99.0.0"}, protocol="lm"), Unsupported)
    server.stop()
    assert kind(link.call("connect", **args, protocol="lm")) in {"connection", "timeout"}
    assert kind(link.call("health", connection="x")) == "connection"
