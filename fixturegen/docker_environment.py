"""The pinned environment as a container image: the same wheels, probes and server as the venv, behind the same interface."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from fixturegen.containers import STUBS_INSIDE, ContainerRuntime, Mount
from fixturegen.environment import LOCALHOST, PROBES, SEED, RuntimeName, ServerAddress
from fixturegen.errors import EnvironmentUnavailable
from fixturegen.mp.launch import Launch
from fixturegen.mp.server import MpServer
from fixturegen.packages import installed_packages
from fixturegen.server_process import wait_until_healthy
from fixturegen.settings import cache_directory, offline, pip_arguments
from fixturegen.venv import (
    MP_PACKAGES,
    MP_PACKAGES_ARE,
    STUBS,
    STUBS_FOLDER,
    base_requirements,
    fetch_wheel,
    parse_probe_answer,
    pinned_variables,
    vllm_paths,
)
from fixturegen.vllm import VllmTrees, import_paths
from fixturegen.wheel import Wheel, wheel_of
from wire.release import Release

PROBES_INSIDE: Final = "/opt/probes"
LMCACHE_INSIDE: Final = "/opt/lmcache"
"""Holds the unpacked wheel, in a folder named after the release."""

MP_INSIDE: Final = "/opt/mp-packages"
VLLM_INSIDE: Final = "/opt/vllm"
"""Holds one folder for each vLLM and each set of packages that it imports."""


class DockerEnvironment:
    """The docker runtime; the image of a release is built on first use and kept by the engine."""

    runtime: RuntimeName = "docker"

    def __init__(self) -> None:
        self._containers = ContainerRuntime(
            requirements=base_requirements(),
            cache=cache_directory(),
            release_wheel=lambda version: fetch_wheel(Release.parse(version)),
            pip_arguments=pip_arguments(),
            offline=offline(),
        )
        self._vllm = VllmTrees()

    def prepare(self, release: Release) -> None:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        self._containers.image(str(release))

    def wheel(self, release: Release) -> Wheel:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        return wheel_of(fetch_wheel(release))

    def vllm_wheel(self, version: str) -> Wheel:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        return self._vllm.tree(version).wheel

    def run_probe(self, release: Release, job: Mapping[str, Any], *, timeout: float, seed: str | None = SEED) -> dict[str, Any]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        mounts = {PROBES_INSIDE: PROBES}

        def inside(version: str, complete: bool) -> list[str]:
            folders = {f"{VLLM_INSIDE}/{path.name}": path for path in import_paths(version, self._vllm, complete=complete)}
            mounts.update(folders)
            return list(folders)

        paths = vllm_paths(job, inside)
        done = self._containers.run(
            str(release),
            ["python3", "-B", f"{PROBES_INSIDE}/run.py"],
            mounts=[*(Mount(source, target) for target, source in mounts.items()), *_stub_mounts(release)],
            env=pinned_variables(release, seed),
            stdin=json.dumps({**job, "vllm": paths}),
            timeout=timeout,
        )
        return parse_probe_answer(release, done.stdout, done.stderr, done.code)

    def run_mp_probe(self, release: Release, job: Mapping[str, Any], *, timeout: float) -> dict[str, Any]:
        """See :class:`fixturegen.environment.PinnedEnvironment`; the packages are those of the venv runtime, mounted."""
        packages = installed_packages(cache_directory(), MP_PACKAGES, MP_PACKAGES_ARE)
        path = ":".join([STUBS_INSIDE, f"{LMCACHE_INSIDE}/{release}", MP_INSIDE])
        done = self._containers.run(
            str(release),
            ["python3", "-B", f"{PROBES_INSIDE}/mp/run.py"],
            mounts=[Mount(PROBES, PROBES_INSIDE), Mount(packages, MP_INSIDE), *_stub_mounts(release)],
            env={**pinned_variables(release), "PYTHONPATH": path},
            stdin=json.dumps(job),
            timeout=timeout,
        )
        return parse_probe_answer(release, done.stdout, done.stderr, done.code)

    @contextlib.contextmanager
    def server(self, release: Release, *, host: str = LOCALHOST) -> Iterator[ServerAddress]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        mounts, variables = _stub_mounts(release), pinned_variables(release)
        with self._containers.server(str(release), mounts=mounts, env=variables, address=host) as running:
            wait_until_healthy(release, running.host, running.port)
            yield ServerAddress(running.host, running.port)

    def mp_server(
        self, release: Release, launch: Launch | None = None, *, host: str = LOCALHOST
    ) -> AbstractContextManager[MpServer]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        del launch, host
        raise EnvironmentUnavailable(
            f"the multiprocess server of lmcache {release} shares memory with its clients and runs in the venv runtime alone; "
            "choose --runtime venv"
        )


def _stub_mounts(release: Release) -> list[Mount]:
    return [Mount(STUBS_FOLDER, STUBS_INSIDE)] if STUBS[release] else []
