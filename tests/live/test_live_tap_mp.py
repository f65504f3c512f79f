"""The real client of one release at the real multiprocess server of another, through the tap."""

import os

import pytest

from fixturegen.environment import open_environment
from fixturegen.mp.launch import Launch
from fixturegen.venv import VenvEnvironment
from harness.clients.spec import open_client
from harness.tap.address import Address
from harness.tap.explain import read_story
from harness.tap.session import Wishes, tapping
from wire.release import Release

CLIENT, SERVER = Release.parse("0.4.7"), Release.parse("0.5.1")
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
