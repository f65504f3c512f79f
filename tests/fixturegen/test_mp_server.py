"""Multiprocess servers as child processes: awaited over ZeroMQ, killed, started again, and gone with their shared memory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from fixturegen.errors import EnvironmentUnavailable
from fixturegen.mp import server as server_module
from fixturegen.mp.launch import Launch
from fixturegen.mp.server import SHARED_FOLDER, answers_noop, running_mp_server, with_imports
from fixturegen.server_process import free_port
from wire.release import Release

ROOT = Path(__file__).resolve().parents[2]
RELEASE = Release.parse("0.5.6")
WITHOUT_STATE = Release.parse("0.3.12")
VARIABLES = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}

SERVES = """
import os, pathlib, sys, zmq
options = dict(zip(sys.argv, sys.argv[1:]))
name = next((word.partition('=')[2] for word in sys.argv if word.startswith('--shm-name=')), '')
if name:
    pathlib.Path('/dev/shm/lmcache_l1_pool_' + name).touch()
pathlib.Path(f'/dev/shm/lmcache_l1_pool_{os.getpid()}').touch()
print('told', sys.argv[1:], flush=True)
socket = zmq.Context().socket(zmq.ROUTER)
socket.bind(f"tcp://{options['--host']}:{options['--port']}")
while True:
    identity, uid, operation, *payloads = socket.recv_multipart()
    socket.send_multipart([identity, uid, operation, b'\\xa2OK'])
"""
NEVER_ANSWERS = "print('still loading', flush=True); import signal; signal.pause()"
EXITS = "print('No module named lmcache', flush=True); raise SystemExit(3)"


def running(script, release=RELEASE, launch=None):
    def command(arguments):
        return [sys.executable, "-c", script, *arguments]

    return running_mp_server(release, launch or Launch(), command, VARIABLES)


def memory_of(server, pid):
    return [path for path in (SHARED_FOLDER / server.shm_name, SHARED_FOLDER / f"lmcache_l1_pool_{pid}") if path.exists()]


def test_a_server_answers_inside_the_block_and_is_gone_behind_it_with_its_memory():
    with running(SERVES) as server:
        pid = server.pid
        assert server.alive()
        assert len(memory_of(server, pid)) == 2
    assert memory_of(server, pid) == []
    assert not answers_noop(RELEASE, server.host, server.port, 0.1)


def test_a_server_that_was_killed_by_somebody_leaves_nothing_in_shared_memory():
    with running(SERVES) as server:
        pid = server.pid
        os.kill(pid, signal.SIGKILL)
        assert not server.alive(0.2)
    assert memory_of(server, pid) == []


def test_a_server_is_gone_when_the_block_fails():
    held = []

    def fail():
        with running(SERVES) as server:
            held.append((server, server.pid))
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()
    assert memory_of(*held[0]) == []


HOLDS = f"""
import os, signal, sys
sys.path[:0] = [{str(ROOT / "tests" / "fixturegen")!r}, {str(ROOT / "tests")!r}]
from test_mp_server import SERVES, running
with running(SERVES) as server:
    print(server.pid, server.shm_name, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_and_its_memory_do_not_outlive_a_process_that_was_killed():
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", HOLDS], env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid, name = done.stdout.split()
    left = [Path(f"/proc/{pid}"), SHARED_FOLDER / name, SHARED_FOLDER / f"lmcache_l1_pool_{pid}"]
    wait_until(
        lambda: not any(path.exists() for path in left), lambda: f"still there: {[str(path) for path in left if path.exists()]}"
    )


def test_a_restarted_server_is_another_process_at_the_same_address():
    with running(SERVES) as server:
        before = (server.pid, server.host, server.port, server.shm_name)
        server.restart()
        assert server.alive()
        assert (server.host, server.port, server.shm_name) == before[1:]
        assert server.pid != before[0]


def test_a_server_that_was_killed_can_be_started_again():
    with running(SERVES) as server:
        server.kill()
        assert not server.alive(0.1)
        server.restart()
        assert server.alive()


def test_a_release_without_a_state_gets_no_port_for_http():
    with running(SERVES, WITHOUT_STATE) as server:
        assert (server.http_port, server.status(), server.shm_name) == (None, None, None)
        assert "--http-port" not in server.log.read_text()


def test_a_state_that_is_not_there_is_unavailable():
    with running(SERVES) as server, pytest.raises(EnvironmentUnavailable, match="gives no /status"):
        server.status()


def test_a_command_that_ends_at_once_is_unavailable_with_its_status_and_log():
    expected = r"(?s)the multiprocess server of lmcache 0\.5\.6 ended with status 3:\nNo module named lmcache"
    with pytest.raises(EnvironmentUnavailable, match=expected), running(EXITS):
        pytest.fail("the block must not run")


def test_a_command_that_never_answers_is_unavailable_with_its_log(monkeypatch):
    monkeypatch.setattr(server_module, "START_TIMEOUT", 0.5)
    monkeypatch.setattr(server_module, "NOOP_PATIENCE", 0.1)
    with (
        pytest.raises(EnvironmentUnavailable, match=r"(?s)answered no NOOP within 0 s:\n.*still loading"),
        running(NEVER_ANSWERS),
    ):
        pytest.fail("the block must not run")


def test_a_command_that_is_not_there_is_unavailable(tmp_path):
    missing = str(tmp_path / "python")
    with (
        pytest.raises(EnvironmentUnavailable, match=f"{missing}.*does not start"),
        running_mp_server(RELEASE, Launch(), lambda arguments: [missing, *arguments], {}),
    ):
        pytest.fail("the block must not run")


def test_a_server_whose_port_was_taken_meanwhile_is_started_again_with_another_one(tmp_path):
    taken_once = f"""
import pathlib, sys
tried = pathlib.Path({str(tmp_path / "tried")!r})
if not tried.exists():
    tried.touch()
    sys.exit('zmq.error.ZMQError: Address already in use')
"""
    with running(taken_once + SERVES) as server:
        assert server.alive()
        assert (tmp_path / "tried").exists()


def test_nobody_at_an_address_is_no_answer():
    assert not answers_noop(RELEASE, "127.0.0.1", free_port(), 0.05)


STOPS = """
import os, signal
def end(*_):
    print('asked to end', flush=True)
    os._exit(7)  # an orderly end waits for ZeroMQ, which may wait for a peer
signal.signal(signal.SIGTERM, end)
"""
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


def test_a_server_that_ends_when_asked_gives_its_status_and_leaves_nothing():
    with running(STOPS + SERVES) as server:
        pid = server.pid
        assert server.stop(10) == 7
        assert "asked to end" in server.log.read_text()
        assert memory_of(server, pid) == []
        assert server.stop(0) is None, "there is nothing left to stop"


def test_a_server_that_does_not_end_when_asked_is_killed_and_gives_no_status():
    with running(DEAF + SERVES) as server:
        assert server.stop(0.2) is None
        assert not server.alive(0.1)


def test_imports_are_linked_one_by_one_and_come_last(tmp_path):
    beside = tmp_path / "site"
    beside.mkdir()
    (beside / "mine.py").write_text("NAME = 'mine'")
    (beside / "secret.py").touch()
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "taken.py").write_text("NAME = 'first'")
    (beside / "taken.py").write_text("NAME = 'second'")
    given = {**VARIABLES, "PYTHONPATH": str(tmp_path / "first")}
    seen = with_imports(given, [beside / "mine.py", beside / "taken.py", beside / "mine.py"], tmp_path / "links")
    script = "import importlib.util, mine, taken; print(mine.NAME, taken.NAME, importlib.util.find_spec('secret'))"
    said = subprocess.run([sys.executable, "-c", script], env=seen, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert said.stdout == "mine first None\n", said.stderr


def test_without_imports_the_variables_are_as_they_were(tmp_path):
    assert with_imports(VARIABLES, [], tmp_path / "links") is VARIABLES
