"""A container whose standard streams belong to a process of ours, until one of them ends."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import requests
from docker.errors import DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import LogConfig
from docker.types import Mount as EngineMount

from fixturegen import leash
from fixturegen.containers.container import Limits, confined
from fixturegen.containers.engine import Engine, engine_trouble
from fixturegen.errors import EnvironmentUnavailable

_NAME: Final = "lmconform-client-"
_NANO: Final = 1_000_000_000
_NO_NAMES: Final = ("127.0.0.1",)
"""In place of the name servers of this machine, through which names could be told to others: nothing listens there."""
_AT_ONCE: Final = ("timeout:1", "attempts:1")
"""A client that looks for a name has its answer, that there is none, in a second."""


@dataclasses.dataclass(frozen=True)
class Guest:
    """What is to run: image, command and entry point (None: those of the image), and what it is given.

    ``shared`` is a directory that it sees at the same path and may write to; ``network`` a name, ``none`` or ``host``.
    """

    image: str
    command: Sequence[str] | None
    shared: Path
    network: str
    limits: Limits
    cpus: float
    entrypoint: str | None = None
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    writable: bool = False


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a container ended: its exit status, whether something in it met the memory limit, and why it never began."""

    status: int
    out_of_memory: bool
    refused: str | None


class AttachedContainer:
    """One container, made and not started; :meth:`end` removes it, and so does the keeper once this process is gone.

    The streams go through the docker command as a child of ours and not through the SDK, whose stream can lose its end.

    Attributes:
        command: starts it, and is its standard input, output and error until it ended; the status is that of the container.
        variables: what that command needs.

    Raises:
        EnvironmentUnavailable: the engine refuses.
    """

    def __init__(self, engine: Engine, guest: Guest) -> None:
        docker = shutil.which("docker") or "docker"
        name = _NAME + secrets.token_hex(8)
        self._engine = engine
        self._image = guest.image
        self._farewell = (docker, "--host", engine.url, "rm", "--force", "--volumes", name)
        self._ending: Ending | None = None
        self.command = (docker, "--host", engine.url, "start", "--attach", "--interactive", name)
        # SDK and command must mean the same engine.
        self.variables = {key: value for key, value in os.environ.items() if key not in {"DOCKER_CONTEXT", "DOCKER_HOST"}}
        leash.promise(self._farewell)
        try:
            self._container = _create(engine, guest, name)
        except BaseException:
            leash.withdraw(self._farewell)
            raise

    def end(self) -> Ending:
        """How it ended, or would have if it were not removed now.

        Raises:
            EnvironmentUnavailable: the engine does not say; then the keeper is left to remove it.
        """
        if self._ending is None:
            with engine_trouble(f"say how a container of {self._image} ended"):
                try:
                    self._container.reload()
                    self._ending = _ending(self._container.attrs["State"])
                except NotFound:
                    raise EnvironmentUnavailable(
                        f"somebody else removed a container of {self._image} while it was used"
                    ) from None
                finally:
                    self._remove()
        return self._ending

    def _remove(self) -> None:
        try:
            with contextlib.suppress(NotFound):
                self._container.remove(force=True, v=True)
        except (DockerException, requests.exceptions.RequestException):
            return
        leash.withdraw(self._farewell)


def require_image(engine: Engine, name: str) -> None:
    """Look whether the engine has an image; none is ever pulled.

    Raises:
        EnvironmentUnavailable: it has not.
    """
    with engine_trouble(f"look for the image {name}"):
        try:
            engine.client.images.get(name)
        except ImageNotFound:
            raise EnvironmentUnavailable(
                f"the container engine has no image {name}, and none is pulled without being asked for: "
                f"build it, or run `docker pull {name}` first"
            ) from None


def processors(engine: Engine) -> int:
    """How many the engine has."""
    with engine_trouble("say how many processors it has"):
        return max(1, int(engine.client.info().get("NCPU") or 1))


def _create(engine: Engine, guest: Guest, name: str) -> Container:
    with engine_trouble(f"create a container of {guest.image}"):
        return engine.client.containers.create(
            guest.image,
            list(guest.command) if guest.command is not None else None,
            name=name,
            entrypoint=[guest.entrypoint] if guest.entrypoint is not None else None,
            mounts=[EngineMount(str(guest.shared), str(guest.shared), type="bind")],
            stdin_open=True,
            init=True,
            nano_cpus=int(guest.cpus * _NANO),
            read_only=not guest.writable,
            # Else every line of the conversation would be written to the engine's disk as well.
            log_config=LogConfig(type="none"),
            **_reach(guest.network),
            **confined(engine, guest.limits, guest.variables),
        )


def _reach(network: str) -> dict[str, Any]:
    if network in {"none", "host"}:
        return {"network_mode": network}
    return {"network": network, "dns": list(_NO_NAMES), "dns_opt": list(_AT_ONCE)}


def _ending(state: Mapping[str, Any]) -> Ending:
    refused = str(state.get("Error") or "") or None
    return Ending(int(state.get("ExitCode") or 0), bool(state.get("OOMKilled")), refused)
