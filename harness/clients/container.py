"""A client in a container: the same lines over the same streams, behind walls."""

from __future__ import annotations

import contextlib
import math
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fixturegen.containers.attached import AttachedContainer, Guest, processors, require_image
from fixturegen.containers.container import Limits, remove_orphans
from fixturegen.containers.engine import Engine
from fixturegen.containers.network import INTERNAL, internal_address
from fixturegen.environment import LOCALHOST
from fixturegen.errors import EnvironmentUnavailable
from harness.client import Budget, ClientUnavailable
from harness.clients.contract import LINE_LIMIT
from harness.clients.stdio import Listener, StdioSession
from harness.failure import TargetUnavailable
from harness.memory import MOST
from harness.supervise import ProcessEnded, SupervisedProcess, Tail, TooMuchMemory, exit_text

PROCESSES: Final = 512
"""Processes and threads of one client."""
CPUS: Final = 2.0
"""Processors that a client may keep busy unless the user says otherwise, or all of the engine where it has fewer."""
NETWORKS: Final = ("internal", "none", "host")
_BY_SIGNAL: Final = 128
"""What a container adds to the number of the signal that ended its program."""
_FORM: Final = (
    "docker:[--network NAME] [--cpus NUMBER] [--env NAME=VALUE] [--entrypoint PROGRAM] [--writable] IMAGE [COMMAND ...]"
)


@dataclass(frozen=True)
class ContainerSpec:
    """What a user wrote behind ``docker:``."""

    image: str
    command: tuple[str, ...] | None = None
    entrypoint: str | None = None
    network: str = "internal"
    cpus: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    writable: bool = False


def parse_container(text: str) -> ContainerSpec:
    """Options, image and command; no shell is involved.

    Raises:
        ClientUnavailable: it makes no sense.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ClientUnavailable(f"cannot split the command {text!r} into words: {error}") from None
    spec = ContainerSpec("")
    while words and words[0].startswith("-"):
        name, given, value = words.pop(0).partition("=")
        if name == "--writable" and not given:
            spec = replace(spec, writable=True)
            continue
        if name not in _OPTIONS:
            raise ClientUnavailable(f"docker: has no option {name}; write {_FORM}")
        if not given and not words:
            raise ClientUnavailable(f"{name} needs a value; write {_FORM}")
        spec = _OPTIONS[name](spec, value if given else words.pop(0))
    if not words:
        raise ClientUnavailable(f"docker: needs an image; write {_FORM}")
    return replace(spec, image=words[0], command=tuple(words[1:]) or None)


def _with_network(spec: ContainerSpec, value: str) -> ContainerSpec:
    if value not in NETWORKS:
        raise ClientUnavailable(f"--network {value!r} of docker: is not known; expected one of {', '.join(NETWORKS)}")
    return replace(spec, network=value)


def _with_cpus(spec: ContainerSpec, value: str) -> ContainerSpec:
    try:
        cpus = float(value)
    except ValueError:
        cpus = math.nan
    if not 0.01 <= cpus < math.inf:
        raise ClientUnavailable(f"--cpus {value!r} of docker: expected a number of processors, such as 2 or 0.5")
    return replace(spec, cpus=cpus)


def _with_variable(spec: ContainerSpec, value: str) -> ContainerSpec:
    name, equals, content = value.partition("=")
    if not name or not equals:
        raise ClientUnavailable(f"--env {value!r} of docker: expected NAME=VALUE")
    return replace(spec, variables={**spec.variables, name: content})


def _with_entrypoint(spec: ContainerSpec, value: str) -> ContainerSpec:
    return replace(spec, entrypoint=value)


_OPTIONS: Final[Mapping[str, Callable[[ContainerSpec, str], ContainerSpec]]] = {
    "--network": _with_network,
    "--cpus": _with_cpus,
    "--env": _with_variable,
    "--entrypoint": _with_entrypoint,
}


def meeting_address(spec: ContainerSpec) -> str:
    """Where a server must listen so that the client reaches it.

    Raises:
        ClientUnavailable: no engine answers, or its containers cannot reach this machine.
    """
    if spec.network != "internal":
        return LOCALHOST
    with _as_client_trouble(), contextlib.closing(Engine()) as engine:
        return _internal_address(engine)


class ContainerSession(StdioSession):
    """A session over an adapter in a container; each start makes a new container of the same image."""

    def __init__(
        self,
        spec: ContainerSpec,
        *,
        budget: Budget | None = None,
        scratch_parent: Path | None = None,
        listen: Listener | None = None,
    ) -> None:
        self._spec = spec
        with _as_client_trouble():
            self._engine = Engine()
            try:
                self._prepare(spec)
                super().__init__((spec.image,), budget=budget, scratch_parent=scratch_parent, listen=listen)
            except BaseException:
                self._engine.close()
                raise

    def _prepare(self, spec: ContainerSpec) -> None:
        if not self._engine.url.startswith("unix://"):
            raise ClientUnavailable(
                f"the container engine at {self._engine.url} is on another machine, but clients share a directory with this one: "
                "use the engine of this machine"
            )
        if spec.network == "host" and self._engine.rootless:
            raise ClientUnavailable(
                "the container engine is rootless: host networking is not that of this machine there, so that no client reaches "
                "a server; only --network none works, for cases without servers (--target fixtures)"
            )
        require_image(self._engine, spec.image)
        remove_orphans(self._engine)
        if spec.network == "internal":
            _internal_address(self._engine)
        most = processors(self._engine)
        if spec.cpus is not None and spec.cpus > most:
            raise ClientUnavailable(f"--cpus {spec.cpus:g} of docker: the container engine has {most}")
        self._cpus = spec.cpus if spec.cpus is not None else min(CPUS, float(most))

    @property
    def pid(self) -> int | None:
        """Nothing: the client is a process of the container, and none that was started here."""
        return None

    def _launch(self) -> SupervisedProcess:
        limit = self.budget.memory if self.budget.memory is not None else MOST
        guest = Guest(
            image=self._spec.image,
            command=self._spec.command,
            entrypoint=self._spec.entrypoint,
            shared=self._scratch.path,
            network=INTERNAL if self._spec.network == "internal" else self._spec.network,
            limits=Limits(limit, PROCESSES),
            cpus=self._cpus,
            variables=self._spec.variables,
            writable=self._spec.writable,
        )
        with _as_client_trouble():
            container = AttachedContainer(self._engine, guest)
            return ContainerProcess(container, what=_called(self._spec), limit=limit, stderr=self._tail)

    def stop(self) -> None:
        """Say ``bye``, wait a moment, then remove the container and the scratch directory."""
        super().stop()
        self._engine.close()


class ContainerProcess(SupervisedProcess):
    """The docker command that is attached to a container; when it ends, or is killed, the container is gone too."""

    def __init__(self, container: AttachedContainer, *, what: str, limit: int, stderr: Tail) -> None:
        self._container = container
        self._what = what
        self._limit = limit
        try:
            super().__init__(container.command, stderr=stderr, env=container.variables, line_limit=LINE_LIMIT)
        except BaseException:
            container.end()
            raise

    def _end(self) -> Exception:
        status = self._reaped()
        try:
            ending = self._container.end()
        except EnvironmentUnavailable as error:
            return TargetUnavailable(str(error))
        if ending.refused:
            return ClientUnavailable(f"{self._what} does not start: {ending.refused}")
        if ending.out_of_memory:
            return TooMuchMemory(None, self._limit)
        return ContainerEnded(status)

    def _reaped(self) -> int:
        status = super()._reaped()
        with contextlib.suppress(EnvironmentUnavailable):
            self._container.end()
        return status


class ContainerEnded(ProcessEnded):
    """The program in a container ended; a signal shows as a status there."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        number = status - _BY_SIGNAL
        if number in set(signal.Signals):
            self.args = (f"{exit_text(status)}, which stands for {exit_text(-number)}",)


def _called(spec: ContainerSpec) -> str:
    words = [*([spec.entrypoint] if spec.entrypoint else []), *(spec.command or ())]
    return f"`{shlex.join(words)}` in {spec.image}" if words else spec.image


def _internal_address(engine: Engine) -> str:
    try:
        return internal_address(engine)
    except EnvironmentUnavailable as error:
        raise ClientUnavailable(
            f"{error}; run lmconform inside a container together with the client (docs/guides/container-image.md), "
            "or write docker:--network host IMAGE where containers may use the network of this machine, "
            "or docker:--network none IMAGE for cases without servers (--target fixtures)"
        ) from None


@contextlib.contextmanager
def _as_client_trouble() -> Iterator[None]:
    try:
        yield
    except EnvironmentUnavailable as error:
        raise ClientUnavailable(str(error)) from error
