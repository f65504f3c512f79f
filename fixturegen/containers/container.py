"""One container: what it is allowed, what it sees of this machine, and its certain end."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from docker.errors import DockerException, NotFound
from docker.models.containers import Container
from docker.types import LogConfig
from docker.types import Mount as EngineMount

from fixturegen.containers.engine import Engine, engine_trouble
from fixturegen.containers.image import Image
from fixturegen.errors import EnvironmentUnavailable

OWNER_LABEL: Final = "lmconform.owner"
"""Label of every container of ours: host name and process id of who started it, with a colon between."""

_SCRATCH: Final = "/tmp"  # noqa: S108 # the container's own


@dataclasses.dataclass(frozen=True)
class Mount:
    """A file or directory of this machine that a container sees at ``target``."""

    source: Path
    target: str
    writable: bool = False


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a container may use: ``memory`` in bytes or as docker writes it, with no swap on top, and processes and threads."""

    memory: str | int
    pids: int


@dataclasses.dataclass(frozen=True)
class Reach:
    """What network a container has: none, this machine's own, or one port of it published.

    ``published`` is the port inside, and the address and the port on this machine that lead to it.
    """

    mode: str | None = "none"
    published: tuple[int, str, int] | None = None


@dataclasses.dataclass(frozen=True)
class Order:
    """What is to run in which image, what it sees, and its variables."""

    image: Image
    argv: Sequence[str]
    mounts: Sequence[Mount] = ()
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)


def create(engine: Engine, order: Order, limits: Limits, reach: Reach) -> Container:
    """A container that is not started yet.

    It runs as the user who calls, in ``/tmp``, which with ``/dev/shm`` and writable mounts is all it can write.

    Raises:
        EnvironmentUnavailable: what is to be mounted does not exist, or the engine refuses.
    """
    for mount in order.mounts:
        if not mount.source.exists():
            raise EnvironmentUnavailable(f"{mount.source} is to be mounted at {mount.target} and does not exist")
    ports: dict[str, int | list[int] | tuple[str, int] | None] = {}
    if reach.published is not None:
        inside, address, outside = reach.published
        ports[f"{inside}/tcp"] = (address, outside)
    with engine_trouble(f"create a container of {order.image.reference}"):
        return engine.client.containers.create(
            order.image.image_id,
            list(order.argv),
            working_dir=_SCRATCH,
            mounts=[
                EngineMount(mount.target, str(mount.source.resolve()), type="bind", read_only=not mount.writable)
                for mount in order.mounts
            ],
            log_config=LogConfig(type="json-file"),
            network_mode=reach.mode,
            ports=ports or None,
            read_only=True,
            **confined(engine, limits, order.variables),
        )


def confined(engine: Engine, limits: Limits, variables: Mapping[str, str]) -> dict[str, Any]:
    """What holds for every container of ours: the user who calls and a home, the limits, no privileges, whom it belongs to."""
    return {
        "environment": {"HOME": _SCRATCH, **variables},
        # A rootless engine maps its root to the user who runs it; elsewhere files must not come out as root's.
        "user": None if engine.rootless else f"{os.getuid()}:{os.getgid()}",
        "mem_limit": limits.memory,
        "memswap_limit": limits.memory,
        "pids_limit": limits.pids,
        "shm_size": "1g",
        "tmpfs": {_SCRATCH: "rw,exec,mode=1777,size=1g"},
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "labels": {OWNER_LABEL: f"{socket.gethostname()}:{os.getpid()}"},
    }


@contextlib.contextmanager
def removed_at_last(container: Container) -> Iterator[None]:
    """Remove a container, running or not, when the block ends."""
    try:
        yield
    finally:
        with engine_trouble("remove a container"), contextlib.suppress(NotFound):
            container.remove(force=True, v=True)


def remove_orphans(engine: Engine) -> None:
    """Remove containers whose process on this machine was killed before it could."""
    with engine_trouble("list containers"):
        ours = engine.client.containers.list(all=True, filters={"label": OWNER_LABEL}, ignore_removed=True)
    for container in ours:
        machine, _, pid = container.labels[OWNER_LABEL].rpartition(":")
        if machine == socket.gethostname() and not _process_exists(int(pid)):
            with contextlib.suppress(DockerException):
                container.remove(force=True, v=True)


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
