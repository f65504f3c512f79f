"""The real client of one release at the real multiprocess server of another, through the tap."""

import os

import pytest

from fixturegen.environment import open_environment
from fixturegen.mp.launch import Launch
from fixturegen.venv import VenvEnvironment
from harness.clients.spec import open_client
from harness.mp.keys import MpKeys
from harness.tap.address import Address
from harness.tap.explain import read_story
from harness.tap.session import Wishes, tapping
from mockserver.mp import MpServer
from wire.release import Release

CLIENT, SERVER = Release.parse("0.4.7"), Release.parse("0.5.1")
LOOKS = {"LOOKUP", "QUERY_PREFETCH_STATUS"}
ASKED = (("mp_ping", {"instance_id": None}), ("mp_end_session", {"request_id": "r1"}), ("mp_noop", {}))


@pytest.fixture
def prepared(request):
    """The server of the release; it is installed here where everything must run."""
    missing = VenvEnvironment().mp_ready(SERVER)
    if missing and not (request.config.getoption("--require-live") or os.environ.get("CI") == "true"):
        pytest.skip(missing)


@pytest.mark.live
@pytest.mark.usefixtures("prepared")
def test_the_tap_names_both_releases_and_the_first_wrong_byte(tmp_path):
    out = tmp_path / "recording.jsonl"
    with open_environment("venv").mp_server(SERVER, Launch()) as server:
        wishes = Wishes(Address("127.0.0.1", 0), Address("127.0.0.1", server.port), "mp", out)
        client = open_client(f"lmcache-mp:{CLIENT}")
        try:
            with tapping(wishes) as (address, outcome):
                about = {"protocol": "mp", "host": address.host, "port": address.port, "release": str(CLIENT), "timeout_ms": 1000}
                client.call("connect", {"connection": "c", **about}, deadline=20)
                for operation, arguments in ASKED:
                    client.call(operation, {"connection": "c", **arguments}, deadline=20)
                client.call("close", {"connection": "c"}, deadline=20)
        finally:
            client.stop()
    assert outcome.defect == outcome.trouble == ""
    story = read_story(out)
    assert story.guesses["client"].candidates == (CLIENT,)
    assert SERVER in story.guesses["server"].candidates
    assert not story.guesses["server"].may_be(CLIENT)
    (differ,) = [found for found in story.findings if found.rule.name == "mp.sides.differ"]
    assert differ.field.startswith("operation (frame 1")
    assert differ.got.startswith("18, PING of lmcache 0.4.7; to the server GET_CHUNK_SIZE")


@pytest.mark.live
@pytest.mark.parametrize(
    ("client", "server", "asked"),
    [("0.3.14", "0.3.15", ["LOOKUP [key("]), ("0.4.3", "0.4.4", ["LOOKUP key(", "QUERY_PREFETCH_STATUS nil"])],
)
def test_a_client_looks_up_as_its_own_release_does_whatever_the_server_answers(pinned_release, client, server, asked, tmp_path):
    out, real_release = tmp_path / "recording.jsonl", Release.parse(client)
    with MpServer(Release.parse(server)) as mock:
        wishes = Wishes(Address("127.0.0.1", 0), Address(*mock.address), "mp", out)
        real = open_client(f"lmcache-mp:{client}")
        try:
            with tapping(wishes) as (address, _):
                about = {"protocol": "mp", "host": address.host, "port": address.port, "release": client, "timeout_ms": 300}
                real.call("connect", {"connection": "c", **about}, deadline=20)
                real.call("mp_chunk_size", {"connection": "c"}, deadline=20)
                real.call("mp_lookup", {"connection": "c", "key": MpKeys(real_release)(2), "tp_size": 1}, deadline=20)
        finally:
            real.stop()
    story = read_story(out)
    assert story.guesses["client"].may_be(real_release)
    rows = [f"{row.what} {row.about}" for one in story.conversations for row in one.rows if row.what in LOOKS]
    assert len(rows) == len(asked)
    assert all(row.startswith(words) for row, words in zip(rows, asked, strict=True))
