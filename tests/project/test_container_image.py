"""The image of lmconform: built without a network, as the guide says, it judges a mounted adapter; and it can hold a client."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fixturegen.containers.engine import Engine
from fixturegen.containers.image import default_base, find_dockerfile
from fixturegen.lock import locked
from harness.cli.main import main
from harness.runner import RunOptions, run_matrix
from harness.version import TOOL_VERSION
from reports.results import read_results
from reports.verdict import ExitCode, Verdict

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "Dockerfile.lmconform"
IGNORED = (ROOT / "Dockerfile.lmconform.dockerignore").read_text().splitlines()
COPIED = tuple(line.removeprefix("!") for line in IGNORED if line.startswith("!"))
"""What the image is made from, the wheels included."""
ADAPTER = """#!/opt/lmconform/bin/python
import sys
from harness.clients.host import main
sys.exit(main(["harness.reference.lm:ReferenceClient"]))
"""
REFERENCE = "--entrypoint python {image} -m harness.clients.host harness.reference.lm:ReferenceClient"


def test_both_dockerfiles_start_from_the_same_base():
    assert default_base(DOCKERFILE) == default_base(find_dockerfile())


def test_what_the_image_is_made_from_is_what_its_dockerfile_copies():
    words = {word for line in DOCKERFILE.read_text().splitlines() if line.startswith("COPY ") for word in line.split()[1:-1]}
    assert set(COPIED) == {word.replace("[s]", "s") for word in words if not word.startswith(("--", "/"))}


@pytest.fixture(scope="module")
def wheels(engine, shared_folder):
    """The wheelhouse of the guide; it is the same for all processes of these tests, made by the first."""
    folder = shared_folder / "wheels-of-lmconform"
    with locked(shared_folder / "wheels-of-lmconform.lock"):
        if not folder.exists():
            making = shared_folder / "wheels-in-the-making"
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(making), "hatchling", str(ROOT)]
            subprocess.run(command, check=True, timeout=300)
            making.rename(folder)
    return folder


@pytest.fixture(scope="module")
def image(wheels, tmp_path_factory):
    """Its name; the layers of a second process come from the engine's cache."""
    context = tmp_path_factory.mktemp("context")
    for name in COPIED:
        source, target = (wheels if name == "wheels" else ROOT / name), context / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    name = f"lmconform-test:{os.getpid()}"
    command = ["docker", "build", "--quiet", "--network", "none", "--file", str(DOCKERFILE), "--tag", name, str(context)]
    subprocess.run(command, check=True, timeout=600, env={**os.environ, "DOCKER_BUILDKIT": "1"})
    yield name
    with contextlib.closing(Engine()) as connected:
        connected.client.images.remove(name, force=True)


def docker(*words):
    command = ["docker", "run", "--rm", "--network", "none", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)


@pytest.mark.docker
def test_it_is_the_command_and_needs_no_root_and_nothing_to_write_to(image):
    done = docker("--read-only", "--cap-drop", "ALL", image, "--version")
    assert (done.stdout, done.returncode) == (f"lmconform {TOOL_VERSION}\n", 0)
    assert docker("--entrypoint", "id", image, "-u").stdout == "1000\n"


@pytest.mark.docker
def test_the_reference_client_keeps_the_contract_in_it(image):
    done = docker(image, "smoke", "--client", "reference")
    assert done.returncode == 0, done.stdout
    assert " passed, 0 failed, " in done.stdout


@pytest.mark.docker
def test_it_judges_an_adapter_of_the_mounted_directory_and_leaves_the_results_there(image, tmp_path):
    adapter = tmp_path / "adapter"
    adapter.write_text(ADAPTER)
    adapter.chmod(0o755)
    options = ("--lmcache", "0.5.6", "--only", "lm.state.*", "--only", "keys.format*", "--out", "results")
    user = f"{os.getuid()}:{os.getgid()}"
    done = docker("--user", user, "--volume", f"{tmp_path}:/work", image, "run", "--client", "stdio:./adapter", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    results = read_results(tmp_path / "results" / "results.jsonl")
    assert {case.target for case in results.cases} == {"fixtures", "mock"}
    assert (tmp_path / "results" / "results.jsonl").stat().st_uid == os.getuid()


def judged(image, folder, target, *topics):
    """Judge the reference client in a container of the image on all cases of some topics."""
    client = f"docker:{REFERENCE.format(image=image)}"
    only = tuple(f"{topic}.*" for topic in topics)
    assert run_matrix(RunOptions(client=client, lmcache="0.5.6", target=target, only=only, folder=folder)) == ExitCode.CONFORMANT
    results = read_results(folder / "results.jsonl")
    assert {case.verdict for case in results.cases} == {Verdict.PASS}
    assert {case.topic for case in results.cases} == set(topics)


@pytest.mark.docker
def test_a_client_in_it_has_its_round_trip_in_a_smoke_test(engine_here, image, capfd):
    assert main(["smoke", "--client", f"docker:{REFERENCE.format(image=image)}"]) == 0
    assert "ok    round trip\n" in capfd.readouterr().out


@pytest.mark.docker
def test_a_client_in_it_is_judged_on_fixtures_and_on_the_mock(engine_here, image, tmp_path):
    topics = ("keys.format", "lm.connection", "lm.concurrency", "lm.misbehaviour", "lm.state")
    judged(image, tmp_path / "out", "fixtures,mock", *topics)


@pytest.mark.docker
@pytest.mark.live
def test_a_client_in_it_is_judged_on_the_real_server(engine_here, image, pinned_release, tmp_path):
    judged(image, tmp_path / "out", "live", "lm.roundtrip", "lm.connection")
