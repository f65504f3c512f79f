"""The smoke test: what it finds in good and in broken clients, and what it tells about them."""

import struct
import sys
import threading
from pathlib import Path

import pytest

from harness.client import ClientUnavailable, UnsupportedError
from harness.clients.inprocess import InProcessSession
from harness.clients.stdio import StdioSession
from harness.reference.lm import ReferenceClient
from harness.smoke import MADE_UP_OPERATION, State, smoke

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
