"""``lmconform serve``: a mock in the foreground, from its first line to its end."""

import re
import signal
import socket

import pytest

from fixturegen.mp.server import answers_noop
from fixturegen.server_process import healthy
from mockserver.mp.leash import SEGMENTS
from wire.release import Release

NEWEST = Release.parse("0.5.6")


@pytest.fixture
def serving(start):
    """A started mock: its process and port."""

    def begin(*words):
        process = start("serve", *words)
        line = process.stdout.readline()
        found = re.fullmatch(r"mock of lmcache \S+ listens on lm://127\.0\.0\.1:(\d+)\n", line)
        assert found, line
        return process, int(found[1])

    return begin


def test_it_answers_on_the_port_that_it_prints(serving):
    _, port = serving()
    assert healthy(NEWEST, "127.0.0.1", port)


def test_it_listens_on_the_port_that_was_asked_for(serving):
    with socket.create_server(("127.0.0.1", 0)) as free:
        wanted = free.getsockname()[1]
    assert serving("--port", str(wanted))[1] == wanted


def test_it_speaks_the_release_that_was_asked_for(serving):
    _, port = serving("--lmcache", "0.3.1")
    assert healthy(Release.parse("0.3.1"), "127.0.0.1", port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_and_says_what_it_did(serving, number):
    process, port = serving()
    assert healthy(NEWEST, "127.0.0.1", port)
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 0
    assert out == "stopped after 1 exchanges on 1 connections\n"
    assert err == ""


def test_it_ends_although_a_client_is_still_connected(serving):
    process, port = serving("--fault", "stall")
    with socket.create_connection(("127.0.0.1", port)):
        process.terminate()
        process.communicate(timeout=10)
    assert process.returncode == 0


def test_it_misbehaves_as_told(serving):
    _, port = serving("--fault", "replace-field:name=code,value=400")
    assert not healthy(NEWEST, "127.0.0.1", port)


def test_it_says_that_a_release_is_not_known(start):
    process = start("serve", "--lmcache", "99.0")
    assert "listens on" in process.stdout.readline()
    process.terminate()
    assert "lmcache 99.0 is not known here" in process.communicate(timeout=10)[1]


def test_it_lists_its_faults(command):
    ended = command("serve", "--faults")
    assert ended.code == 0
    for name in ("segments:sizes=...", "delay:seconds=...", "stall[:bytes=0]", "close-after:bytes=...[,reset=false]"):
        assert f"\n{name}" in f"\n{ended.out}"


def test_its_list_shows_each_fault_with_an_example_and_the_keys_that_pick(command):
    ended = command("serve", "--faults")
    for line in ("for example: --fault close-after:bytes=10,reset=true", "connection=3..", "probability=0.1"):
        assert line in ended.out


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("dropreply", "no fault is called 'dropreply' (did you mean drop-reply?)"),
        ("close-after:bytes=bdy", "did you mean body?"),
        ("refuse:nth=1", "only connection= can pick"),
        ("replace-field:name=location,value=1", "replies of this release have no field 'location'"),
    ],
)
def test_a_fault_that_is_not_understood_ends_it_with_one_line(command, fault, words):
    ended = command("serve", "--lmcache", "0.3.1", "--fault", fault)
    assert ended.code == 2
    assert words in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


def test_it_says_where_it_listens_after_a_restart(serving):
    process, port = serving("--fault", "restart:command=HEALTH,nth=1")
    assert healthy(NEWEST, "127.0.0.1", port)
    found = re.fullmatch(r"restarted, listens on lm://127\.0\.0\.1:(\d+)\n", process.stdout.readline())
    assert found
    assert int(found[1]) != port
    assert healthy(NEWEST, "127.0.0.1", int(found[1]))


def test_it_serves_the_multiprocess_server_until_it_is_told_to_stop(start):
    process = start("serve", "--protocol", "mp", "--lmcache", "0.5.5", "--fault", "drop-reply:operation=NOOP,nth=2")
    line = process.stdout.readline()
    found = re.fullmatch(r"mock of lmcache 0\.5\.5 listens on tcp://127\.0\.0\.1:(\d+), its pool is (\S+)\n", line)
    assert found, line
    assert answers_noop(Release.parse("0.5.5"), "127.0.0.1", int(found[1]), 5)
    assert not answers_noop(Release.parse("0.5.5"), "127.0.0.1", int(found[1]), 0.1)
    assert (SEGMENTS / found[2]).exists()
    process.terminate()
    assert process.communicate(timeout=10)[0] == "stopped after 2 exchanges on 2 connections\n"
    assert not (SEGMENTS / found[2]).exists()


def test_it_lists_the_faults_of_the_multiprocess_server(command):
    ended = command("serve", "--protocol", "mp", "--faults")
    assert ended.code == 0
    for name in ("late-reply:seconds=...", "slots-outside[:by=1]", "die[:reply=false]"):
        assert f"\n{name}" in f"\n{ended.out}"


def test_options_of_the_multiprocess_server_are_refused_for_the_other(command):
    ended = command("serve", "--pool-size", "8192")
    assert ended.code == 2
    assert "--protocol mp" in ended.err
