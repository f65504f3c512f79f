"""Clients in containers: what they see, what they reach, what becomes of them, and what is told about those that do not start."""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from docker.errors import ImageNotFound, NotFound
from waiting import wait_until

from fixturegen.containers.container import OWNER_LABEL
from fixturegen.containers.engine import Engine
from fixturegen.containers.image import default_base, find_dockerfile
from harness.client import Budget, ClientCrash, ClientFailure, ClientHang, ClientTooLarge, ClientUnavailable, Ok
from harness.clients.container import ContainerEnded, ContainerSpec, parse_container
from harness.clients.spec import may_kill, meeting_address, open_client, runs_inside
from harness.failure import TargetUnavailable

ROOT = Path(__file__).resolve().parents[3]
BASE = default_base(find_dockerfile())
KEY = {"world_size": 1, "worker_id": 0, "chunk_hash": {"int": "1"}, "dtype": None, "fmt": None, "layer": None, "tags": []}

ADAPTER = """
import json, os, socket, sys
hello = {"name": "looks-around", "version": "1", "language": "Python", "operations": ["format_key"], "releases": ["*"]}
def connects(host, port):
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError as error:
        return type(error).__name__
    return "connected"
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "hello":
        scratch = request["args"]["scratch"]
    ok = {"hello": hello, "format_key": {}, "bye": {}}[request["op"]]
    if request["op"] == "format_key":
        ok = {"text": str(eval(request["args"]["key"]["model"]))}
    print(json.dumps({"id": request["id"], "ok": ok}), flush=True)
    if request["op"] == "bye":
        break
"""
"""Answers what an expression amounts to in its container: the model of a key to format."""


# How they are written.


def test_the_words_behind_docker_are_options_an_image_and_its_command():
    text = "--network host --cpus=0.5 --env A=b=c --env D= --entrypoint /bin/x --writable mine:1 run --fast 'two words'"
    assert parse_container(text) == ContainerSpec(
        image="mine:1",
        command=("run", "--fast", "two words"),
        entrypoint="/bin/x",
        network="host",
        cpus=0.5,
        variables={"A": "b=c", "D": ""},
        writable=True,
    )


def test_an_image_alone_keeps_its_own_command_and_has_no_way_out():
    assert parse_container(" mine ") == ContainerSpec(image="mine", command=None, network="internal")


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "docker: needs an image; write docker:"),
        ("--writable", "docker: needs an image"),
        ("'open", "cannot split the command"),
        ("--privileged mine", "docker: has no option --privileged; write docker:[--network NAME]"),
        ("--writable=yes mine", "docker: has no option --writable"),
        ("--network", "--network needs a value"),
        ("--network bridge mine", "--network 'bridge' of docker: is not known; expected one of internal, none, host"),
        ("--cpus many mine", "--cpus 'many' of docker: expected a number of processors"),
        ("--cpus nan mine", "--cpus 'nan' of docker: expected a number of processors"),
        ("--cpus -1 mine", "--cpus '-1' of docker: expected a number of processors"),
        ("--env A mine", "--env 'A' of docker: expected NAME=VALUE"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_sentence(text, fragment):
    with pytest.raises(ClientUnavailable) as caught:
        open_client(f"docker:{text}")
    assert str(caught.value).startswith(fragment)


def test_without_an_engine_there_is_no_client_and_the_address_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    fake = tmp_path / "docker"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ClientUnavailable, match=f"no container engine answers at unix://{tmp_path}/nobody.sock"):
        open_client("docker:mine")


def test_a_client_in_a_container_takes_nothing_along_when_it_dies():
    assert not runs_inside("docker:mine")
    assert not may_kill("docker:mine")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exit status 0"),
        (3, "exit status 3"),
        (139, "exit status 139, which stands for signal SIGSEGV"),
        (255, "exit status 255"),
    ],
)
def test_a_status_that_stands_for_a_signal_says_so(status, words):
    assert str(ContainerEnded(status)) == words


# With an engine.


def described(code, options=""):
    return f"docker:{options} {BASE} python3 -c '{code}'"


@contextlib.contextmanager
def started(options="", **budget):
    session = open_client(described(ADAPTER, options), budget=Budget(**budget))
    try:
        yield session
    finally:
        session.stop()


def seen(session, expression, deadline=20.0):
    answer = session.call("format_key", {"release": "0.5.6", "key": {"model": expression, **KEY}}, deadline=deadline)
    assert isinstance(answer, Ok), answer
    return answer.values["text"]


@pytest.fixture(scope="module")
def engine_with_image(engine_here):
    """An engine that has the image which these clients run in."""
    with contextlib.closing(Engine()) as connected:
        try:
            connected.client.images.get(BASE)
        except ImageNotFound:
            connected.client.images.pull(BASE)


@pytest.fixture(scope="module")
def inside(engine_with_image):
    """Asks a client in a container, with nothing special about it, for an expression."""
    with started() as session:
        yield lambda expression: seen(session, expression)


@pytest.fixture
def client(engine_with_image):
    with contextlib.closing(Engine()) as connected:
        yield connected.client


def ours(client, pid=None):
    """Containers of a process, running or not."""
    label = f"{OWNER_LABEL}={socket.gethostname()}:{pid or os.getpid()}"
    return {found.id for found in client.containers.list(all=True, filters={"label": label}, ignore_removed=True)}


@pytest.mark.docker
def test_it_has_no_privileges_and_leaves_files_that_are_ours(inside):
    status = inside("open('/proc/self/status').read()")
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert inside("os.getuid()") == str(os.getuid())
    assert inside("os.getpid() > 1 and 'init' in open('/proc/1/cmdline').read()") == "True"


@pytest.mark.docker
def test_it_writes_to_its_scratch_directory_and_to_tmp_and_nowhere_else(inside):
    assert inside("open(scratch + '/x', 'w').write('abc')") == "3"
    assert inside("open(os.environ['HOME'] + '/x', 'w').write('abc')") == "3"
    assert inside("os.environ['HOME']") == "/tmp"
    assert inside("os.statvfs('/').f_flag & os.ST_RDONLY") == "1"


@pytest.mark.docker
def test_it_reaches_servers_at_the_meeting_address_and_neither_loopback_nor_a_network(inside):
    address = meeting_address(f"docker:{BASE}")
    with socket.create_server((address, 0)) as meeting, socket.create_server(("127.0.0.1", 0)) as private:
        assert inside(f"connects({address!r}, {meeting.getsockname()[1]})") == "connected"
        assert inside(f"connects('127.0.0.1', {private.getsockname()[1]})") == "ConnectionRefusedError"
        assert inside(f"connects({address!r}, {private.getsockname()[1]})") == "ConnectionRefusedError"
    assert inside("connects('192.0.2.1', 80)") in {"TimeoutError", "OSError"}
    assert inside("connects('example.org', 80)") == "gaierror"


@pytest.mark.docker
def test_options_change_what_it_has_and_reaches(engine_with_image):
    address = meeting_address(f"docker:{BASE}")
    with (
        socket.create_server((address, 0)) as meeting,
        started("--network none --cpus 0.5 --env WORD=told --writable") as session,
    ):
        assert seen(session, f"connects({address!r}, {meeting.getsockname()[1]})") == "OSError"
        assert seen(session, "os.environ['WORD']") == "told"
        assert seen(session, "os.statvfs('/').f_flag & os.ST_RDONLY") == "0"


@pytest.mark.docker
def test_on_the_network_of_this_machine_it_reaches_loopback(engine_with_image):
    with socket.create_server(("127.0.0.1", 0)) as private, started("--network host") as session:
        assert meeting_address(f"docker:--network host {BASE}") == "127.0.0.1"
        assert seen(session, f"connects('127.0.0.1', {private.getsockname()[1]})") == "connected"


@pytest.mark.docker
def test_its_container_is_gone_when_the_session_is(client):
    before = ours(client)
    with started() as session:
        assert len(ours(client) - before) == 1
    assert session.exit_status == 0
    assert ours(client) == before


@pytest.mark.docker
def test_a_crash_and_a_hang_are_told_as_for_a_process_and_a_fresh_container_follows(client):
    before = ours(client)
    with started() as session:
        with pytest.raises(ClientCrash, match="the process ended with exit status 3"):
            seen(session, "os._exit(3)")
        with pytest.raises(ClientCrash, match="the process ended with exit status 139, which stands for signal SIGSEGV"):
            seen(session, "os.kill(os.getpid(), 11)")
        with pytest.raises(ClientHang, match=r"no answer within 0\.5 s"):
            seen(session, "__import__('time').sleep(600)", deadline=0.5)
        assert ours(client) == before
        assert seen(session, "1 + 1") == "2"
        assert session.starts == 4


@pytest.mark.docker
def test_what_it_wrote_to_standard_error_is_kept(engine_with_image):
    with started() as session:
        with pytest.raises(ClientCrash) as caught:
            seen(session, "sys.exit('out of ideas')")
        assert 'last line on standard error: "out of ideas"' in str(caught.value)


@pytest.mark.docker
@pytest.mark.parametrize(
    "where", ["b'x' * (200 << 20)", "open(scratch + '/x', 'wb').write(b'x' * (50 << 20)) + len(b'y' * (40 << 20))"]
)
def test_more_memory_than_the_limit_is_the_end_of_it_files_included(engine_with_image, where):
    with started(memory=64 << 20) as session:
        with pytest.raises(ClientTooLarge, match="the client used more than 67108864 bytes of memory and was killed"):
            seen(session, where)
        assert seen(session, "1 + 1") == "2"


@pytest.mark.docker
def test_a_container_that_somebody_else_removed_is_not_held_against_the_client(client):
    before = ours(client)
    with started() as session:
        (container,) = ours(client) - before
        client.containers.get(container).remove(force=True)
        with pytest.raises(TargetUnavailable, match=f"somebody else removed a container of {BASE} while it was used"):
            seen(session, "1 + 1")


@pytest.mark.docker
def test_an_image_that_is_not_there_is_not_pulled(engine_with_image):
    with pytest.raises(ClientUnavailable) as caught:
        open_client("docker:nobody/has-this:1")
    assert "has no image nobody/has-this:1" in str(caught.value)
    assert "run `docker pull nobody/has-this:1` first" in str(caught.value)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("spec", "fragment"),
    [
        (f"docker:{BASE} no-such-command", "hello: the process ended with exit status 127"),
        (f"docker:{BASE} no-such-command", "exec no-such-command failed: No such file or directory"),
        (f"docker:{BASE} /etc/passwd", "exec /etc/passwd failed: Permission denied"),
        (f"docker:--cpus 100000 {BASE}", "--cpus 100000 of docker: the container engine has "),
    ],
)
def test_what_cannot_be_run_in_it_is_told(client, spec, fragment):
    before = ours(client)
    with pytest.raises(ClientFailure) as caught:
        open_client(spec)
    assert fragment in str(caught.value)
    assert ours(client) == before


@pytest.mark.docker
def test_a_program_that_ends_at_once_is_a_crash_at_hello_with_its_last_words(engine_with_image):
    with pytest.raises(ClientCrash) as caught:
        open_client(described('import sys; sys.exit("no model")'))
    assert "hello: the process ended with exit status 1" in str(caught.value)
    assert 'last line on standard error: "no model"' in str(caught.value)


@pytest.mark.docker
def test_a_container_of_a_process_that_is_killed_is_removed(client):
    script = (
        "import sys; from harness.clients.spec import open_client; client = open_client(sys.argv[1]);"
        "print('started', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, described(ADAPTER)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout.readline() == "started\n"
        (container,) = ours(client, process.pid)
        process.kill()
    wait_until(lambda: not ours(client, process.pid), lambda: "the container is still there")
    with pytest.raises(NotFound):
        client.containers.get(container)
