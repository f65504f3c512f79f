"""Starting and stopping leaves nothing behind, and neither does a crash."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zmq
from waiting import wait_until

from mockserver.door import PortInUseError, RemoteHostError
from mockserver.mp import MpServer
from mockserver.mp.leash import PREFIX, SEGMENTS, sweep
from wire.mp.values import pack

CHILD = """
import signal, sys
from mockserver.mp import MpServer
server = MpServer("0.5.6").start()
print(server.shm_name, flush=True)
signal.pause()
"""


def threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mock-mp")]


def descriptors():
    gc.collect()
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def segments():
    return {path.name for path in SEGMENTS.glob(f"{PREFIX}{os.getpid()}-*")}


def test_a_server_leaves_nothing_behind(dial):
    before = len(descriptors())
    for _ in range(3):
        with MpServer("0.5.6") as server:
            client = dial(server)
            assert client.alive()
            client.close()
            assert segments() == {server.shm_name}
            assert len(threads()) == 3
    assert (segments(), threads()) == (set(), [])
    assert len(descriptors()) <= before + 2  # what zmq keeps of the client


def test_stop_may_be_called_before_the_start_and_twice():
    server = MpServer("0.4.7")
    server.stop()
    server.start()
    server.stop()
    server.stop()
    with pytest.raises(RuntimeError, match="start"):
        _ = server.address


def test_a_server_does_not_start_twice():
    with MpServer("0.4.7") as server, pytest.raises(RuntimeError, match="runs already"):
        server.start()


def test_a_dead_server_can_be_stopped_and_restarted(start, dial):
    server = start("0.5.5")
    client = dial(server)
    client.raw(b"1")
    server.journal.wait_for(lambda journal: journal.death)
    server.restart()
    assert dial(server).alive()


def test_a_client_reconnects_by_itself_after_a_restart(start, dial):
    server = start()
    client = dial(server)
    assert client.alive()
    server.restart()
    assert client.ask("NOOP") == "OK"


def test_a_restart_that_does_not_forget_keeps_the_objects(stocked, key):
    stocked.server.restart(forget=False)
    assert stocked.lookup(key(2)) == 2


def test_a_port_that_is_taken_is_refused_and_nothing_stays():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(PortInUseError, match=str(taken.getsockname()[1])):
        MpServer("0.5.6", port=taken.getsockname()[1]).start()
    assert (segments(), threads()) == (set(), [])


def test_an_address_that_others_reach_needs_permission():
    with pytest.raises(RemoteHostError):
        MpServer("0.5.6", host="0.0.0.0").start()  # refused, which is the point
    assert segments() == set()


@pytest.mark.parametrize("wrong", [{"chunk_size": 0}, {"pool_size": 1}, {"mode": "gpu"}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MpServer("0.5.6", **wrong)


@pytest.mark.parametrize("group", [False, True])
def test_the_pool_is_gone_after_a_crash(group):
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        path = SEGMENTS / process.stdout.readline().strip()
        assert path.exists()
        (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
    wait_until(lambda: not path.exists(), lambda: f"{path} is still there")


def test_what_a_dead_process_left_is_swept_and_what_a_living_one_has_is_not():
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True)
    left, kept = SEGMENTS / f"{PREFIX}{dead.stdout.strip()}-0123", SEGMENTS / f"{PREFIX}{os.getpid()}-0123"
    try:
        left.touch()
        kept.touch()
        assert left.name in sweep()
        assert kept.exists()
        assert not left.exists()
    finally:
        left.unlink(missing_ok=True)
        kept.unlink(missing_ok=True)


def test_two_servers_have_pools_of_their_own(start):
    assert start().shm_name != start().shm_name


def test_a_pool_that_a_client_removed_is_no_trouble(start):
    server = start()
    (SEGMENTS / server.shm_name).unlink()
    server.stop()
    assert segments() == set()


@pytest.mark.parametrize("release", ["0.5.5", "0.5.6"])
def test_a_client_that_never_reads_does_not_keep_a_server_from_stopping(release):
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        for option, value in ((zmq.LINGER, 0), (zmq.RCVHWM, 1), (zmq.RCVBUF, 4096), (zmq.SNDHWM, 0)):
            socket.setsockopt(option, value)
        with MpServer(release) as server:
            socket.connect(server.url)
            for _ in range(3000):
                socket.send_multipart([bytes(4096), pack(24)])
            server.journal.wait_for(lambda journal: journal.exchange_count > 1000, timeout=30)
    assert threads() == []
