"""What a run judges that is no client: how it is named, what it says of itself, and how it is opened."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

from harness.client import Budget, Description
from reports.side import Side
from wire.release import Release


@dataclass(frozen=True)
class SubjectOptions:
    """What the command line says of it."""

    spec: str
    """Such as ``reference``, ``package.module:Class`` or ``127.0.0.1:65432``."""
    protocol: str = "declared"
    """The wire that a server speaks."""
    releases: Sequence[Release] = ()
    """Of lmcache, that it is judged for."""
    kind: str | None = None
    """Of several interfaces the one that a plugin implements."""
    params: str | None = None
    """JSON with the parameters of its constructor."""
    backend: str | None = None
    """``package.module:Class`` of what starts, stops and slows down the storage behind it."""
    url: str | None = None
    """The URL that a connector is chosen by."""
    budget: Budget = field(default_factory=Budget)


class Judged(Protocol):
    """A server, plugin or connector under test, for the length of a run."""

    @property
    def description(self) -> Description:
        """Its name and version; the operations are the abilities that cases may need, the releases those that it is for."""

    @property
    def stderr(self) -> str:
        """The end of what it wrote to standard error since :meth:`mark`; empty where that is not ours to see."""

    def mark(self) -> None:
        """Begin a new stretch of standard error."""

    def stop(self) -> None:
        """End what was started for it; never raises, never waits longer than a few seconds."""


class Open(Protocol):
    """Opens what is judged; the module is imported only by runs of its side."""

    def __call__(self, options: SubjectOptions) -> Judged:
        """It, ready to be judged.

        Raises:
            UsageError, ClientFailure: the options make no sense, or it cannot be started; the message is for the user.
            EnvironmentUnavailable: the real lmcache is needed, and its environment cannot be made.
        """


_OPENERS: Final[Mapping[Side, str]] = MappingProxyType(
    {
        "server": "harness.servers.session:open_server",
        "plugin": "harness.l2.session:open_plugin",
        "connector": "harness.remote.session:open_connector",
    }
)


def open_judged(side: Side, options: SubjectOptions) -> Judged:
    """What a run of a side judges, ready for its first case; likewise :class:`Open`."""
    module, _, name = _OPENERS[side].partition(":")
    found: Any = getattr(importlib.import_module(module), name)
    return cast("Open", found)(options)
