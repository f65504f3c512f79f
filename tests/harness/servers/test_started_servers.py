"""Servers of the user that the harness starts."""

import sys

import pytest

from fixturegen.leash import marked
from harness.failure import ServerUnavailable, TargetUnavailable
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
    mark = started._leash.mark
    started.stop()
    assert list(marked(mark)) == []


def test_a_server_that_ends_at_once_is_told_with_its_last_words():
    started = StartedServer((sys.executable, "-c", "raise SystemExit('no room')"), RELEASE, lambda *_: False)
    try:
        with pytest.raises(ServerUnavailable, match=r"(?s)ended with status 1 when it was started; it wrote:.*no room"):
            started.start()
    finally:
        started.stop()


def test_of_a_flood_the_end_is_kept():
    flood = "import os\nfor _ in range(400): os.write(1, b'x' * 65536)\nos.write(1, b'last words')\nraise SystemExit(3)"
    started = StartedServer((sys.executable, "-c", flood), RELEASE, lambda *_: False)
    try:
        with pytest.raises(ServerUnavailable, match=r"xlast words$") as caught:
            started.start()
    finally:
        started.stop()
    assert len(str(caught.value)) < 5000


def test_a_child_that_keeps_the_log_open_holds_nobody_up():
    forks = "import os, time\nif not os.fork():\n    os.setsid()\n    time.sleep(60)\nraise SystemExit(3)"
    started = StartedServer((sys.executable, "-c", forks), RELEASE, lambda *_: False)
    with pytest.raises(ServerUnavailable, match="wrote nothing"):
        started.start()
    started.stop()


@pytest.mark.parametrize("servers", [LiveServers, LiveMpServers])
def test_a_server_that_does_not_start_is_not_started_for_every_case(servers, monkeypatch):
    began = []

    def start(*_, **__):
        began.append(1)
        raise OSError("no room")

    monkeypatch.setattr("harness.servers.started.leash.start", start)
    live = servers(command=("/bin/false",))
    for _ in range(3):
        with pytest.raises(TargetUnavailable):
            live.get(RELEASE)
    live.close()
    assert len(began) == 1


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
