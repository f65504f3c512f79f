"""What tests need from the machine: present, skipped with the reason, or (where everything must run) a failure."""

import contextlib
import functools
import os
import shutil
import subprocess

import pytest
from hypothesis import settings

from fixturegen.containers import ContainerRuntime
from fixturegen.containers.engine import Engine
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.venv import VenvEnvironment
from wire.release import Release

settings.register_profile("unhurried", parent=settings(), deadline=None)
settings.load_profile("unhurried")
"""How long an example takes says something of the machine alone."""

LIVE_RELEASE = Release.parse("0.5.6")


def pytest_addoption(parser):
    parser.addoption(
        "--require-live",
        action="store_true",
        help="fail instead of skip where the pinned environment, an engine or a compiler is missing (also: CI=true)",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "live: needs the real lmcache in the pinned environment")
    config.addinivalue_line("markers", "docker: needs a container engine")


def everything_must_run(config):
    return config.getoption("--require-live") or os.environ.get("CI") == "true"


@pytest.fixture(scope="session")
def pinned_release(request):
    """The release that live tests use; its environment is built here where everything must run."""
    missing = VenvEnvironment().ready(LIVE_RELEASE)
    if missing and not everything_must_run(request.config):
        pytest.skip(f"{missing}; 'lmconform run --target live' builds it, or give --require-live")
    return LIVE_RELEASE


@pytest.fixture(scope="session")
def pinned_mp_release(request, pinned_release):
    """As `pinned_release`, with what its multiprocess server needs besides."""
    missing = VenvEnvironment().mp_ready(pinned_release)
    if missing and not everything_must_run(request.config):
        pytest.skip(f"{missing}; 'lmconform run --protocol mp --target live' installs it, or give --require-live")
    return pinned_release


@pytest.fixture(scope="session")
def engine(request):
    """A container engine that answers."""
    try:
        ContainerRuntime().close()
    except EnvironmentUnavailable as error:
        require(request.config, [f"a container engine ({error})"])


@pytest.fixture(scope="session")
def engine_here(request, engine):
    """A container engine whose networks have an address on this machine, which one in a virtual machine has not."""
    with contextlib.closing(Engine()) as connected:
        if not connected.shares_loopback:
            require(request.config, ["a container engine whose networks have an address on this machine"])


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """A folder of this run of pytest that its processes have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def cmake(request):
    """CMake and a compiler."""
    missing = [program for program in ("cmake", "c++") if shutil.which(program) is None]
    if not missing:
        missing += missing_headers({"nlohmann/json.hpp": "nlohmann-json3-dev"})
    require(request.config, missing)
    return shutil.which("cmake")


@pytest.fixture(scope="session")
def zeromq(request, cmake):
    """ZeroMQ for a compiler."""
    require(request.config, missing_headers({"zmq.h": "libzmq3-dev"}))


def missing_headers(packages):
    """Of headers, with their packages of Debian, those that the compiler does not find."""
    missing = []
    for header, package in packages.items():
        probe = subprocess.run(
            ["c++", "-E", "-x", "c++", "-"], input=f"#include <{header}>", capture_output=True, text=True, check=False
        )
        if probe.returncode:
            missing.append(f"{header} (Debian: {package})")
    return missing


@pytest.fixture(scope="session")
def cargo(request):
    """Cargo and a Rust compiler."""
    require(request.config, [program for program in ("cargo", "rustc") if shutil.which(program) is None])
    return shutil.which("cargo")


@pytest.fixture(scope="session")
def node(request):
    """Node."""
    found = shutil.which("node")
    require(request.config, [] if found else ["node (Debian: nodejs)"])
    return found


@pytest.fixture(scope="session")
def npm(request, node):
    """npm, which fetches what a lock file names."""
    found = shutil.which("npm")
    require(request.config, [] if found else ["npm (Debian: npm)"])
    return found


@pytest.fixture(scope="session")
def tshark(request):
    """Wireshark without its window."""
    found = shutil.which("tshark")
    require(request.config, [] if found else ["tshark (Debian: tshark)"])
    return found


@pytest.fixture(scope="session")
def needed(request):
    """Takes what is missing: see :func:`require`."""
    return functools.partial(require, request.config)


def require(config, missing):
    """Skip what needs something that is missing, or fail where everything must run."""
    if missing:
        reason = f"missing: {', '.join(missing)}"
        if everything_must_run(config):
            pytest.fail(reason)
        pytest.skip(reason)
