"""Real servers as child processes: awaited, explained when they fail, and gone afterwards."""

import functools
import os
import signal
import socket
import sys
from pathlib import Path

import pytest
from scripted_peer import Close, Read, ScriptedPeer

from fixturegen import leash, server_process
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.server_process import free_port, healthy, running_server, wait_until_healthy
from mockserver.lm import LmServer
from wire.errors import DecodeError
from wire.lm.frames import Reply, encode_reply
from wire.lm.profile import lm_profile
from wire.release import KNOWN_RELEASES, Release

ROOT = Path(__file__).resolve().parents[2]
RELEASE = Release.parse("0.5.6")
PROFILE = lm_profile(RELEASE)
VARIABLES = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}

EXITS = "print('No module named lmcache', flush=True); raise SystemExit(3)"
NEVER_LISTENS = "print('still loading', flush=True); import signal; signal.pause()"
SERVES = """
import signal, sys
from mockserver.lm import LmServer
print('told', sys.argv[1:], flush=True)
with LmServer('0.5.6', host=sys.argv[1], port=int(sys.argv[2])):
    signal.pause()
"""
IGNORES_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SERVES


def python(script):
    return [sys.executable, "-c", script]


@pytest.fixture
def started(monkeypatch):
    """The processes that were started."""
    found = []
    original = server_process.subprocess.Popen

    def spy(command, **options):
        process = original(command, **options)
        if leash.__file__ not in command:
            found.append(process)
        return process

    monkeypatch.setattr(server_process.subprocess, "Popen", spy)
    return found


def patience(monkeypatch, seconds):
    monkeypatch.setattr(server_process, "wait_until_healthy", functools.partial(wait_until_healthy, timeout=seconds))


def test_a_server_is_healthy_inside_the_block_and_gone_behind_it(started):
    with running_server(RELEASE, python(SERVES), VARIABLES) as address:
        assert healthy(RELEASE, address.host, address.port)
        assert started[0].poll() is None
    assert started[0].returncode == -signal.SIGTERM
    with pytest.raises(ConnectionRefusedError):
        healthy(RELEASE, address.host, address.port)


def test_a_server_is_told_its_host_and_port_and_logs_beside_nothing_else(started):
    with running_server(RELEASE, python(SERVES), VARIABLES) as address:
        assert f"told ['127.0.0.1', '{address.port}']" in address.log.read_text()
        assert [path.name for path in address.log.parent.iterdir()] == ["server.log"]
    assert not address.log.exists()


def test_a_server_is_gone_when_the_block_fails(started):
    with pytest.raises(ZeroDivisionError), running_server(RELEASE, python(SERVES), VARIABLES):
        _ = 1 / 0
    assert started[0].returncode is not None


def test_a_server_that_ignores_the_first_signal_is_killed(started, monkeypatch):
    monkeypatch.setattr(server_process, "STOP_TIMEOUT", 0.2)
    with running_server(RELEASE, python(IGNORES_TERM), VARIABLES):
        pass
    assert started[0].returncode == -signal.SIGKILL


def test_a_command_that_ends_at_once_is_unavailable_with_its_status_and_log(started):
    expected = r"(?s)the server of lmcache 0\.5\.6 ended with status 3:\nNo module named lmcache"
    with pytest.raises(EnvironmentUnavailable, match=expected), running_server(RELEASE, python(EXITS), VARIABLES):
        pytest.fail("the block must not run")
    assert started[0].returncode == 3


def test_a_server_whose_port_was_taken_meanwhile_is_started_again_with_another_one(started, tmp_path):
    taken_once = f"""
import pathlib, sys
tried = pathlib.Path({str(tmp_path / "tried")!r})
if not tried.exists():
    tried.touch()
    sys.exit('OSError: [Errno 98] Address already in use')
"""
    with running_server(RELEASE, python(taken_once + SERVES), VARIABLES) as address:
        assert healthy(RELEASE, address.host, address.port)
    ports = [process.args[-1] for process in started]
    assert len(ports) == len(set(ports)) == 2
    assert [process.returncode for process in started] == [1, -signal.SIGTERM]


def test_a_server_that_never_gets_its_port_is_unavailable(started):
    always = "import sys; sys.exit('OSError: [Errno 98] Address already in use')"
    with pytest.raises(EnvironmentUnavailable, match="in use"), running_server(RELEASE, python(always), VARIABLES):
        pytest.fail("the block must not run")
    assert len(started) == server_process.PORTS_TRIED


def test_a_port_is_handed_out_once():
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == 200


def test_a_command_that_never_listens_is_unavailable_and_gone(started, monkeypatch):
    patience(monkeypatch, 0.3)
    expected = r"the server of lmcache 0\.5\.6 at 127\.0\.0\.1:\d+ did not answer within 0 s \(.*refused"
    with pytest.raises(EnvironmentUnavailable, match=expected), running_server(RELEASE, python(NEVER_LISTENS), VARIABLES):
        pytest.fail("the block must not run")
    assert started[0].returncode is not None


def test_a_command_that_is_not_there_is_unavailable(tmp_path):
    missing = str(tmp_path / "python")
    with pytest.raises(EnvironmentUnavailable, match=f"{missing}.*does not start"), running_server(RELEASE, [missing], {}):
        pytest.fail("the block must not run")


def test_the_message_ends_with_the_tail_of_a_long_log(tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * 5000 + b"\xff the last line")
    with pytest.raises(EnvironmentUnavailable) as caught:
        wait_until_healthy(RELEASE, "127.0.0.1", free_port(), log=log, timeout=0.05)
    assert str(caught.value).endswith("the last line")
    assert len(str(caught.value)) < 3300


def test_without_a_log_the_message_still_says_what_is_wrong():
    with pytest.raises(EnvironmentUnavailable, match="did not answer within 0 s"):
        wait_until_healthy(RELEASE, "127.0.0.1", free_port(), timeout=0.05)


@pytest.mark.parametrize(
    ("scene", "problem"),
    [
        ([Read(186), Close()], "the server closed the connection instead of answering HEALTH"),
        ([Read(186), encode_reply(PROFILE, Reply("FAIL"))], "HEALTH is not answered with success"),
        ([Read(186), b"\x07" * 36], "outside the table"),
        ([Read(186), b"cut", Close()], "the server closed the connection instead of answering HEALTH"),
    ],
)
def test_a_server_that_answers_something_else_is_unavailable_and_says_what(scene, problem):
    with ScriptedPeer(*[scene] * 50) as peer, pytest.raises(EnvironmentUnavailable, match=problem):
        wait_until_healthy(RELEASE, peer.host, peer.port, timeout=1.0)


def test_a_server_that_accepts_and_never_answers_does_not_hold_up_the_wait_for_long():
    with ScriptedPeer(*[[]] * 50) as peer, pytest.raises(EnvironmentUnavailable, match="timed out"):
        wait_until_healthy(RELEASE, peer.host, peer.port, timeout=0.15)


def test_a_server_that_answers_at_the_second_attempt_is_healthy():
    scenes = [[Read(186), Close()], [Read(186), encode_reply(PROFILE, Reply("SUCCESS"))]]
    with ScriptedPeer(*scenes) as peer:
        wait_until_healthy(RELEASE, peer.host, peer.port, timeout=10)


def test_an_answer_that_comes_in_pieces_is_one_answer():
    reply = encode_reply(PROFILE, Reply("SUCCESS"))
    with ScriptedPeer([Read(186), reply[:7], reply[7:]]) as peer:
        assert healthy(RELEASE, peer.host, peer.port)


@pytest.mark.parametrize("text", KNOWN_RELEASES)
def test_the_health_request_is_one_that_servers_of_the_release_take(text):
    with LmServer(text) as server:
        assert healthy(server.release, *server.address)


def test_a_reply_of_another_generation_is_no_health():
    with ScriptedPeer([Read(186), b"GET / HTTP/1.1\r\n" * 4]) as peer, pytest.raises(DecodeError):
        healthy(RELEASE, peer.host, peer.port)


def test_a_free_port_can_be_bound():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port()))


def test_another_program_that_answers_on_the_port_is_not_taken_for_the_server(monkeypatch):
    with LmServer(RELEASE) as other:
        taken = other.address[1]
        ports = iter([taken, free_port()])
        monkeypatch.setattr(server_process, "free_port", lambda _host: next(ports))
        with running_server(RELEASE, python(f"import time; time.sleep(0.5)\n{SERVES}"), VARIABLES) as address:
            assert address.port != taken
