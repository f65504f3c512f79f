"""The pinned environment: where the real lmcache runs, in a venv or in a container, behind one interface."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from fixturegen.errors import EnvironmentUnavailable
from fixturegen.mp.launch import Launch
from fixturegen.wheel import Wheel
from wire.release import Release

if TYPE_CHECKING:
    from fixturegen.mp.server import MpServer

RuntimeName = Literal["venv", "docker"]
RUNTIMES: Final[tuple[RuntimeName, ...]] = ("venv", "docker")
PROBES: Final = Path(__file__).resolve().parent / "probes"
"""Scripts for the pinned interpreter; they import the real lmcache and nothing of ours."""

MP_LAUNCHER: Final = PROBES / "mp_server.py"
"""Starts the multiprocess servers that ask for CUDA at their start."""

ADAPTER: Final = PROBES / "adapter" / "main.py"
MP_ADAPTER: Final = PROBES / "mp_adapter" / "main.py"
"""The program that answers the client protocol with the real lmcache, for the same interpreter."""

CONNECTOR_HOST: Final = PROBES / "remote" / "main.py"
"""The program that opens remote connectors in the real lmcache, for the same interpreter."""

SEED: Final = "0"
"""PYTHONHASHSEED of every interpreter that runs the real lmcache, unless a question is about another."""

LOCALHOST: Final = "127.0.0.1"

BASE_REQUIREMENTS: Final = Path(__file__).resolve().parent / "requirements" / "base.txt"


@dataclass(frozen=True)
class ServerAddress:
    """Where a running real server listens, and a way to read its log."""

    host: str
    port: int
    log: Path | None = None


class PinnedEnvironment(Protocol):
    """A runtime that has the real lmcache of any release."""

    runtime: RuntimeName

    def prepare(self, release: Release) -> None:
        """Build and fetch all that a release needs, so that later calls are quick; says on standard error what takes long.

        Raises:
            EnvironmentUnavailable: it cannot be made.
        """

    def wheel(self, release: Release) -> Wheel:
        """The wheel behind a release, fetched if need be.

        Raises:
            EnvironmentUnavailable: the index does not have it or cannot be reached.
        """

    def vllm_wheel(self, version: str) -> Wheel:
        """The wheel that the Python files of a vLLM came from, fetched if need be.

        Raises:
            EnvironmentUnavailable: the index does not have it or cannot be reached.
        """

    def run_probe(self, release: Release, job: Mapping[str, Any], *, timeout: float, seed: str | None = SEED) -> dict[str, Any]:
        """Run ``probes/run.py`` with a job on standard input; returns its JSON answer.

        The job is given the folders of every vLLM that its vectors ask for. ``seed`` is PYTHONHASHSEED; None leaves it unset.

        Raises:
            EnvironmentUnavailable: the environment cannot be made.
            CaptureError: the probe failed, answered no JSON, or took too long.
        """

    def run_mp_probe(self, release: Release, job: Mapping[str, Any], *, timeout: float) -> dict[str, Any]:
        """Run ``probes/mp/run.py``, with what the multiprocess protocol needs on the import path; otherwise as `run_probe`.

        Raises:
            EnvironmentUnavailable: the environment cannot be made.
            CaptureError: the probe failed, answered no JSON, or took too long.
        """

    def server(self, release: Release, *, host: str = LOCALHOST) -> AbstractContextManager[ServerAddress]:
        """The real ``lm://`` server of a release, answering on an address of this machine until the block ends.

        Raises:
            EnvironmentUnavailable: it does not start; the message ends with its log.
        """

    def mp_server(
        self, release: Release, launch: Launch | None = None, *, host: str = LOCALHOST
    ) -> AbstractContextManager[MpServer]:
        """The real multiprocess server of a release, answering on an address of this machine until the block ends.

        Raises:
            EnvironmentUnavailable: it does not start, or the release has none of this kind; the message says why.
        """


def open_environment(runtime: str) -> PinnedEnvironment:
    """The runtime with a name.

    Raises:
        EnvironmentUnavailable: the name is unknown, or the runtime cannot work here.
    """
    if runtime == "venv":
        from fixturegen.venv import VenvEnvironment

        return VenvEnvironment()
    if runtime == "docker":
        from fixturegen.docker_environment import DockerEnvironment

        return DockerEnvironment()
    raise EnvironmentUnavailable(f"unknown runtime {runtime!r}; known: {', '.join(RUNTIMES)}")
