"""The smoke test of clients of the multiprocess server."""

import pytest

from harness.client import ClientError
from harness.clients.inprocess import InProcessSession
from harness.reference.lm import ReferenceClient
from harness.reference.mp.client import ReferenceMpClient
from harness.smoke import smoke

ONLY = ("mp round trip", "mp deadline")


def checks(methods=None, base=ReferenceMpClient, only=ONLY):
    found = smoke(lambda: InProcessSession(type("Client", (base,), methods or {})), only=only)
    return {check.name: check for check in found}


def test_the_reference_client_passes_and_what_is_about_the_other_wire_says_nothing_of_it():
    found = checks(only=None)
    assert [name for name, check in found.items() if check.failed] == []
    assert [found[name].ok for name in ONLY] == [True, True]
    assert "mp_register, mp_store, mp_lookup, mp_retrieve" in found["mp round trip"].detail
    assert not found["round trip"].ok
    assert not found["deadline"].ok


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
