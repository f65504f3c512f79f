"""The smoke test of clients of the multiprocess server."""

import pytest

from harness.client import ClientError
from harness.clients.inprocess import InProcessSession
from harness.reference.lm import ReferenceClient
from harness.reference.mp.client import ReferenceMpClient
from harness.smoke import smoke

ONLY = ("mp small bytes", "mp round trip", "mp deadline", "mp large bytes", "mp senseless argument")


def checks(methods=None, base=ReferenceMpClient, only=ONLY):
    found = smoke(lambda: InProcessSession(type("Client", (base,), methods or {})), only=only)
    return {check.name: check for check in found}


def test_the_reference_client_passes_and_what_is_about_the_other_wire_says_nothing_of_it():
    found = checks(only=None)
    assert [name for name, check in found.items() if check.failed] == []
    assert [name for name in ONLY if not found[name].ok] == []
    assert "mp_register, mp_store, mp_lookup, mp_retrieve" in found["mp round trip"].detail
    left_out = [name for name, check in found.items() if not (check.ok or check.failed)]
    assert left_out == ["small bytes", "large bytes", "round trip", "deadline"]


def test_a_client_of_the_other_wire_has_no_such_checks():
    assert checks(base=ReferenceClient) == {}


def backwards(self, **members):
    return {"chunks": ReferenceMpClient.mp_retrieve(self, **members)["chunks"][::-1]}


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"mp_retrieve": backwards}, "chunks is not what it should be"),
        ({"mp_lookup": lambda *_, **__: {"hits": 7}}, "hits is not what it should be"),
        ({"close": lambda *_, **__: {}}, "a connection that was closed is not counted"),
    ],
)
def test_a_wrong_round_trip_is_told_with_what_the_mock_saw(methods, words):
    check = checks(methods)["mp round trip"]
    assert check.failed
    assert words in check.detail
    assert "the mock of the multiprocess server at 127.0.0.1:" in check.detail


def half(self, **members):
    chunks = ReferenceMpClient.mp_retrieve(self, **members)["chunks"]
    return {"chunks": [chunk[:70000] + bytes(len(chunk[70000:])) for chunk in chunks]}


@pytest.mark.parametrize(
    ("name", "methods", "words"),
    [
        ("mp small bytes", {"mp_decode_request": lambda *_, **__: {"operation": "NOOP", "payloads": []}}, "UNREGISTER_KV_CACHE"),
        ("mp large bytes", {"mp_retrieve": half}, "chunks is not what it should be"),
        ("mp senseless argument", {"mp_lookup": lambda *_, **__: {"hits": 2}}, "servers do not agree"),
    ],
)
def test_bytes_that_change_and_nonsense_that_is_answered_are_told(name, methods, words):
    check = checks(methods, only=(name,))[name]
    assert check.failed
    assert words in check.detail


def test_a_file_that_is_left_in_the_scratch_directory_is_told(monkeypatch):
    session = InProcessSession(ReferenceMpClient)
    monkeypatch.setattr(type(session), "leftovers", property(lambda _: next(numbers), lambda *_: None), raising=False)
    numbers = iter(range(9))
    (check,) = smoke(lambda: session, only=("mp large bytes",))
    assert "a file that was sent is still in the scratch directory" in check.detail


def test_a_client_of_pure_operations_alone_needs_no_server():
    def hello(self, **members):
        return {**ReferenceMpClient.hello(self, **members), "operations": ["mp_encode_request", "mp_decode_request"]}

    found = checks({"hello": hello})
    assert [name for name, check in found.items() if check.ok] == ["mp small bytes"]
    assert not any(check.failed for check in found.values())


def test_a_client_that_makes_an_answer_up_is_told():
    check = checks({"mp_noop": lambda *_, **__: {"text": "OK"}})["mp deadline"]
    assert check.failed
    assert "the server did not answer mp_noop, and the client did" in check.detail


def test_a_request_that_the_server_left_unanswered_is_told_with_what_the_server_took_it_for():
    allowed = []

    def connect(self, **members):
        allowed.append(members["timeout_ms"])
        return ReferenceMpClient.connect(self, **members)

    def noop(self, **members):
        ReferenceMpClient.mp_chunk_size(self, **members)
        raise ClientError("timeout", "no reply")

    check = checks({"connect": connect, "mp_noop": noop}, only=("mp round trip",))["mp round trip"]
    assert check.failed
    assert "whether its number and its payloads are those of the release" in check.detail
    assert "GET_CHUNK_SIZE (21), answered 21, 16" in check.detail
    assert allowed == [5000], "a client that waits for its whole timeout must not look like one that hangs"
