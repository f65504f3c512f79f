"""Servers of cases about the multiprocess wire: the mock, and one that the user runs."""

import pytest

from harness.failure import TargetUnavailable
from harness.mp.keys import MpKeys
from harness.mp.targets import LiveMpServers, MpTarget, answers_noop, mock_mp_server, mp_mocks_made_by, seen_last
from mockserver.mp import MpServer
from wire.mp.records import KEY_RECORD, fields_of
from wire.release import Release

RELEASE = Release.parse("0.5.6")


@pytest.fixture
def mock():
    with mock_mp_server(RELEASE) as server:
        yield server


def test_a_server_of_the_user_is_taken_as_it_is(mock):
    servers = LiveMpServers(address=(mock.host, mock.port))
    found = servers.get(RELEASE)
    assert (found.host, found.port, found.mock, found.live) == (mock.host, mock.port, None, None)
    servers.close()
    assert answers_noop(RELEASE, mock.host, mock.port)


def test_a_server_of_the_user_that_does_not_answer_is_told_and_not_asked_again(mock, monkeypatch):
    monkeypatch.setattr("harness.mp.targets.ANSWER_TIMEOUT", 0.2)
    mock.misbehave("die")
    servers = LiveMpServers(address=(mock.host, mock.port))
    for _ in range(2):
        with pytest.raises(TargetUnavailable, match=r"does not answer as lmcache 0\.5\.6 does"):
            servers.get(RELEASE)
    assert len(mock.journal.exchanges()) <= 1


@pytest.mark.parametrize(("named", "real"), [("0.4.7", "0.5.4"), ("0.5.4", "0.4.7"), ("0.5.6", "0.5.1"), ("0.4.4", "0.5.6")])
def test_a_server_of_another_release_than_was_named_keeps_what_it_has(named, real, monkeypatch):
    """NOOP of 0.4.7 is CLEAR in 0.5.4: a server of the user is first asked what changes nothing in any release."""
    monkeypatch.setattr("harness.mp.targets.ANSWER_TIMEOUT", 0.5)
    with mock_mp_server(Release.parse(real)) as server:
        with pytest.raises(TargetUnavailable, match="check the address and the release it runs"):
            LiveMpServers(address=(server.host, server.port)).get(Release.parse(named))
        assert [exchange.operation for exchange in server.journal.exchanges() if exchange.operation == "CLEAR"] == []
        assert answers_noop(Release.parse(real), server.host, server.port)


@pytest.mark.parametrize("release", ["0.3.10", "0.4.3", "0.4.4", "0.4.7", "0.5.1", "0.5.6"])
def test_a_server_of_the_release_that_was_named_is_taken(release):
    with mock_mp_server(Release.parse(release)) as server:
        found = LiveMpServers(address=(server.host, server.port)).get(Release.parse(release))
        assert (found.host, found.port) == (server.host, server.port)


def test_a_live_server_has_no_journal_takes_no_faults_and_is_not_ours_to_stop():
    target = MpTarget(RELEASE, "127.0.0.1", 1)
    for what in (lambda: target.journal, lambda: target.misbehave("die"), target.stop, target.restart, target.status):
        with pytest.raises(LookupError):
            what()


def test_mocks_are_what_they_are_told_to_be():
    class Other(MpServer):
        pass

    with mp_mocks_made_by(Other), mock_mp_server(RELEASE) as server:
        assert isinstance(server.mock, Other)
    with mock_mp_server(RELEASE) as server:
        assert not isinstance(server.mock, Other)


def test_a_release_without_shared_memory_gets_none():
    with mock_mp_server(Release.parse("0.4.6")) as server:
        assert server.mock.shm_name == ""


def test_what_the_mock_saw_last_is_told(mock):
    assert seen_last(mock) == {"exchange": "the mock saw no message"}
    assert answers_noop(RELEASE, mock.host, mock.port)
    assert seen_last(mock)["exchange"] == "exchange 1, connection 1: NOOP (24), answered 24, OK"


@pytest.mark.parametrize("text", ["0.3.13", "0.3.14", "0.4.2", "0.4.4", "0.5.6"])
def test_a_key_record_has_the_fields_of_the_release(text):
    release = Release.parse(text)
    keys = MpKeys(release)
    one, other = keys(), keys()
    assert list(keys.record(one)) == [field.name for field in fields_of(release, KEY_RECORD[release])]
    assert one["request_id"] != other["request_id"]
    assert one["model_name"].startswith("lmconform/")
    assert MpKeys(release)()["model_name"] != one["model_name"]
    assert MpKeys(release)()["tokens"] != one["tokens"]


def test_chunks_have_the_length_of_the_layout():
    keys = MpKeys(RELEASE)
    assert [len(chunk) for chunk in keys.chunks(2, keys.context(dtype="float32", use_mla=True))] == [1 * 2 * 16 * 8 * 4] * 2
    assert len(set(keys.chunks(3))) == 3
