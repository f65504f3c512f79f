"""The pinned environment as a container image: the same wheels, probes and server as the venv, behind the same interface."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fixturegen.containers import STUBS_INSIDE, ContainerRuntime, Mount
from fixturegen.environment import PROBES, RuntimeName, ServerAddress, Wheel
from fixturegen.server_process import wait_until_healthy
from fixturegen.venv import (
    PIP_SETTING,
    STUBS,
    STUBS_FOLDER,
    base_requirements,
    cache_directory,
    fetch_wheel,
    offline,
    parse_probe_answer,
    pinned_variables,
    wheel_of,
)
from wire.release import Release

PROBES_INSIDE: Final = "/opt/probes"


class DockerEnvironment:
    """The docker runtime; the image of a release is built on first use and kept by the engine."""

    runtime: RuntimeName = "docker"

    def __init__(self) -> None:
        self._containers = ContainerRuntime(
            requirements=base_requirements(),
            cache=cache_directory(),
            release_wheel=lambda version: fetch_wheel(Release.parse(version)),
            pip_arguments=os.environ.get(PIP_SETTING, "").split(),
            offline=offline(),
        )

    def prepare(self, release: Release) -> None:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        self._containers.image(str(release))

    def wheel(self, release: Release) -> Wheel:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        return wheel_of(fetch_wheel(release))

    def run_probe(self, release: Release, job: Mapping[str, Any], *, timeout: float) -> dict[str, Any]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        done = self._containers.run(
            str(release),
            ["python3", "-B", f"{PROBES_INSIDE}/run.py"],
            mounts=[Mount(PROBES, PROBES_INSIDE), *_stub_mounts(release)],
            env=pinned_variables(release),
            stdin=json.dumps(job),
            timeout=timeout,
        )
        return parse_probe_answer(release, done.stdout, done.stderr, done.code)

    @contextlib.contextmanager
    def server(self, release: Release) -> Iterator[ServerAddress]:
        """See :class:`fixturegen.environment.PinnedEnvironment`."""
        with self._containers.server(str(release), mounts=_stub_mounts(release), env=pinned_variables(release)) as running:
            wait_until_healthy(release, running.host, running.port)
            yield ServerAddress(running.host, running.port)


def _stub_mounts(release: Release) -> list[Mount]:
    return [Mount(STUBS_FOLDER, STUBS_INSIDE)] if STUBS[release] else []
