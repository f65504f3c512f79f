"""Servers of the user that the harness starts."""

import sys

import pytest

from fixturegen.leash import marked
from harness.failure import TargetUnavailable
from harness.mp.targets import LiveMpServers
from harness.peers import Peer
from harness.servers.started import StartedServer
from harness.targets import LiveServers
from harness.values import Keys
from wire.release import Release

RELEASE = Release.parse("0.5.6")
SERVE = "from harness.cli.app import run_app; import sys; run_app(sys.argv[1:])"
COMMAND = (sys.executable, "-c", SERVE, "serve", "--lmcache", "{release}", "--port", "{port}")


@pytest.fixture
def live():
    servers = LiveServers(command=COMMAND, judged=True)
    yield servers
    servers.close()


def test_a_started_server_answers_and_is_the_same_for_each_case(live):
    server = live.get(RELEASE)
    key = Keys(RELEASE)()
    with Peer(RELEASE, server) as peer:
        peer.put(key, b"value")
    with Peer(RELEASE, live.get(RELEASE)) as peer:
        assert peer.get(key) == b"value"


def test_a_started_server_that_died_is_started_again(live):
    server = live.get(RELEASE)
    key = Keys(RELEASE)()
    with Peer(RELEASE, server) as peer:
        peer.put(key, b"value")
        peer.exist(key)
    live._started[RELEASE].kill()
    with Peer(RELEASE, live.get(RELEASE)) as peer:
        assert peer.get(key) is None


def test_a_started_server_of_the_other_wire_answers():
    servers = LiveMpServers(command=(*COMMAND, "--protocol", "mp", "--chunk-size", "{chunk_size}"))
    try:
        first = servers.get(RELEASE)
        first.restart()
        assert servers.get(RELEASE).port == first.port
    finally:
        servers.close()


def test_nothing_of_a_started_server_is_left():
    started = StartedServer(COMMAND, RELEASE, lambda *_: True)
    started.start()
    mark, folder = started._leash.mark, started._log.parent
    started.stop()
    assert list(marked(mark)) == []
    assert not folder.exists()


def test_a_server_that_ends_at_once_is_told_with_its_last_words():
    started = StartedServer((sys.executable, "-c", "raise SystemExit('no room')"), RELEASE, lambda *_: False)
    try:
        with pytest.raises(TargetUnavailable, match=r"(?s)ended with status 1 when it was started; it wrote:.*no room"):
            started.start()
    finally:
        started.stop()


def test_what_a_started_server_wrote_since_a_case_began_is_told_with_how_it_ended():
    words = "import time; print('before', flush=True); time.sleep(60)"
    server = StartedServer((sys.executable, "-c", words, "{port}"), RELEASE, lambda _host, _port: "before" in server.log)
    try:
        server.start()
        assert server.said == "before\n"
        server.mark()
        assert server.said == ""
        server._process.kill()
        server._process.wait()
        assert server.said == "the server ended with status -9"
    finally:
        server.stop()
