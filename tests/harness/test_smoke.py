"""The smoke test: what it finds in good and in broken clients, and what it tells about them."""

import struct
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.client import ClientError, ClientUnavailable, MissError, UnsupportedError
from harness.clients.inprocess import InProcessSession
from harness.clients.stdio import StdioSession
from harness.reference.lm import ReferenceClient
from harness.smoke import LATER_PROTOCOL, MADE_UP_OPERATION, State, smoke, sockets
from mockserver.journal import Journal

ROOT = Path(__file__).parents[2]
BROKEN = Path(__file__).parent / "clients" / "broken"
NAMES = [
    "handshake",
    "unknown operation",
    "small bytes",
    "large bytes",
    "senseless release",
    "senseless argument",
    "unknown member",
    "several at once",
    "state",
    "round trip",
    "deadline",
    "bye",
    "later protocol",
]


def inside(**methods):
    return lambda: InProcessSession(type("Client", (ReferenceClient,), methods))


def failures(factory):
    return {check.name: check.detail for check in smoke(factory) if check.failed}


def test_the_reference_client_passes_inside_this_process():
    checks = smoke(inside())
    assert [check.name for check in checks] == NAMES
    assert all(check.ok for check in checks), checks
    assert all(check.detail for check in checks)


def test_the_reference_client_passes_in_a_process_of_its_own():
    checks = smoke(lambda: StdioSession([sys.executable, "-m", "harness.clients.host", "reference"], cwd=ROOT))
    assert [check.name for check in checks] == NAMES
    assert all(check.ok for check in checks), checks
    assert checks[-2].detail == "answered, and the process ended with status 0"


def test_a_failed_round_trip_is_not_held_against_the_wait_for_a_silent_server():
    assert list(failures(inside(put=returning()))) == ["round trip"]


def test_a_client_that_cannot_start_gets_one_failed_check():
    def factory():
        raise ClientUnavailable("there is no file ./mine")

    (check,) = smoke(factory)
    assert (check.name, check.state) == ("handshake", State.FAIL)
    assert "there is no file ./mine" in check.detail
    assert "line expected: " in check.detail


def test_a_made_up_operation_must_be_unsupported():
    found = failures(inside(**{MADE_UP_OPERATION: lambda _self, **_: {}}))
    assert list(found) == ["unknown operation"]
    assert f'line sent:     {{"op": "{MADE_UP_OPERATION}"' in found["unknown operation"]
    assert 'line received: {"ok": {}}' in found["unknown operation"]
    assert 'line expected: {"id": N, "unsupported": {"reason": "..."}}' in found["unknown operation"]


def test_bytes_that_change_on_the_way_are_found():
    def decode_reply(self, **args):
        return {**ReferenceClient.decode_reply(self, **args), "length": 1}

    def pack_layout(self, **args):
        return {"bytes": bytes(131072), "shape": [2, 1, 64, 1024]}

    found = failures(inside(decode_reply=decode_reply, pack_layout=pack_layout))
    assert set(found) == {"small bytes", "large bytes"}
    assert "line expected: length = 65536, as it was encoded" in found["small bytes"]
    assert "131072 other bytes" in found["large bytes"]
    assert "the first byte that differs is at 1: 0x01 was sent, 0x00 came back" in found["large bytes"]


def test_a_senseless_release_or_argument_must_be_declined():
    def encode_request(self, **_):
        return {"bytes": b""}

    def decode_reply(self, **args):
        if len(args["bytes"]) < 36:
            args["bytes"] = struct.pack("<9i", 200, *[0] * 8)
        return ReferenceClient.decode_reply(self, **args)

    found = failures(inside(encode_request=encode_request))
    assert list(found) == ["senseless release"]
    found = failures(inside(decode_reply=decode_reply))
    assert list(found) == ["senseless argument"]


def test_an_internal_error_passes_with_a_remark():
    def decode_reply(self, **args):
        if len(args["bytes"]) < 36:
            raise IndexError("out of range")
        return ReferenceClient.decode_reply(self, **args)

    checks = {check.name: check for check in smoke(inside(decode_reply=decode_reply))}
    assert checks["senseless argument"].ok
    assert "reads like a bug" in checks["senseless argument"].detail


def test_state_must_be_answered_and_count_nothing():
    def state(self, **_):
        raise UnsupportedError("later")

    assert "later" in failures(inside(state=state))["state"]
    assert '"connections": 0' in failures(inside(state=lambda _self, **_: {"connections": 3}))["state"]


def test_what_was_not_declared_is_not_applicable():
    def hello(self, **args):
        return {**ReferenceClient.hello(self, **args), "operations": ["connect"]}

    checks = smoke(inside(hello=hello))
    assert not any(check.failed for check in checks)
    left_out = [check.name for check in checks if check.state is State.NOT_APPLICABLE]
    assert left_out == ["small bytes", "large bytes", "senseless release", "senseless argument", "round trip", "deadline"]
    assert all(check.detail.startswith("not applicable") == (check.name in left_out) for check in checks)


@pytest.mark.parametrize("name", ["exits", "hangs_up"])
def test_each_check_gets_a_fresh_client_after_a_crash(name, tmp_path):
    script = BROKEN / "exits.py" if name == "exits" else tmp_path / "hangs_up.py"
    if name == "hangs_up":
        script.write_text(
            f"import sys\nsys.path.insert(0, {str(BROKEN)!r})\n"
            "from polite import hello, raw, read\nhello()\nread()\nraw(b'x\\n')\n"
        )
    found = failures(lambda: StdioSession([sys.executable, str(script)]))
    assert set(found) >= {"unknown operation", "state", "bye"}
    assert all("line expected" in detail for detail in found.values())


def test_a_process_that_outlives_bye_fails(tmp_path):
    script = tmp_path / "stays.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(BROKEN)!r})\n"
        "import signal\nfrom polite import describe, read, write\n"
        "while True:\n"
        "    request = read()\n"
        "    op = request['op']\n"
        "    known = {'hello': describe(()), 'state': {'connections': 0}, 'bye': {}}\n"
        "    if op in known:\n"
        "        write(id=request['id'], ok=known[op])\n"
        "    else:\n"
        "        write(id=request['id'], unsupported={'reason': 'unknown'})\n"
        "    if op == 'bye':\n"
        "        signal.pause()\n"
    )
    found = failures(lambda: StdioSession([sys.executable, str(script)]))
    assert list(found) == ["bye"]
    assert found["bye"].startswith("expected the process to end with status 0 after bye; it had to be killed\n")


def test_a_client_that_mixes_up_answers_is_found():
    asked_alone = {}

    def parse_key(self, **members):
        answer = ReferenceClient.parse_key(self, **members)
        if threading.current_thread() is not asked_alone.setdefault("thread", threading.current_thread()):
            return {"key": {**answer["key"], "model": "another"}}
        return answer

    found = failures(inside(parse_key=parse_key))
    assert list(found) == ["several at once"]
    assert found["several at once"].startswith("parse_key: expected among others the answer that came alone")


def test_a_client_for_one_request_at_a_time_is_not_sent_several():
    def hello(self, **members):
        return {**ReferenceClient.hello(self, **members), "concurrent": False}

    checks = {check.name: check for check in smoke(inside(hello=hello))}
    assert checks["several at once"].state is State.NOT_APPLICABLE


def test_a_round_trip_is_tried_on_a_mock_with_what_is_declared():
    def only(*operations):
        def hello(self, **members):
            return {**ReferenceClient.hello(self, **members), "operations": ["connect", *operations], "releases": ["0.3.1"]}

        (check,) = smoke(inside(hello=hello), only={"round trip"})
        return check.state, check.detail

    begin = "round trip on a mock of release 0.3.1: connect, "
    assert only("put", "get", "exist", "health", "close") == (State.OK, f"{begin}exist, get, put, health, close")
    assert only("get") == (State.OK, f"{begin}get")
    assert only("put") == (State.OK, f"{begin}put")
    assert only("exist", "close") == (State.OK, f"{begin}exist, close")
    assert only()[0] is State.NOT_APPLICABLE


def returning(**values):
    return lambda _self, **_: values


def raising(error):
    def method(self, **_):
        raise error

    return method


@pytest.mark.parametrize(
    ("methods", "fragments"),
    [
        ({"exist": returning(exists=True)}, ['line received: {"ok": {"exists": true}}', "nothing is stored", "saw a connection"]),
        ({"exist": returning(exists=False)}, ['line expected: {"id": N, "ok": {"exists": true}}', "the value was stored"]),
        (
            {"get": returning(payload=b"", format="KV_2LTD", dtype="float16", shape=[1])},
            ['line expected: {"id": N, "miss": true}'],
        ),
        ({"get": raising(MissError())}, ['line received: {"miss": true}', 'line expected: {"id": N, "ok": {"payload": ']),
        ({"put": returning()}, ['line expected: {"id": N, "ok": {"exists": true}}', "saw last: EXIST"]),
        ({"health": returning(healthy=False)}, ["answers HEALTH with success"]),
        ({"connect": raising(ClientError("connection", "no"))}, ['"op": "connect"', "saw no connection"]),
        ({"close": returning()}, ['line expected: {"id": N, "ok": {"connections": 0}}', "a connection that was closed is not"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_round_trip_that_fails_says_what_the_mock_saw(methods, fragments):
    (check,) = smoke(inside(**methods), only={"round trip"})
    assert check.failed
    for fragment in [*fragments, "line sent:     ", "what to do:    ", "the mock server at 127.0.0.1:"]:
        assert fragment in check.detail


def test_a_connection_that_the_mock_takes_late_is_seen():
    journal = Journal()
    taking = threading.Timer(0.05, journal.open_connection, ["127.0.0.1:1"])
    taking.start()
    seen = sockets._seen(SimpleNamespace(journal=journal, host="127.0.0.1", port=1))
    taking.join()
    assert seen == "the mock server at 127.0.0.1:1 saw a connection and no whole request"


def test_a_value_that_comes_back_otherwise_is_shown_beside_the_stored_one():
    def get(self, **members):
        answer = ReferenceClient.get(self, **members)
        return {**answer, "payload": answer["payload"][::-1]}

    (check,) = smoke(inside(get=get), only={"round trip"})
    assert check.detail.startswith("payload is not what was stored\n")


def test_a_client_that_can_only_store_must_have_stored():
    def hello(self, **members):
        return {**ReferenceClient.hello(self, **members), "operations": ["connect", "put"]}

    (check,) = smoke(inside(hello=hello, put=returning()), only={"round trip"}, deadline=0.2)
    assert "bytes of payload at the mock, once the answer is there" in check.detail


def test_a_wait_for_a_silent_server_must_end(monkeypatch):
    monkeypatch.setattr("harness.smoke.sockets.SLACK", 0.1)

    def patient(self, **_):
        threading.Event().wait()

    (check,) = smoke(inside(exist=patient), only={"deadline"})
    assert check.failed
    assert "the server does not answer, and timeout_ms was 500" in check.detail
    assert 'line expected: {"id": N, "error": {"class": "timeout", "message": "..."}}' in check.detail
    (check,) = smoke(inside(exist=returning(exists=False)), only={"deadline"})
    assert check.detail.startswith("the server did not answer exist, and the client did\n")


def test_a_client_must_ignore_members_that_it_does_not_know():
    def encode_request(self, *, release, command, key, length, format, dtype, shape, location):  # noqa: A002
        about = {"length": length, "format": format, "dtype": dtype, "shape": shape, "location": location}
        return ReferenceClient.encode_request(self, release=release, command=command, key=key, **about)

    found = failures(inside(encode_request=encode_request))
    assert list(found) == ["unknown member"]
    assert '"lmconform_later": {"of": ["version", 1, null]}' in found["unknown member"]
    assert "as without the member lmconform_later" in found["unknown member"]


def later(answer):
    def hello(self, **members):
        return answer(ReferenceClient.hello(self, **{**members, "protocol": 1}), members["protocol"])

    (check,) = smoke(inside(hello=hello), only={"later protocol"})
    return check


def test_a_client_may_answer_a_later_protocol_with_its_own():
    assert later(lambda answer, _: answer).detail == "asked for protocol 2, it speaks 1"
    assert later(lambda answer, _: {**answer, "protocol": 1}).ok
    assert later(lambda answer, asked: {**answer, "protocol": asked}).detail == "asked for protocol 2, it speaks 2"


def test_a_client_may_decline_a_later_protocol():
    def hello(self, *, protocol, **members):
        if protocol == LATER_PROTOCOL:
            raise UnsupportedError("only 1")
        return ReferenceClient.hello(self, protocol=protocol, **members)

    (check,) = smoke(inside(hello=hello), only={"later protocol"})
    assert check.ok
    assert "would be asked for next" in check.detail


def test_a_client_must_not_die_of_a_later_protocol_nor_answer_one_beyond():
    def hello(self, *, protocol, **members):
        if protocol == LATER_PROTOCOL:
            raise SystemExit(3)
        return ReferenceClient.hello(self, protocol=protocol, **members)

    (check,) = smoke(inside(hello=hello), only={"later protocol"})
    assert check.failed
    assert '"protocol": 2' in check.detail
    assert "or error refused" in check.detail
    assert later(lambda answer, asked: {**answer, "protocol": asked + 1 if asked > 1 else 1}).failed


def test_a_client_of_a_later_protocol_than_asked_for_is_refused():
    def hello(self, **members):
        return {**ReferenceClient.hello(self, **members), "protocol": 2}

    (check,) = smoke(inside(hello=hello))
    assert check.name == "handshake"
    assert "hello: protocol: expected at most 1, which was asked for, got 2" in check.detail


def test_the_handshake_remarks_what_will_be_left_out():
    def saying(**changes):
        def hello(self, **members):
            return {**ReferenceClient.hello(self, **members), **changes}

        (check,) = smoke(inside(hello=hello), only={"handshake"})
        return check

    odd = saying(operations=["encode-request", "get"])
    assert odd.ok
    assert "remark: the contract has no operation 'encode-request' (did you mean encode_request?)" in odd.detail
    assert "remark" not in saying(operations=["hello", "state", "bye", "get"]).detail
    assert "no operation of the contract is declared" in saying(operations=[]).detail
    wrong = saying(releases=["v0.5.6"])
    assert wrong.failed
    assert 'line received: "releases": ["v0.5.6"]' in wrong.detail
