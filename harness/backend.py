"""What a plugin or a connector stores in, when it is no folder: a class of the user that starts and disturbs it."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.client import ClientUnavailable
from harness.clients.dispatch import describe
from harness.usage import UsageError

REFERENCE: Final = "reference"
REDIS: Final = "redis"
_OURS: Final = {
    REFERENCE: ("harness.reference.l2.gateway.backend", "GatewayBackend"),
    REDIS: ("harness.l2.redis", "RedisBackend"),
}
REQUIRED: Final = ("start", "stop")


@dataclass(frozen=True)
class BackendPlace:
    """Where the class is."""

    text: str
    module: str
    class_name: str


def parse_backend(text: str) -> BackendPlace:
    """What ``--backend`` names: ``module:Class``, or ``reference`` (its gateway), or ``redis``.

    Raises:
        UsageError: neither.
    """
    if text in _OURS:
        return BackendPlace(text, *_OURS[text])
    module, _, name = text.strip().rpartition(":")
    if not module or not name.isidentifier():
        raise UsageError(f"{text!r} names no class of a backend; write package.module:Class, {REFERENCE} or {REDIS}")
    return BackendPlace(text, module, name)


class Backend:
    """A running backend.

    Raises:
        ClientUnavailable: it cannot be started.
    """

    def __init__(self, place: BackendPlace) -> None:
        self._place = place
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            self._running: Any = getattr(importlib.import_module(place.module), place.class_name)()
        except Exception as error:
            raise ClientUnavailable(f"backend {place.text}: {describe(error)}") from error
        lacks = [name for name in REQUIRED if not self.can(name)]
        if lacks:
            raise ClientUnavailable(f"backend {place.text} has no method {', '.join(lacks)}; it needs {', '.join(REQUIRED)}")
        self.address = str(self._call(self._running.start))

    def can(self, what: str) -> bool:
        """Whether it has a method: ``slow``, ``restart``, ``restart_empty``, ``refuse`` or ``corrupt``."""
        return callable(getattr(self._running, what, None))

    def end(self) -> None:
        """End it for good, by its method ``close`` where it has one; never raises."""
        with contextlib.suppress(Exception):
            (self._running.close if self.can("close") else self._running.stop)()

    def stop(self) -> None:
        """End it; never raises."""
        with contextlib.suppress(Exception):
            self._running.stop()

    def start(self) -> None:
        """Start it again after :meth:`stop`, at the same address.

        Raises:
            ClientUnavailable: it comes up elsewhere.
        """
        address = str(self._call(self._running.start))
        if address != self.address:
            raise ClientUnavailable(
                f"backend {self._place.text}: it was at {self.address} and came back at {address}; a plugin cannot know that"
            )

    def slow(self, seconds: float) -> None:
        """Let each answer take so long from now on; 0 ends that."""
        self._call(self._running.slow, seconds)

    def restart(self) -> None:
        """Stop and start it, at the same address."""
        self._call(self._running.restart)

    def restart_empty(self) -> None:
        """The same, and have it forget what it kept."""
        self._call(self._running.restart_empty)

    def refuse(self, *, on: bool) -> None:
        """Let it refuse every store, as if it were full, or take them again."""
        self._call(self._running.refuse, on)

    @property
    def wait(self) -> float | None:
        """What its attribute ``wait`` says of how long the plugin waits for an answer, in seconds; None without one."""
        said = getattr(self._running, "wait", None)
        return float(said) if isinstance(said, int | float) else None

    def clear(self) -> None:
        """Have it forget everything, if it can."""
        if self.can("clear"):
            self._call(self._running.clear)

    def corrupt(self, key: str, how: str) -> Any:
        """Damage what is stored under a key by ``flip``, ``truncate`` or ``delete``; False where there is nothing."""
        return self._call(self._running.corrupt, key, how)

    def _call(self, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except Exception as error:
            raise ClientUnavailable(f"backend {self._place.text}: {describe(error)}") from error
