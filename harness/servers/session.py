"""A server as what a run judges: cases meet it through the fixtures of their targets."""

from __future__ import annotations

from typing import Final

from harness.client import Description
from harness.judged import SubjectOptions
from harness.servers.spec import Kind, ServerSpec, parse_server
from harness.version import TOOL_VERSION
from reports.record import UNKNOWN

_NAMES: Final[dict[Kind, str]] = {
    "mock": "server of lmconform",
    "real": "server of lmcache",
    "command": "started server",
}
RESTARTS: Final = "restart"
"""Ability of a server that the run itself starts, and may start again."""


class ServerUnderTest:
    """What a run says of the server; what it serves is not asked here."""

    def __init__(self, spec: ServerSpec) -> None:
        own = spec.kind != "address"
        self.description = Description(
            name=f"server at {spec.text.strip()}" if spec.kind == "address" else _NAMES[spec.kind],
            version=TOOL_VERSION if spec.kind == "mock" else "of each release" if spec.kind == "real" else UNKNOWN,
            language="Python" if spec.kind in {"mock", "real"} else UNKNOWN,
            operations=(RESTARTS,) if own else (),
            releases=("*",),
        )

    @property
    def stderr(self) -> str:
        """Nothing: cases that lose a server of ours tell what it wrote."""
        return ""

    def mark(self) -> None:
        """Nothing to do."""

    def stop(self) -> None:
        """Nothing to do: servers end with the targets."""


def open_server(options: SubjectOptions) -> ServerUnderTest:
    """The server that a run judges.

    Raises:
        UsageError, ClientUnavailable: what names it makes no sense.
    """
    return ServerUnderTest(parse_server(options.spec, options.protocol))
