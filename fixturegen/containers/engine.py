"""The container engine: where it is, what kind it is, and its failures as our one error."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Final

import docker
import requests
from docker.errors import DockerException

from fixturegen.errors import EnvironmentUnavailable

ANSWERS_WITHIN: Final = 60
"""Seconds that the engine has for an answer."""

_ARCHITECTURES: Final = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_NO_ENGINE_HINT: Final = "start one, set DOCKER_HOST, or run the command through .ci/with-docker-engine"


class Engine:
    """A connection to the engine that ``DOCKER_HOST`` names, else to that of the docker command's current context.

    Attributes:
        url: its address.
        client: the SDK's connection to it.
        architecture: of its machine, as wheels spell it.
        rootless: whether its root is the user who runs it.
        shares_loopback: whether a container with host networking listens on the loopback of this machine.

    Raises:
        EnvironmentUnavailable: no engine answers, or its architecture is not known.
    """

    def __init__(self) -> None:
        self.url = _engine_url()
        self.client = _connect(self.url)
        try:
            with engine_trouble("say what it is"):
                info = self.client.info()
            self.architecture = _architecture(str(info.get("Architecture", "")))
            self.rootless = any("rootless" in str(option) for option in info.get("SecurityOptions") or ())
            self.shares_loopback = (
                sys.platform == "linux"
                and not self.rootless
                and self.url.startswith("unix://")
                and "Desktop" not in str(info.get("OperatingSystem", ""))
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Drop the connection."""
        self.client.close()


@contextlib.contextmanager
def engine_trouble(doing: str) -> Iterator[None]:
    """Turn what the SDK raises into our one error; ``doing`` completes "the container engine could not"."""
    try:
        yield
    except (DockerException, requests.exceptions.RequestException) as error:
        raise EnvironmentUnavailable(f"the container engine could not {doing}: {error}") from error


def _engine_url() -> str:
    """The address of the engine that the docker command would use too."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    with contextlib.suppress(DockerException, OSError, ValueError):
        if (context := docker.ContextAPI.get_current_context()) and context.Host:
            return str(context.Host).replace("http+unix://", "unix://")
    return "unix:///var/run/docker.sock"


def _connect(url: str) -> docker.DockerClient:
    if shutil.which("docker") is None:
        raise EnvironmentUnavailable("there is no `docker` command, which builds images: install Docker's command line")
    client = None
    try:
        client = docker.DockerClient.from_env(environment={**os.environ, "DOCKER_HOST": url}, timeout=ANSWERS_WITHIN)
        client.ping()
    except (DockerException, requests.exceptions.RequestException) as error:
        if client is not None:
            client.close()
        raise EnvironmentUnavailable(f"no container engine answers at {url} ({error}): {_NO_ENGINE_HINT}") from error
    return client


def _architecture(engine_name: str) -> str:
    try:
        return _ARCHITECTURES[engine_name]
    except KeyError:
        raise EnvironmentUnavailable(
            f"the container engine runs on {engine_name or 'an unnamed architecture'}; "
            f"wheels are known for {', '.join(sorted(set(_ARCHITECTURES.values())))}"
        ) from None
