"""Containers of the pinned environment: what images are made from, and what a container may and may not do."""

import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fixturegen.containers import STUBS_INSIDE, ContainerRuntime, Mount
from fixturegen.containers.container import OWNER_LABEL
from fixturegen.containers.engine import Engine
from fixturegen.containers.image import Recipe, default_base, find_dockerfile
from fixturegen.containers.wheelhouse import Wheelhouse
from fixturegen.docker_environment import _stub_mounts
from fixturegen.environment import open_environment
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.venv import STUBS_FOLDER, STUBS_VARIABLE
from wire.release import Release

REAL_PYTHON = sys.executable
RELEASE = "9.8.7"
REQUIREMENTS = "torch==1.0\nnumpy==2.0\n"
NOTHING_REQUIRED = "# lmcache of these tests needs nothing\n"

FAKE_PIP = """
import json, os, pathlib, re, sys
with open(os.environ["FAKE_PIP_LOG"], "a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
if os.environ.get("FAKE_PIP_SAYS"):
    print(os.environ["FAKE_PIP_SAYS"], file=sys.stderr)
    raise SystemExit(1)
folder = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
folder.mkdir(exist_ok=True)
what = sys.argv[-1]
wanted = [what] if "==" in what else pathlib.Path(what).read_text().splitlines()
for line in wanted:
    (folder / (line.replace("==", "-") + "-py3-none-any.whl")).write_text(line)
"""

ECHO_SERVER = """
import socket, sys
with socket.create_server((sys.argv[1], int(sys.argv[2]))) as listener:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(connection.recv(100))
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def wheel_of_release(folder, release=RELEASE):
    """A wheel like those of lmcache: a server that gives back what it gets, and kernels that do not load."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"lmcache-{release}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("lmcache/__init__.py", f"release = {release!r}")
        archive.writestr("lmcache/v1/server.py", ECHO_SERVER)
        archive.writestr("lmcache/c_ops.py", "raise ImportError('libcudart.so.12: cannot open shared object file')")
    return path


# An engine that is not there, or is one in name only.


@pytest.fixture
def docker_command(tmp_path, monkeypatch):
    """A docker command that writes down its calls, so that the one of this machine is not needed."""
    folder = tmp_path / "bin"
    script(
        folder / "docker", f'#!/bin/sh\nenv > {tmp_path}/docker.env\nprintf "%s\\n" "$@" > {tmp_path}/docker.argv\n$FAKE_DOCKER\n'
    )
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def answering(docker_command, monkeypatch):
    """Starts an engine that knows of no image and no container, and says of itself what the test wants."""
    with contextlib.ExitStack() as stack:

        def start(**info):
            class Answers(BaseHTTPRequestHandler):
                def do_GET(self):
                    path = re.sub(r"^/v[0-9.]+", "", self.path).partition("?")[0]
                    known = {"/version": {"ApiVersion": "1.43"}, "/_ping": "OK", "/info": info, "/containers/json": []}
                    body = json.dumps(known.get(path, {"message": f"No such image: {path}"})).encode()
                    self.send_response(200 if path in known else 404)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_):
                    pass

            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Answers))
            threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
            stack.callback(server.shutdown)
            monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")

        yield start


@pytest.mark.parametrize("runtime", [ContainerRuntime, lambda: open_environment("docker")])
def test_a_dead_engine_is_unavailable_with_its_address_and_what_to_do(docker_command, monkeypatch, runtime):
    address = f"unix://{docker_command}/nobody.sock"
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(EnvironmentUnavailable) as caught:
        runtime()
    message = str(caught.value)
    assert message.startswith(f"no container engine answers at {address} (")
    assert message.endswith("start one, set DOCKER_HOST, or run the command through .ci/with-docker-engine")


@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:1"])
def test_an_address_that_leads_nowhere_is_unavailable_by_name(docker_command, monkeypatch, address):
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(EnvironmentUnavailable, match=f"no container engine answers at {address} "):
        Engine()


def test_without_a_docker_command_nothing_can_be_built(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentUnavailable, match=r"there is no `docker` command.*install Docker's command line"):
        Engine()


def test_an_engine_on_an_architecture_without_wheels_is_unavailable(answering):
    answering(Architecture="riscv64")
    with pytest.raises(EnvironmentUnavailable, match="runs on riscv64; wheels are known for aarch64, x86_64"):
        Engine()


@pytest.mark.parametrize(("says", "means"), [("x86_64", "x86_64"), ("amd64", "x86_64"), ("arm64", "aarch64")])
def test_architectures_of_engines_are_those_of_wheels(answering, says, means):
    answering(Architecture=says)
    engine = Engine()
    engine.close()
    assert engine.architecture == means


def test_an_engine_elsewhere_does_not_share_our_loopback(answering):
    answering(Architecture="x86_64")
    engine = Engine()
    engine.close()
    assert not engine.shares_loopback


def test_offline_an_image_that_is_not_there_is_not_built(answering, tmp_path):
    answering(Architecture="x86_64")
    runtime = ContainerRuntime(requirements=NOTHING_REQUIRED, cache=tmp_path, offline=True)
    with (
        runtime,
        pytest.raises(EnvironmentUnavailable, match=r"no image lmconform/lmcache:9\.8\.7-\w+ yet, and nothing.*offline"),
    ):
        runtime.image(RELEASE)
    assert not (tmp_path / "docker.argv").exists()


def build(tmp_path, **settings):
    """Ask for an image of an engine that has none; the fake docker command then makes none either."""
    wheel = wheel_of_release(tmp_path / "index")
    with ContainerRuntime(cache=tmp_path, release_wheel=lambda _: wheel, **settings) as runtime:
        runtime.image(RELEASE)


def test_a_build_has_no_network_and_the_engine_base_and_release_that_were_asked_for(answering, pip, monkeypatch, tmp_path):
    answering(Architecture="x86_64")
    monkeypatch.setenv("DOCKER_CONTEXT", "another")
    with pytest.raises(EnvironmentUnavailable, match="could not inspect"):
        build(tmp_path, requirements=REQUIREMENTS, base_image="python:made-here")
    argv = (tmp_path / "docker.argv").read_text().splitlines()
    assert argv[0] == "build"
    assert argv[argv.index("--network") + 1] == "none"
    assert argv[argv.index("--file") + 1] == str(find_dockerfile())
    assert re.fullmatch(r"lmconform/lmcache:9\.8\.7-[0-9a-f]{12}", argv[argv.index("--tag") + 1])
    assert {"BASE_IMAGE=python:made-here", "LMCACHE_VERSION=9.8.7"} <= set(argv)
    assert (Path(argv[-1]) / "requirements.txt").read_text() == REQUIREMENTS
    variables = (tmp_path / "docker.env").read_text()
    assert f"DOCKER_HOST={os.environ['DOCKER_HOST']}\n" in variables
    assert "DOCKER_BUILDKIT=1\n" in variables
    assert "DOCKER_CONTEXT" not in variables


def test_a_build_that_fails_is_unavailable_with_its_last_words(answering, pip, monkeypatch, tmp_path):
    answering(Architecture="x86_64")
    monkeypatch.setenv("FAKE_DOCKER", str(script(tmp_path / "fails", "#!/bin/sh\necho 'RUN pip: no space left' >&2; exit 1")))
    with pytest.raises(
        EnvironmentUnavailable, match=r"(?s)building lmconform/lmcache:.* failed; its last words:\n    RUN pip: no sp"
    ):
        build(tmp_path, requirements=REQUIREMENTS)


def test_a_docker_command_without_buildkit_is_named_as_the_reason(answering, pip, monkeypatch, tmp_path):
    answering(Architecture="x86_64")
    says = "ERROR: BuildKit is enabled but the buildx component is missing or broken."
    monkeypatch.setenv("FAKE_DOCKER", str(script(tmp_path / "fails", f"#!/bin/sh\necho '{says}' >&2; exit 1")))
    with pytest.raises(EnvironmentUnavailable, match="failed: this docker command has no BuildKit: install its buildx plugin"):
        build(tmp_path, requirements=REQUIREMENTS)


# What an image is named after.


@pytest.fixture
def recipe(tmp_path):
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("ARG BASE_IMAGE=python:3.11-slim\nFROM ${BASE_IMAGE}\n")
    return Recipe(dockerfile, REQUIREMENTS, "python:3.11-slim")


def test_the_name_of_an_image_is_the_same_in_every_process_and_place(recipe):
    assert recipe.reference("0.5.6", "x86_64") == "lmconform/lmcache:0.5.6-8ba47380ec1f"


def test_the_name_of_an_image_follows_the_dockerfile(recipe):
    before = recipe.reference("0.5.6", "x86_64")
    recipe.dockerfile.write_text(recipe.dockerfile.read_text() + "RUN true\n")
    assert recipe.reference("0.5.6", "x86_64") != before


def test_the_name_of_an_image_follows_requirements_base_release_and_architecture(recipe):
    made = {
        recipe.reference("0.5.6", "x86_64"),
        recipe.reference("0.5.5", "x86_64"),
        recipe.reference("0.5.6", "aarch64"),
        Recipe(recipe.dockerfile, "numpy==2.1\n", recipe.base).reference("0.5.6", "x86_64"),
        Recipe(recipe.dockerfile, recipe.requirements, "python:made-here").reference("0.5.6", "x86_64"),
    }
    assert len(made) == 5


@pytest.mark.parametrize("release", ["0.3.9.post1", "1!0.5.6", "0.5.6+local.1", "0.6.0rc1"])
def test_every_release_makes_a_name_that_docker_accepts(recipe, release):
    tag = recipe.reference(release, "x86_64").rpartition(":")[2]
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", tag)


@pytest.mark.parametrize("release", ["", "../0.5.6", "0.5.6 --privileged", "0.5.6\n"])
def test_what_is_no_release_is_refused(recipe, release):
    with pytest.raises(EnvironmentUnavailable, match=r"is not a release of lmcache; give one such as 0\.5\.6"):
        recipe.reference(release, "x86_64")


def test_a_dockerfile_that_is_not_there_is_unavailable_by_name(tmp_path):
    with pytest.raises(
        EnvironmentUnavailable, match=rf"cannot read {tmp_path}/Dockerfile, which the image is built from: No such"
    ):
        Recipe(tmp_path / "Dockerfile", REQUIREMENTS, "base").reference("0.5.6", "x86_64")


def test_a_dockerfile_without_a_default_base_is_unavailable_by_name(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    with pytest.raises(EnvironmentUnavailable, match=rf"{tmp_path}/Dockerfile names no default for BASE_IMAGE"):
        default_base(tmp_path / "Dockerfile")


def test_the_dockerfile_of_this_distribution_has_a_base_and_the_stubs_first_on_its_path():
    assert default_base(find_dockerfile()).startswith("python:3.11")
    assert re.search(rf"PYTHONPATH={STUBS_INSIDE}:", find_dockerfile().read_text())


@pytest.mark.parametrize(("release", "mounts"), [("0.3.4", [Mount(STUBS_FOLDER, STUBS_INSIDE)]), ("0.5.6", [])])
def test_stubs_are_mounted_for_a_release_that_needs_them(release, mounts):
    assert _stub_mounts(Release.parse(release)) == mounts


# What it is built from.


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """A reader of the calls of pip so far; it is not the real one, and makes a wheel for every requirement."""
    fake = tmp_path / "fake" / "pip.py"
    monkeypatch.setattr(
        sys, "executable", str(script(tmp_path / "fake" / "python", f'#!/bin/sh\nexec {shlex.quote(REAL_PYTHON)} {fake} "$@"\n'))
    )
    fake.write_text(FAKE_PIP)
    log = tmp_path / "fake" / "pip.log"
    monkeypatch.setenv("FAKE_PIP_LOG", str(log))
    return lambda: [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def wheelhouse(tmp_path, pip):
    return Wheelhouse(tmp_path / "cache", REQUIREMENTS, "x86_64")


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_wheelhouse_is_kept_per_requirement_set_and_architecture(tmp_path):
    kept = {
        Wheelhouse(tmp_path, requirements, architecture).path
        for requirements in (REQUIREMENTS, NOTHING_REQUIRED)
        for architecture in ("x86_64", "aarch64")
    }
    assert len(kept) == 4
    assert Wheelhouse(tmp_path, REQUIREMENTS, "x86_64", pip_arguments=["--pre"]).path in kept


def test_a_build_context_has_the_requirements_their_wheels_and_the_release(wheelhouse):
    context = wheelhouse.context("0.5.6")
    assert context == wheelhouse.path
    assert files_in(context) == [
        "release/lmcache-0.5.6-py3-none-any.whl",
        "requirements.txt",
        "wheels/numpy-2.0-py3-none-any.whl",
        "wheels/torch-1.0-py3-none-any.whl",
    ]
    assert (context / "requirements.txt").read_text() == REQUIREMENTS


def test_what_every_release_needs_is_downloaded_once(wheelhouse, pip):
    wheelhouse.context("0.5.6")
    wheelhouse.context("0.5.5")
    assert wheelhouse.context("0.5.6") == wheelhouse.path
    assert [call[-1] for call in pip()][1:] == ["lmcache==0.5.6", "lmcache==0.5.5"]
    assert len(list((wheelhouse.path / "release").iterdir())) == 2


def test_downloads_fit_the_image_and_not_the_interpreter_that_asks(wheelhouse, pip):
    wheelhouse.context("0.5.6")
    for call in pip():
        assert {"download", "--no-deps", "--only-binary=:all:", "manylinux_2_28_x86_64"} <= set(call)
        assert call[call.index("--python-version") + 1] == "3.11"
        assert "manylinux_2_39_x86_64" not in call


def test_further_arguments_reach_every_download(tmp_path, pip):
    Wheelhouse(tmp_path, REQUIREMENTS, "x86_64", pip_arguments=["--pre"]).context("0.5.6")
    assert all("--pre" in call for call in pip())


def test_a_wheel_that_is_at_hand_is_copied_and_not_downloaded(tmp_path, pip):
    wheel = wheel_of_release(tmp_path / "index")
    context = Wheelhouse(tmp_path / "cache", REQUIREMENTS, "x86_64", release_wheel=lambda _: wheel).context(RELEASE)
    assert (context / "release" / wheel.name).read_bytes() == wheel.read_bytes()
    assert len(pip()) == 1


@pytest.mark.parametrize(
    ("says", "means"),
    [
        (
            "ERROR: No matching distribution found for torch==2.13.0+cpu",
            r"torch==2\.13\.0\+cpu is not at hand: .*PIP_EXTRA_INDEX_URL",
        ),
        (
            "ERROR: No matching distribution found for nvtx==9",
            r"no wheel of nvtx==9 for Python 3\.11 on x86_64 .*check the version",
        ),
        ("python: No module named pip", "has no pip to download wheels with: run `.* -m ensurepip`"),
        ("ERROR: the disk is full", r"downloading what lmcache needs failed; its last words:\n    ERROR: the disk is full"),
    ],
)
def test_a_failed_download_says_why_and_leaves_nothing(wheelhouse, monkeypatch, says, means):
    monkeypatch.setenv("FAKE_PIP_SAYS", says)
    with pytest.raises(EnvironmentUnavailable, match=f"(?s){means}"):
        wheelhouse.context("0.5.6")
    assert files_in(wheelhouse.path.parent) == [wheelhouse.path.with_suffix(".lock").name]


def test_a_release_that_could_not_be_fetched_does_not_cost_the_wheels_of_the_others(wheelhouse, monkeypatch, pip):
    wheelhouse.context("0.5.6")
    monkeypatch.setenv("FAKE_PIP_SAYS", "ERROR: No matching distribution found for lmcache==99")
    with pytest.raises(EnvironmentUnavailable, match="no wheel of lmcache==99"):
        wheelhouse.context("99")
    assert wheelhouse.context("0.5.6") == wheelhouse.path


def test_a_cache_that_cannot_be_written_is_unavailable_by_name(tmp_path, pip):
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentUnavailable, match=rf"cannot write to {tmp_path}/file, where environments are kept"):
        Wheelhouse(tmp_path / "file", REQUIREMENTS, "x86_64").context("0.5.6")


# With an engine: a release of these tests, small enough to be built in seconds by the real Dockerfile.


@pytest.fixture(scope="module")
def settings(engine, tmp_path_factory):
    """How to open a runtime; its one image, which no other process uses, is removed from the engine in the end."""
    folder = tmp_path_factory.mktemp("containers")
    wheel = wheel_of_release(folder / "index")
    made = {"requirements": f"{NOTHING_REQUIRED}# process {os.getpid()}\n", "cache": folder, "release_wheel": lambda _: wheel}
    with ContainerRuntime(**made) as runtime:
        reference = runtime.image(RELEASE).reference
        yield made
        runtime._engine.client.images.remove(reference, force=True)


@pytest.fixture
def runtime(settings):
    with ContainerRuntime(**settings) as runtime:
        yield runtime


def ours(runtime):
    """The containers of this process, running or not."""
    label = f"{OWNER_LABEL}={socket.gethostname()}:{os.getpid()}"
    return runtime._engine.client.containers.list(all=True, filters={"label": label})


def python(code):
    return ["python3", "-c", code]


@pytest.mark.docker
def test_a_run_gives_both_streams_and_the_status(runtime):
    done = runtime.run(RELEASE, python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), timeout=60)
    assert (done.stdout, done.stderr, done.code) == ("out\n", "err\n", 3)
    assert ours(runtime) == []


@pytest.mark.docker
def test_a_run_has_the_release_its_input_its_variables_and_its_mounts(runtime, tmp_path):
    (tmp_path / "file").write_text("mounted")
    code = "import lmcache, os, sys; print(lmcache.release, sys.stdin.read(), os.environ['WORD'], open('/run/file').read())"
    mounts = [Mount(tmp_path / "file", "/run/file")]
    done = runtime.run(RELEASE, python(code), mounts=mounts, env={"WORD": "told"}, stdin="givén", timeout=60)
    assert done.stdout == "9.8.7 givén told mounted\n"


@pytest.mark.docker
def test_a_mount_that_does_not_exist_is_unavailable_by_name(runtime, tmp_path):
    with pytest.raises(EnvironmentUnavailable, match=rf"{tmp_path}/nothing is to be mounted at /run/x and does not exist"):
        runtime.run(RELEASE, ["true"], mounts=[Mount(tmp_path / "nothing", "/run/x")])


@pytest.mark.docker
def test_a_run_runs_as_who_calls_and_can_write_nothing_but_scratch(runtime):
    code = "import os; print(os.getuid(), os.access('/opt', os.W_OK)); open('/tmp/x', 'w'); open('/usr/x', 'w')"
    done = runtime.run(RELEASE, python(code), timeout=60)
    assert done.stdout == f"{0 if runtime._engine.rootless else os.getuid()} False\n"
    assert "Read-only file system: '/usr/x'" in done.stderr


@pytest.mark.docker
def test_a_run_that_takes_too_long_is_stopped_and_its_container_is_gone(runtime):
    started = time.monotonic()
    with pytest.raises(EnvironmentUnavailable, match=r"(?s)did not end within 2 s: give it more time.*last words:\n    waiting"):
        runtime.run(RELEASE, ["sh", "-c", "echo waiting; exec sleep 600"], timeout=2)
    assert time.monotonic() - started < 20
    assert ours(runtime) == []


@pytest.mark.docker
def test_a_run_that_wants_too_much_memory_says_so(settings):
    with ContainerRuntime(**settings, memory="64m") as small:
        with pytest.raises(EnvironmentUnavailable, match="met the memory limit of 64m: raise `memory`"):
            small.run(RELEASE, python("b'x' * 500_000_000"), timeout=60)
        assert ours(small) == []


@pytest.mark.docker
def test_a_run_reaches_neither_a_network_nor_this_machine(runtime):
    code = """
import errno, socket, sys
for address in (("192.0.2.1", 80), ("127.0.0.1", int(sys.argv[1]))):
    with socket.socket() as outward:
        outward.settimeout(20)
        print(errno.errorcode.get(outward.connect_ex(address)))
"""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = runtime.run(RELEASE, [*python(code), str(listener.getsockname()[1])], timeout=60)
    assert done.stdout.split() == ["ENETUNREACH", "ECONNREFUSED"]


@pytest.mark.docker
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize("network", [None, "host", "published"])
def test_a_server_is_reached_on_its_address_and_gone_afterwards(runtime, network, address):
    if network == "host" and not runtime._engine.shares_loopback:
        pytest.skip("this engine does not share the loopback of this machine")
    with runtime.server(RELEASE, network=network, address=address, ready_within=60) as server:
        assert server.host == address
        with socket.create_connection((server.host, server.port), timeout=20) as connection:
            connection.sendall(b"hello")
            assert connection.recv(100) == b"hello"
        assert server.alive()
    assert ours(runtime) == []
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((server.host, server.port), timeout=20)


@pytest.mark.docker
def test_a_server_is_gone_after_a_failure_too(runtime):
    with pytest.raises(ZeroDivisionError), runtime.server(RELEASE, ready_within=60):
        raise ZeroDivisionError
    assert ours(runtime) == []


@pytest.mark.docker
def test_a_server_that_ends_at_once_is_unavailable_with_its_last_words(runtime):
    argv = python("import sys; sys.exit('no such model')")
    with pytest.raises(EnvironmentUnavailable, match=r"(?s)ended with status 1 before it listened.*\n    no such model"):
        runtime.server(RELEASE, argv).__enter__()
    assert ours(runtime) == []


@pytest.mark.docker
def test_a_server_that_never_listens_is_unavailable(runtime):
    argv = python("import signal; signal.pause()")
    with pytest.raises(EnvironmentUnavailable, match=r"does not listen on port \d+ after 1 s"):
        runtime.server(RELEASE, argv, ready_within=1).__enter__()
    assert ours(runtime) == []


@pytest.mark.docker
def test_a_stub_takes_the_place_of_a_module_of_the_release(runtime):
    code = "import lmcache.c_ops; print('imported')"
    without = runtime.run(RELEASE, python(code), timeout=60)
    stubs = {"mounts": [Mount(STUBS_FOLDER, STUBS_INSIDE)], "env": {STUBS_VARIABLE: "lmcache.c_ops"}}
    assert "libcudart" in without.stderr
    assert runtime.run(RELEASE, python(code), **stubs, timeout=60).stdout == "imported\n"


@pytest.mark.docker
def test_an_image_is_used_again_in_less_than_a_second(settings, tmp_path):
    started = time.monotonic()
    with ContainerRuntime(**{**settings, "cache": tmp_path}, offline=True) as another:
        assert another.image(RELEASE).image_id.startswith("sha256:")
    assert time.monotonic() - started < 1


@pytest.mark.docker
def test_a_container_whose_process_was_killed_is_removed_by_the_next_runtime(runtime, settings):
    ended = subprocess.Popen(["true"])
    ended.wait()
    client = runtime._engine.client
    label = {OWNER_LABEL: f"{socket.gethostname()}:{ended.pid}"}
    left = client.containers.run(runtime.image(RELEASE).image_id, ["sleep", "60"], labels=label, network_mode="none", detach=True)
    ContainerRuntime(**settings).close()
    assert left.id not in {container.id for container in client.containers.list(all=True, ignore_removed=True)}
